"""Activations as exporters write them: by the operator where the opset has one, or spelled out in nodes."""

from collections.abc import Callable
from typing import Literal

from models.build import Builder

Spelling = Literal["nodes", "op"]
QUICK = 1.702  # https://github.com/hendrycks/GELUs: x * sigmoid(1.702 x)
SINCE = {"gelu_erf": 20, "gelu_tanh": 20, "hard_swish": 14, "mish": 18}  # opsets of the operators


def activate(b: Builder, x: str, name: str, spelling: Spelling = "nodes") -> str:
    """The activation of `x`; those that have but one spelling ignore the other.

    Raises ValueError for an unknown name, and for an operator that the opset lacks.
    """
    if name not in _NODES and name not in _OPERATORS:
        raise ValueError(f"activation {name!r}: must be one of {', '.join(sorted({*_NODES, *_OPERATORS}))}")
    if name in _OPERATORS and (spelling == "op" or name not in _NODES):
        if b.opset < SINCE.get(name, 1):
            raise ValueError(f"the operator of {name} needs opset {SINCE[name]}, not {b.opset}")
        return _OPERATORS[name](b, x)
    return _NODES[name](b, x)


def _gelu_erf(b: Builder, x: str) -> str:
    erf = b.node("Erf", b.node("Div", x, b.scalar(2**0.5)))
    return b.node("Mul", b.node("Mul", x, b.node("Add", erf, b.scalar(1.0))), b.scalar(0.5))


def _gelu_tanh(b: Builder, x: str) -> str:
    cubed = b.node("Mul", b.node("Pow", x, b.scalar(3.0)), b.scalar(0.044715))
    inner = b.node("Mul", b.node("Add", x, cubed), b.scalar((2 / 3.141592653589793) ** 0.5))
    return b.node("Mul", b.node("Mul", x, b.scalar(0.5)), b.node("Add", b.node("Tanh", inner), b.scalar(1.0)))


def _gelu_quick(b: Builder, x: str) -> str:
    return b.node("Mul", x, b.node("Sigmoid", b.node("Mul", x, b.scalar(QUICK))))


def _silu(b: Builder, x: str) -> str:
    return b.node("Mul", x, b.node("Sigmoid", x))


def _relu6(b: Builder, x: str) -> str:
    """Clip took its bounds as inputs in opset 11."""
    if b.opset >= 11:
        return b.node("Clip", x, b.scalar(0.0), b.scalar(6.0))
    return b.node("Clip", x, min=0.0, max=6.0)


def _relu6_nodes(b: Builder, x: str) -> str:
    return b.node("Min", b.node("Relu", x), b.scalar(6.0))


def _hard_sigmoid(b: Builder, x: str) -> str:
    return b.node("Div", _relu6(b, b.node("Add", x, b.scalar(3.0))), b.scalar(6.0))


def _hard_swish(b: Builder, x: str) -> str:
    return b.node("Div", b.node("Mul", x, _relu6(b, b.node("Add", x, b.scalar(3.0)))), b.scalar(6.0))


def _softplus(b: Builder, x: str) -> str:
    return b.node("Log", b.node("Add", b.node("Exp", x), b.scalar(1.0)))


def _mish(b: Builder, x: str) -> str:
    return b.node("Mul", x, b.node("Tanh", b.node("Softplus", x)))


def _elu(b: Builder, x: str) -> str:
    """As torch.export decomposes it."""
    below = b.node("Sub", b.node("Exp", x), b.scalar(1.0))
    return b.node("Where", b.node("Greater", x, b.scalar(0.0)), x, below)


def _operator(op: str, **attributes: float | str) -> Callable[[Builder, str], str]:
    return lambda b, x: b.node(op, x, **attributes)


_NODES: dict[str, Callable[[Builder, str], str]] = {
    "relu6": _relu6_nodes,
    "elu": _elu,
    "gelu_erf": _gelu_erf,
    "gelu_tanh": _gelu_tanh,
    "gelu_quick": _gelu_quick,
    "silu": _silu,
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": _hard_swish,
    "softplus": _softplus,
    "mish": _mish,
}
_OPERATORS: dict[str, Callable[[Builder, str], str]] = {
    "relu": _operator("Relu"),
    "relu6": _relu6,
    "leaky_relu": _operator("LeakyRelu", alpha=0.1),
    "elu": _operator("Elu", alpha=1.0),
    "selu": _operator("Selu"),
    "sigmoid": _operator("Sigmoid"),
    "tanh": _operator("Tanh"),
    "gelu_erf": _operator("Gelu"),
    "gelu_tanh": _operator("Gelu", approximate="tanh"),
    "hard_sigmoid": _operator("HardSigmoid", alpha=1 / 6, beta=0.5),
    "hard_swish": _operator("HardSwish"),
    "softplus": _operator("Softplus"),
    "mish": _operator("Mish"),
}
