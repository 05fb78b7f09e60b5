"""A residual Add before a norm, whose sum is used again: the smallest graph with a second output."""

from typing import Literal

import onnx

from models.build import Builder, Dim, DType
from models.layer import layer_norm, rms_norm


def add_layernorm(
    batch: Dim = 1, seq: Dim = 128, hidden: int = 768, dtype: DType = "float32", opset: int = 17
) -> onnx.ModelProto:
    """x and skip [batch, seq, hidden] to their sum and its LayerNormalization."""
    b = Builder("add_layernorm", dtype, opset)
    added = b.node("Add", b.input("x", [batch, seq, hidden]), b.input("skip", [batch, seq, hidden]))
    normed = layer_norm(b, added, "norm", hidden, epsilon=1e-5)
    b.output(normed, "normed", [batch, seq, hidden])
    b.output(added, "sum", [batch, seq, hidden])
    return b.model()


def add_rmsnorm(
    batch: Dim = 1,
    seq: Dim = 128,
    hidden: int = 1024,
    dtype: DType = "float32",
    opset: int = 17,
    rsqrt: Literal["div", "reciprocal"] = "div",
) -> onnx.ModelProto:
    """x and skip [batch, seq, hidden] to their sum and its RMSNorm, spelled out."""
    b = Builder("add_rmsnorm", dtype, opset)
    added = b.node("Add", b.input("x", [batch, seq, hidden]), b.input("skip", [batch, seq, hidden]))
    normed = rms_norm(b, added, "norm", hidden, rsqrt=rsqrt)
    b.output(normed, "normed", [batch, seq, hidden])
    b.output(added, "sum", [batch, seq, hidden])
    return b.model()
