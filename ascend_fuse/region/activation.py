"""Activations and powers as instructions, by the definitions of the ONNX operator specification."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ascend_fuse.program.bound import LARGEST
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Handle
from ascend_fuse.region.lowering import Lowering, unsupported
from ascend_fuse.region.step import embedded


def _pow(low: Lowering) -> Miss | None:
    """Small constant powers are products and roots: Power is 50 times a Mul."""
    x = low.arg(0)
    constant = embedded(low.builder.view, low.node.inputs[1])
    power = float(constant.reshape(-1)[0]) if constant is not None and constant.size == 1 else math.nan
    if power == 1.0:
        out = x
    elif power == 2.0:
        out = low.op("mul", x, x)
    elif power == 3.0:
        out = low.op("mul", low.op("mul", x, x), x)
    elif power == 0.5:
        out = low.op("sqrt", x)
    else:
        exponent = low.arg(1) if math.isnan(power) else low.lit(power, x)
        if x.dtype == "f32" and exponent.dtype in ("i16", "i32"):
            exponent = low.cast(exponent, "f32")
        if exponent.dtype != x.dtype:
            return unsupported(low, "exponent", exponent.dtype)
        out = low.op("pow", x, exponent)
    low.done(out)
    return None


def _clip(low: Lowering) -> Miss | None:
    """A bound that is absent is the greatest finite number of the type: an infinity does not pass.

    ONNX Runtime drops a bound that is no number, where a maximum keeps it.
    """
    ends = [low.number(name, 0.0) for name in ("min", "max")]
    held = [embedded(low.builder.view, name) for name in low.node.inputs[1:] if name]
    if any(map(math.isnan, ends)) or any(c is not None and bool((c != c).any()) for c in held):
        return unsupported(low, "a bound that is", "no number")
    out = low.arg(0)
    end = LARGEST.get(out.dtype)
    for k, (name, attribute, sign) in enumerate((("max", "min", -1), ("min", "max", 1)), start=1):
        if low.has(k):
            out = low.op(name, out, low.arg(k))
        elif low.node.attribute(attribute) is not None:
            out = low.with_literal(name, out, low.number(attribute, 0.0))
        elif end is not None:
            out = low.with_literal(name, out, sign * end)
    low.done(out)
    return None


def _gelu(low: Lowering) -> Miss | None:
    low.done(low.op("gelu_tanh" if low.node.attribute("approximate", "none") == "tanh" else "gelu", low.arg(0)))
    return None


def _leaky(low: Lowering) -> Miss | None:
    x = low.arg(0)
    slope = low.arg(1) if low.node.op == "PRelu" else low.lit(low.number("alpha", 0.01), x)
    if slope.dtype != x.dtype:
        return unsupported(low, "slope", slope.dtype)
    down = low.op("mul", low.with_literal("min", x, 0.0), slope)
    low.done(low.op("add", low.op("relu", x), down))
    return None


def _elu(low: Lowering) -> Miss | None:
    """gamma·(relu(x) + alpha·(exp(min(x, 0)/scale) - 1)), which is Elu, Selu and Celu by their constants."""
    x = low.arg(0)
    default = {"Elu": 1.0, "Selu": 1.67326319217681884765625, "Celu": 1.0}[low.node.op]
    alpha = low.number("alpha", default)
    inner = low.with_literal("min", x, 0.0)
    if low.node.op == "Celu":
        inner = low.with_literal("div", inner, alpha)
    down = low.with_literal("mul", low.with_literal("sub", low.op("exp", inner), 1.0), alpha)
    out = low.op("add", low.op("relu", x), down)
    if low.node.op == "Selu":
        out = low.with_literal("mul", out, low.number("gamma", 1.05070102214813232421875))
    low.done(out)
    return None


def _hard(low: Lowering) -> Miss | None:
    """max(0, min(1, alpha·x + beta)), times x for HardSwish."""
    x = low.arg(0)
    swish = low.node.op == "HardSwish"
    alpha, beta = (1 / 6, 0.5) if swish else (low.number("alpha", 0.2), low.number("beta", 0.5))
    line = low.with_literal("add", low.with_literal("mul", x, alpha), beta)
    gate = low.with_literal("max", low.with_literal("min", line, 1.0), 0.0)
    low.done(low.op("mul", x, gate) if swish else gate)
    return None


def _softplus_of(low: Lowering, x: Handle) -> Handle:
    """max(x, 0) + log(1 + exp(-|x|)): no overflow; below -17 it is 0, an absolute error of 4e-8."""
    tail = low.op("exp", low.op("neg", low.op("abs", x)))
    return low.op("add", low.op("relu", x), low.op("log", low.with_literal("add", tail, 1.0)))


def _soft(low: Lowering) -> Miss | None:
    x = low.arg(0)
    if low.node.op == "Softsign":
        out = low.op("div", x, low.with_literal("add", low.op("abs", x), 1.0))
    elif low.node.op == "Mish":
        out = low.op("mul", x, low.op("tanh", _softplus_of(low, x)))
    else:
        out = _softplus_of(low, x)
    low.done(out)
    return None


def _threshold(low: Lowering) -> Miss | None:
    x = low.arg(0)
    over = low.builder.emit("gt", x, low.lit(low.number("alpha", 1.0), x), dtype="bool")
    low.done(low.builder.emit("where", over, x, low.lit(0.0, x), dtype=x.dtype))
    return None


def _swish(low: Lowering) -> Miss | None:
    """x·sigmoid(alpha·x), times the second operand for SwiGLU."""
    x, alpha = low.arg(0), low.number("alpha", 1.0)
    out = low.op("silu", x) if alpha == 1.0 else low.op("mul", x, _gate(low, x, alpha))
    low.done(low.op("mul", out, low.arg(1)) if low.node.op == "SwiGLU" else out)
    return None


def _gate(low: Lowering, x: Handle, alpha: float) -> Handle:
    """sigmoid(alpha·x)."""
    return low.op("sigmoid", low.with_literal("mul", x, alpha))


def _shrink(low: Lowering) -> Miss | None:
    """x + bias below -lambd, x - bias above lambd, 0 between."""
    x, bias, edge = low.arg(0), low.number("bias", 0.0), low.number("lambd", 0.5)
    over = low.builder.emit("gt", x, low.lit(edge, x), dtype="bool")
    high = low.builder.emit("where", over, low.with_literal("sub", x, bias), low.lit(0.0, x), dtype=x.dtype)
    under = low.builder.emit("lt", x, low.lit(-edge, x), dtype="bool")
    low.done(low.builder.emit("where", under, low.with_literal("add", x, bias), high, dtype=x.dtype))
    return None


def _tan(low: Lowering) -> Miss | None:
    x = low.cast(low.arg(0), "f32")
    low.done(low.cast(low.op("div", low.op("sin", x), low.op("cos", x)), low.dtype))
    return None


ACTIVATIONS: Mapping[str, Callable[[Lowering], Miss | None]] = {
    "Pow": _pow, "Clip": _clip, "Gelu": _gelu, "LeakyRelu": _leaky, "PRelu": _leaky, "Elu": _elu, "Selu": _elu,
    "Celu": _elu, "HardSigmoid": _hard, "HardSwish": _hard, "Softplus": _soft, "Softsign": _soft, "Mish": _soft,
    "ThresholdedRelu": _threshold, "Tan": _tan, "Swish": _swish, "SwiGLU": _swish, "Shrink": _shrink,
}  # fmt: skip
