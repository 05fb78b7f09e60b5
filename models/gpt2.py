"""GPT-2 layers as PyTorch exports them with eager attention: pre-norm, one product for Q, K and V, tanh-GELU."""

import onnx
from onnx import TensorProto

from models.activation import activate
from models.build import LOWEST, Builder, Dim, DType
from models.layer import layer_norm, merge_heads, sizes, split, split_heads

EPSILON = 1e-5


def gpt2_layer(
    batch: Dim = 1,
    seq: Dim = 128,
    hidden: int = 768,
    heads: int = 12,
    layers: int = 1,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """`layers` decoder layers: hidden_states [batch, seq, hidden] and attention_mask bool [batch, 1, seq, seq] in.

    The mask is true where a query may look.  `batch` and `seq` may be names of symbolic sizes.
    """
    if hidden % heads:
        raise ValueError(f"hidden {hidden} is no multiple of heads {heads}")
    b = Builder("gpt2", dtype, opset)
    x = b.input("hidden_states", [batch, seq, hidden])
    allowed = b.input("attention_mask", [batch, 1, seq, seq], TensorProto.BOOL)
    mask = b.node("Where", allowed, b.scalar(0.0), b.scalar(LOWEST[dtype]))
    for index in range(layers):
        with b.scope(f"transformer/h.{index}"):
            normed = layer_norm(b, x, "ln_1", hidden, EPSILON)
            with b.scope("attn"):
                x = b.node("Add", _attention(b, normed, mask, batch, seq, hidden, heads), x)
            normed = layer_norm(b, x, "ln_2", hidden, EPSILON)
            with b.scope("mlp"):
                x = b.node("Add", x, _feed_forward(b, normed, batch, seq, hidden))
    b.output(layer_norm(b, x, "transformer.ln_f", hidden, EPSILON), "last_hidden_state", [batch, seq, hidden])
    return b.model()


def _conv1d(b: Builder, x: str, name: str, batch: Dim, seq: Dim, rows: int, cols: int) -> str:
    """transformers' Conv1D: a Gemm over [batch * seq, rows] between two Reshapes."""
    with b.scope(name):
        flat = b.node("Reshape", x, b.int64([-1, rows]))
        weight, bias = b.weight("weight", [rows, cols]), b.weight("bias", [cols], std=0.02)
        product = b.node("Gemm", flat, weight, bias, alpha=1.0, beta=1.0)
        return b.node("Reshape", product, sizes(b, [batch, seq, cols], x))


def _attention(b: Builder, x: str, mask: str, batch: Dim, seq: Dim, hidden: int, heads: int) -> str:
    width = hidden // heads
    parts = split(b, _conv1d(b, x, "c_attn", batch, seq, hidden, 3 * hidden), [hidden] * 3)
    q, k, v = (split_heads(b, part, batch, seq, heads, width, part is parts[1]) for part in parts)
    scores = b.node("Mul", b.node("MatMul", q, k), b.scalar(width**-0.5))
    weights = b.node("Softmax", b.node("Add", scores, mask), axis=-1)
    context = merge_heads(b, b.node("MatMul", weights, v), batch, seq, hidden)
    return _conv1d(b, context, "c_proj", batch, seq, hidden, hidden)


def _feed_forward(b: Builder, x: str, batch: Dim, seq: Dim, hidden: int) -> str:
    wide = activate(b, _conv1d(b, x, "c_fc", batch, seq, hidden, 4 * hidden), "gelu_tanh")
    return _conv1d(b, wide, "c_proj", batch, seq, 4 * hidden, hidden)
