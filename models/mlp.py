"""A feed-forward layer for each activation, plain or gated."""

from typing import Literal

import onnx

from models.activation import Spelling, activate
from models.build import Builder, Dim, DType
from models.layer import layer_norm, linear, split

Plain = Literal[
    "relu", "relu6", "leaky_relu", "elu", "selu", "sigmoid", "tanh", "gelu_erf", "gelu_tanh", "gelu_quick",
    "silu", "hard_sigmoid", "hard_swish", "softplus", "mish", "glu", "reglu", "geglu", "swiglu",
]  # fmt: skip
GATES = {"glu": "sigmoid", "reglu": "relu", "geglu": "gelu_erf", "swiglu": "silu"}


def mlp(
    activation: Plain = "gelu_erf",
    spelling: Spelling = "nodes",
    packed: bool = False,
    residual: bool = True,
    batch: Dim = 1,
    seq: Dim = 128,
    hidden: int = 256,
    inner: int = 1024,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """x [batch, seq, hidden] to a layer of two products (three with a gate), pre-norm and residual unless told not to.

    glu, reglu, geglu and swiglu multiply the second half with the activated first (https://arxiv.org/abs/2002.05202):
    of one wide product and a Split if `packed`, else of two products.
    """
    b = Builder(f"mlp_{activation}", dtype, opset)
    shape: list[Dim] = [batch, seq, hidden]
    x = b.input("x", shape)
    with b.scope("mlp"):
        normed = layer_norm(b, x, "norm", hidden, epsilon=1e-5) if residual else x
        if activation in GATES:
            wide = _gated(b, normed, GATES[activation], spelling, packed, hidden, inner)
        else:
            wide = activate(b, linear(b, normed, "up", hidden, inner), activation, spelling)
        y = linear(b, wide, "down", inner, hidden)
    b.output(b.node("Add", x, y) if residual else y, "y", shape)
    return b.model()


def _gated(b: Builder, x: str, gate: str, spelling: Spelling, packed: bool, hidden: int, inner: int) -> str:
    if packed:
        low, high = split(b, linear(b, x, "gate_up", hidden, 2 * inner), [inner, inner])
    else:
        low, high = (linear(b, x, name, hidden, inner, bias=False) for name in ("gate", "up"))
    return b.node("Mul", activate(b, low, gate, spelling), high)
