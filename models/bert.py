"""BERT encoder layers as PyTorch exports them with eager attention."""

from typing import Literal

import onnx
from onnx import TensorProto

from models.activation import activate
from models.build import LOWEST, Builder, Dim, DType
from models.layer import layer_norm, linear, merge_heads, split_heads

Gelu = Literal["erf", "tanh", "op"]


def bert_layer(
    batch: Dim = 1,
    seq: Dim = 128,
    hidden: int = 768,
    heads: int = 12,
    layers: int = 1,
    dtype: DType = "float32",
    opset: int = 17,
    gelu: Gelu = "erf",
    inner: int = 0,
) -> onnx.ModelProto:
    """`layers` encoder layers: hidden_states [batch, seq, hidden] and attention_mask int64 [batch, seq] in.

    `batch` and `seq` may be names of symbolic sizes; `inner` defaults to 4 * hidden.
    """
    if hidden % heads:
        raise ValueError(f"hidden {hidden} is no multiple of heads {heads}")
    if gelu not in ("erf", "tanh", "op"):
        raise ValueError(f"gelu {gelu!r}: must be erf, tanh or op")
    if gelu == "op" and opset < 20:
        raise ValueError(f"the Gelu operator needs opset 20, not {opset}")
    b = Builder("bert", dtype, opset)
    x = b.input("hidden_states", [batch, seq, hidden])
    mask = _extended_mask(b, b.input("attention_mask", [batch, seq], TensorProto.INT64))
    for index in range(layers):
        with b.scope(f"encoder/layer.{index}"):
            x = _attention(b, x, mask, batch, seq, hidden, heads)
            x = _feed_forward(b, x, hidden, inner or 4 * hidden, gelu)
    b.output(x, "last_hidden_state", [batch, seq, hidden])
    return b.model()


def _extended_mask(b: Builder, mask: str) -> str:
    """int64 [batch, seq] of ones and zeros to an addend [batch, 1, 1, seq] of zeros and the lowest value."""
    mask = b.node("Unsqueeze", b.node("Unsqueeze", mask, b.int64([1])), b.int64([2]))
    inverted = b.node("Sub", b.scalar(1.0), b.node("Cast", mask, to=b.elem_type))
    return b.node("Mul", inverted, b.scalar(LOWEST[b.dtype]))


def _attention(b: Builder, x: str, mask: str, batch: Dim, seq: Dim, hidden: int, heads: int) -> str:
    width = hidden // heads
    with b.scope("attention"):
        with b.scope("self"):
            q, k, v = (
                split_heads(b, linear(b, x, name, hidden, hidden), batch, seq, heads, width, name == "key")
                for name in ("query", "key", "value")
            )
            scores = b.node("MatMul", q, k)
            scores = b.node("Div", scores, b.scalar(width**0.5))
            weights = b.node("Softmax", b.node("Add", scores, mask), axis=-1)
            context = merge_heads(b, b.node("MatMul", weights, v), batch, seq, hidden)
        with b.scope("output"):
            added = b.node("Add", linear(b, context, "dense", hidden, hidden), x)
            return layer_norm(b, added, "LayerNorm", hidden)


def _feed_forward(b: Builder, x: str, hidden: int, inner: int, gelu: Gelu) -> str:
    with b.scope("intermediate"):
        wide = linear(b, x, "dense", hidden, inner)
        with b.scope("intermediate_act_fn"):
            wide = b.node("Gelu", wide) if gelu == "op" else activate(b, wide, f"gelu_{gelu}")
    with b.scope("output"):
        added = b.node("Add", linear(b, wide, "dense", inner, hidden), x)
        return layer_norm(b, added, "LayerNorm", hidden)
