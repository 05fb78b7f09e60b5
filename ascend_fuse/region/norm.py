"""Softmax, norms and reductions of several instructions, by the definitions of the ONNX operator specification.

Where it leaves the intermediate type open (Softmax, the norms and sums of squares on half types) sums and exponentials
run in f32, as the vendors' own kernels do, and the result is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Handle
from ascend_fuse.region.lowering import Lowering

Rule = Callable[[Lowering], "Miss | None"]


def _softmax(low: Lowering) -> Miss | None:
    x = low.cast(low.arg(0), "f32")
    centred = low.op("sub", x, low.reduce("reduce_max", x))
    powers = low.op("exp", centred)
    total = low.reduce("reduce_sum", powers)
    log = low.node.op == "LogSoftmax"
    out = low.op("sub", centred, low.op("log", total)) if log else low.op("div", powers, total)
    low.done(low.cast(out, low.dtype))
    return None


def _hardmax(low: Lowering) -> Miss | None:
    """1 at the first of the greatest values of a row, else 0."""
    x = low.arg(0)
    index = low.row_index(x)
    greatest = low.builder.emit("eq", x, low.reduce("reduce_max", x), dtype="bool")
    places = low.builder.emit("where", greatest, index, low.lit(math.inf, index), dtype="f32")
    first = low.builder.emit("eq", index, low.reduce("reduce_min", places), dtype="bool")
    low.done(low.cast(first, low.dtype))
    return None


def _norm(low: Lowering) -> Miss | None:
    """Statistics in f32 (stash_type 1), scale and shift in the tensor's own type."""
    x = low.cast(low.arg(0), "f32")
    if low.node.op != "RMSNormalization":
        x = low.op("sub", x, low.reduce("reduce_mean", x))
    variance = low.reduce("reduce_mean", low.op("mul", x, x))
    scale = low.op("rsqrt", low.with_literal("add", variance, low.number("epsilon", 1e-5)))
    out = low.cast(low.op("mul", x, scale), low.dtype)
    out = low.op("mul", out, low.arg(1))
    if low.has(2):
        out = low.op("add", out, low.arg(2))
    low.done(out)
    return None


def _batch_norm(low: Lowering) -> Miss | None:
    """x · scale + shift: two values for each channel, of the four that are given."""
    x, scale, shift, mean, variance = (low.cast(low.arg(k), "f32") for k in range(5))
    scale = low.op("mul", scale, low.op("rsqrt", low.with_literal("add", variance, low.number("epsilon", 1e-5))))
    shift = low.op("sub", shift, low.op("mul", mean, scale))
    low.done(low.cast(low.op("add", low.op("mul", x, scale), shift), low.dtype))
    return None


def _length(low: Lowering, x: Handle, p: int) -> Handle:
    """(Σ|x|^p)^(1/p) for a p of 1 or 2."""
    if p == 1:
        return low.reduce("reduce_sum", low.op("abs", x))
    return low.op("sqrt", low.reduce("reduce_sum", low.op("mul", x, x)))


def _lp_norm(low: Lowering) -> Miss | None:
    """x over its length; a row without length stays 0."""
    x = low.cast(low.arg(0), "f32")
    length = _length(low, x, low.node.integer("p", 2))
    none = low.builder.emit("eq", length, low.lit(0.0, length), dtype="bool")
    divisor = low.builder.emit("where", none, low.lit(1.0, length), length, dtype="f32")
    low.done(low.cast(low.op("div", x, divisor), low.dtype))
    return None


def _reduce(low: Lowering) -> Miss | None:
    """An operator that is one instruction."""
    low.done(low.reduce(f"reduce_{low.node.op[6:].lower()}", low.arg(0)))
    return None


def _reduce_length(low: Lowering) -> Miss | None:
    p = 1 if low.node.op == "ReduceL1" else 2
    low.done(low.cast(_length(low, low.cast(low.arg(0), "f32"), p), low.dtype))
    return None


def _reduce_squares(low: Lowering) -> Miss | None:
    x = low.cast(low.arg(0), "f32")
    low.done(low.cast(low.reduce("reduce_sum", low.op("mul", x, x)), low.dtype))
    return None


def _reduce_log(low: Lowering) -> Miss | None:
    x = low.cast(low.arg(0), "f32")
    low.done(low.cast(low.op("log", low.reduce("reduce_sum", x)), low.dtype))
    return None


def _reduce_log_exp(low: Lowering) -> Miss | None:
    """Of x without its maximum, so that nothing overflows; an infinite one is left in."""
    x = low.cast(low.arg(0), "f32")
    greatest = low.reduce("reduce_max", x)
    endless = low.builder.emit("eq", low.op("abs", greatest), low.lit(math.inf, greatest), dtype="bool")
    base = low.builder.emit("where", endless, low.lit(0.0, greatest), greatest, dtype="f32")
    total = low.reduce("reduce_sum", low.op("exp", low.op("sub", x, base)))
    low.done(low.cast(low.op("add", low.op("log", total), base), low.dtype))
    return None


def _pool(low: Lowering) -> Miss | None:
    name = "reduce_max" if low.node.op == "GlobalMaxPool" else "reduce_mean"
    low.done(low.reduce(name, low.arg(0)))
    return None


NORMS: Mapping[str, Rule] = {
    "Softmax": _softmax, "LogSoftmax": _softmax, "Hardmax": _hardmax,
    **{f"{kind}Normalization": _norm for kind in ("Layer", "RMS", "Instance", "Group")},
    "BatchNormalization": _batch_norm, "LpNormalization": _lp_norm,
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"), _reduce),
    **dict.fromkeys(("ReduceL1", "ReduceL2"), _reduce_length), "ReduceSumSquare": _reduce_squares,
    "ReduceLogSum": _reduce_log, "ReduceLogSumExp": _reduce_log_exp, "GlobalAveragePool": _pool,
    "GlobalMaxPool": _pool,
}  # fmt: skip
