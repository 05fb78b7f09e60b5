"""An attention block in training, with each way to scale, to mask and to drop."""

from typing import Literal

import onnx
from onnx import TensorProto

from models.build import LOWEST, Builder, Dim, DType
from models.layer import linear, merge_heads, split_heads

Scale = Literal["scores", "scores_div", "query", "both", "none"]
Mask = Literal["additive", "where", "bool", "filled", "none"]
Drop = Literal["probabilities", "output", "both", "none"]
SEED = 23


def attention_block(
    scale: Scale = "scores",
    mask: Mask = "additive",
    drop: Drop = "both",
    training: bool = True,
    seeded: bool = True,
    batch: Dim = 1,
    seq: Dim = 128,
    hidden: int = 256,
    heads: int = 8,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """x [batch, seq, hidden] to attention over itself, projected, dropped out and added to x.

    scale: on the product (`scores` Mul, `scores_div` Div), before it on the query, or its root on query and key
    (`both`, as scaled_dot_product_attention decomposes).
    mask: `additive` is of the model's type, [batch, 1, 1, seq]; the others are boolean, true where a query may look,
    [batch, 1, seq, seq]: `where` selects between two addends, `bool` casts and multiplies by the lowest value,
    `filled` replaces the scores themselves.
    drop: Dropout behind the Softmax, behind the projection, or both; its training mode is an input since opset 12.
    """
    if opset < 12:
        raise ValueError(f"Dropout takes its training mode as an input from opset 12, not {opset}")
    if hidden % heads:
        raise ValueError(f"hidden {hidden} is no multiple of heads {heads}")
    b = Builder("attention_block", dtype, opset)
    shape: list[Dim] = [batch, seq, hidden]
    x, width = b.input("x", shape), hidden // heads
    with b.scope("attention"):
        q, k, v = (
            split_heads(b, linear(b, x, name, hidden, hidden), batch, seq, heads, width)
            for name in ("query", "key", "value")
        )
        scores = _masked(b, _scores(b, q, k, width**-0.5, scale), mask, batch, seq)
        weights = b.node("Softmax", scores, axis=-1)
        if drop in ("probabilities", "both"):
            weights = _dropout(b, weights, 0.1, training, SEED if seeded else None)
        context = merge_heads(b, b.node("MatMul", weights, v), batch, seq, hidden)
        y = linear(b, context, "output", hidden, hidden)
        if drop in ("output", "both"):
            y = _dropout(b, y, 0.2, training, SEED + 1 if seeded else None)
    b.output(b.node("Add", y, x), "y", shape)
    return b.model()


def _scores(b: Builder, q: str, k: str, factor: float, scale: Scale) -> str:
    if scale in ("query", "both"):
        q = b.node("Mul", q, b.scalar(factor if scale == "query" else factor**0.5))
    k = b.node("Transpose", k, perm=[0, 1, 3, 2])
    if scale == "both":
        k = b.node("Mul", k, b.scalar(factor**0.5))
    scores = b.node("MatMul", q, k)
    if scale == "scores":
        return b.node("Mul", scores, b.scalar(factor))
    return b.node("Div", scores, b.scalar(1 / factor)) if scale == "scores_div" else scores


def _masked(b: Builder, scores: str, mask: Mask, batch: Dim, seq: Dim) -> str:
    if mask == "none":
        return scores
    if mask == "additive":
        return b.node("Add", scores, b.input("mask", [batch, 1, 1, seq]))
    allowed = b.input("mask", [batch, 1, seq, seq], TensorProto.BOOL)
    lowest = b.scalar(LOWEST[b.dtype])
    if mask == "filled":
        return b.node("Where", allowed, scores, lowest)
    if mask == "where":
        return b.node("Add", scores, b.node("Where", allowed, b.scalar(0.0), lowest))
    hidden = b.node("Cast", b.node("Not", allowed), to=b.elem_type)
    return b.node("Add", scores, b.node("Mul", hidden, lowest))


def _dropout(b: Builder, x: str, ratio: float, training: bool, seed: int | None) -> str:
    more = {} if seed is None else {"seed": seed}
    return b.node("Dropout", x, b.scalar(ratio), b.boolean(training), **more)
