"""Comparisons and remainders: what the vector unit lacks for integers and booleans, made of what it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ascend_fuse.program.op import FLOATS, INTEGERS, by_onnx
from ascend_fuse.program.program import Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Handle
from ascend_fuse.region.lowering import Lowering, unsupported


def _compare(low: Lowering) -> Miss | None:
    """Of integers by the maximum: a ≤ b where it is b. Booleans are equal where they do not differ."""
    a, b = low.arg(0), low.arg(1)
    op = low.node.op
    if op == "Equal" and a.dtype == "bool":
        low.done(low.op("not", low.op("xor", a, b)))
    elif op == "Equal" or a.dtype not in INTEGERS:
        low.done(low.op(by_onnx()[op].name, a, b))
    else:
        greater = low.op("max", a, b)
        meets = low.op("eq", greater, b if op in ("LessOrEqual", "Greater") else a)
        low.done(meets if op.endswith("OrEqual") else low.op("not", meets))
    return None


def _abs(low: Lowering) -> Miss | None:
    x = low.arg(0)
    low.done(low.op("max", x, low.op("neg", x)) if x.dtype in INTEGERS else low.op("abs", x))
    return None


def _sign(low: Lowering) -> Miss | None:
    x = low.arg(0)
    whole = x.dtype in INTEGERS
    low.done(low.with_literal("min", low.with_literal("max", x, -1), 1) if whole else low.op("sign", x))
    return None


def _relu(low: Lowering) -> Miss | None:
    x = low.arg(0)
    low.done(low.with_literal("max", x, 0) if x.dtype in INTEGERS else low.op("relu", x))
    return None


def _is_nan(low: Lowering) -> Miss | None:
    """The one value that is unequal to itself."""
    x = low.arg(0)
    low.done(low.op("not", low.op("eq", x, x)))
    return None


def _is_inf(low: Lowering) -> Miss | None:
    x = low.arg(0)
    if x.dtype not in FLOATS:
        return Miss("dtype-unsupported", f"IsInf on {x.dtype}", low.node.index, {"dtype": x.dtype})
    above, below = (low.node.integer(f"detect_{side}", 1) for side in ("positive", "negative"))
    if not above and not below:
        return unsupported(low, "detect_positive", 0)
    size = low.op("abs", x) if above and below else x
    low.done(low.op("eq", size, low.lit(math.inf if above else -math.inf, x)))
    return None


def _mod(low: Lowering) -> Miss | None:
    """The remainder with the divisor's sign, with `fmod` the dividend's; of i32 the low bits, by a power of two.

    Of floats only the latter has an instruction; without `fmod` they have a meaning from opset 28 on alone.
    """
    a, b = low.arg(0), low.arg(1)
    if a.dtype in FLOATS:
        if not low.node.integer("fmod", 0):
            return unsupported(low, "fmod", 0)
        low.done(low.op("mod", a, b))
        return None
    divisor = b.operand
    if isinstance(divisor, Value) or not divisor:  # an integer over 0 is an error, where it is not the processor's
        return unsupported(low, "divisor", "a tensor" if isinstance(divisor, Value) else divisor)
    number = Handle(float(divisor), "f32")
    if low.node.integer("fmod", 0) and a.dtype == "i16":
        low.done(low.cast(low.op("mod", low.cast(a, "f32"), number), "i16"))
    elif not low.node.integer("fmod", 0) and divisor > 0 and int(divisor) & (int(divisor) - 1) == 0:
        low.done(low.op("bit_and", a, low.lit(divisor - 1, a)))
    elif not low.node.integer("fmod", 0) and a.dtype == "i16":
        low.done(low.cast(_remainder(low, low.cast(a, "f32"), number), "i16"))
    else:
        return unsupported(low, "divisor", divisor)
    return None


def _remainder(low: Lowering, a: Handle, b: Handle) -> Handle:
    """a - floor(a / b) b for whole numbers of 16 bits: half a unit keeps the quotient off the whole numbers, further
    than its error, 2^-21 of at most 2^15 / b.
    """
    half = low.with_literal("mul", low.op("sign", b), 0.5)
    quotient = low.op("floor", low.op("div", low.op("add", a, half), b))
    return low.op("sub", a, low.op("mul", quotient, b))


INTEGRAL: Mapping[str, Callable[[Lowering], Miss | None]] = {
    **dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"), _compare),
    "Abs": _abs, "Sign": _sign, "Relu": _relu, "IsNaN": _is_nan, "IsInf": _is_inf, "Mod": _mod,
}  # fmt: skip
