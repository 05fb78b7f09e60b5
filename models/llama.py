"""LLaMA decoder blocks as PyTorch exports them with eager attention: RMSNorm, rotary, SwiGLU."""

from dataclasses import dataclass
from typing import Literal

import onnx
from onnx import TensorProto

from models.build import LOWEST, Builder, Dim, DType, Weights
from models.layer import linear, merge_heads, rms_norm, sizes, split_heads

INT64_MAX = 2**63 - 1  # the end that exporters give an open slice
ROTARY_BASE = 10000.0


def llama_block(
    hidden: int = 1024,
    heads: int = 32,
    kv_heads: int = 8,
    inner: int = 2816,
    layers: int = 1,
    batch: Dim = 1,
    seq: Dim = 128,
    dtype: DType = "float32",
    weights: Weights = "random",
    opset: int = 17,
    rsqrt: Literal["div", "reciprocal"] = "div",
    past: Dim = 0,
    casts: bool = True,
) -> onnx.ModelProto:
    """`layers` decoder blocks, prefill, or decode with a cache of `past` tokens.

    In: hidden_states [batch, seq, hidden], position_ids int64 [batch, seq], attention_mask bool
    [batch, 1, seq, past + seq], true where a query may look; in decode keys and values of each layer [batch, kv_heads,
    past, width] too, which come out again with those of this step behind them.  `batch`, `seq` and `past` may be names
    of symbolic sizes.  Without `casts` a float32 model has none to float32 and back: torch.export leaves them out,
    TorchScript's exporter does not.  With `weights="zero-external"` the weights are all zero and `save` puts them into
    a sparse file.
    """
    if hidden % heads or heads % kv_heads or hidden // heads % 2:
        raise ValueError(f"hidden {hidden}, heads {heads}, kv_heads {kv_heads} must divide, a head be even")
    if not casts and dtype != "float32":
        raise ValueError(f"a {dtype} model computes norms and Softmax in float32: it needs its casts")
    b = Builder("llama", dtype, opset, weights)
    x = b.input("hidden_states", [batch, seq, hidden])
    positions = b.input("position_ids", [batch, seq], TensorProto.INT64)
    total = past + seq if isinstance(past, int) and isinstance(seq, int) else f"{past} + {seq}" if past else seq
    allowed = b.input("attention_mask", [batch, 1, seq, total], TensorProto.BOOL)
    mask = b.node("Where", allowed, b.scalar(0.0), b.scalar(LOWEST[dtype]))
    width = hidden // heads
    cos_sin = _rotary_table(b, positions, width)
    shape = Shape(batch, seq, total, heads, kv_heads, width)
    for index in range(layers):
        cache = _cache(b, index, [batch, kv_heads, past, width]) if past else ()
        with b.scope(f"model/layers.{index}"):
            normed = rms_norm(b, x, "input_layernorm", hidden, rsqrt=rsqrt, casts=casts)
            with b.scope("self_attn"):
                attended, kept = _attention(b, normed, mask, cos_sin, cache, shape, casts)
            x = b.node("Add", x, attended)
            normed = rms_norm(b, x, "post_attention_layernorm", hidden, rsqrt=rsqrt, casts=casts)
            with b.scope("mlp"):
                x = b.node("Add", x, _swiglu(b, normed, hidden, inner))
        for name, value in zip(("key", "value"), kept, strict=False):
            b.output(value, f"present.{index}.{name}", [batch, kv_heads, total, width])
    b.output(x, "last_hidden_state", [batch, seq, hidden])
    return b.model()


def llama_7b(
    layers: int = 32,
    batch: Dim = 1,
    seq: Dim = 128,
    dtype: DType = "float32",
    weights: Weights = "zero-external",
    opset: int = 17,
) -> onnx.ModelProto:
    """LLaMA-7B's decoder (https://arxiv.org/abs/2302.13971, table 2), without embedding and head.

    All 32 layers in float32 are 26 GB of zeros, which take no disk space.
    """
    return llama_block(4096, 32, 32, 11008, layers, batch, seq, dtype, weights, opset)


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of an attention: `seq` queries look at `total` keys."""

    batch: Dim
    seq: Dim
    total: Dim
    heads: int
    kv_heads: int
    width: int


def _cache(b: Builder, index: int, shape: list[Dim]) -> tuple[str, ...]:
    return tuple(b.input(f"past_key_values.{index}.{name}", shape) for name in ("key", "value"))


def _rotary_table(b: Builder, positions: str, width: int) -> tuple[str, str]:
    """cos and sin [batch, 1, seq, width] in the model's dtype, computed in float32."""
    with b.scope("model/rotary_emb"):
        frequencies = [ROTARY_BASE ** (-2.0 * k / width) for k in range(width // 2)]
        wide = b.node("Cast", b.node("Unsqueeze", positions, b.int64([2])), to=TensorProto.FLOAT)
        angle = b.node("Mul", wide, b.float32(frequencies))
        angle = b.node("Concat", angle, angle, axis=-1)
        tables = [b.node("Cast", b.node(op, angle), to=b.elem_type) for op in ("Cos", "Sin")]
        cos, sin = (b.node("Unsqueeze", table, b.int64([1])) for table in tables)
    return cos, sin


def _rotate(b: Builder, x: str, cos_sin: tuple[str, str], width: int) -> str:
    """x: [batch, heads, seq, width] turned by its position."""
    half = width // 2
    low = b.node("Slice", x, b.int64([0]), b.int64([half]), b.int64([3]), b.int64([1]))
    high = b.node("Slice", x, b.int64([half]), b.int64([INT64_MAX]), b.int64([3]), b.int64([1]))
    turned = b.node("Concat", b.node("Neg", high), low, axis=-1)
    return b.node("Add", b.node("Mul", x, cos_sin[0]), b.node("Mul", turned, cos_sin[1]))


def _repeat_heads(b: Builder, x: str, shape: Shape) -> str:
    """[batch, kv_heads, total, width] to [batch, heads, total, width]; nothing if every head has its own."""
    times = shape.heads // shape.kv_heads
    if times == 1:
        return x
    split = b.node("Unsqueeze", x, b.int64([2]))
    wide = [shape.batch, shape.kv_heads, times, shape.total, shape.width]
    spread = b.node("Expand", split, sizes(b, wide, x, axes=[0, 1, 1, 2, 3]))  # x has total one axis earlier
    return b.node("Reshape", spread, sizes(b, [shape.batch, shape.heads, shape.total, shape.width], x))


def _attention(
    b: Builder, x: str, mask: str, cos_sin: tuple[str, str], cache: tuple[str, ...], shape: Shape, casts: bool
) -> tuple[str, tuple[str, ...]]:
    """The projected context, and keys and values with the cache before them if there is one."""
    width, hidden = shape.width, shape.heads * shape.width
    q, k, v = (
        split_heads(b, linear(b, x, name, hidden, count * width, bias=False), shape.batch, shape.seq, count, width)
        for name, count in (("q_proj", shape.heads), ("k_proj", shape.kv_heads), ("v_proj", shape.kv_heads))
    )
    q, k = _rotate(b, q, cos_sin, width), _rotate(b, k, cos_sin, width)
    kept = tuple(b.node("Concat", *pair, axis=2) for pair in zip(cache, (k, v), strict=False))
    k, v = (_repeat_heads(b, part, shape) for part in kept or (k, v))
    scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.node("Add", b.node("Mul", scores, b.scalar(width**-0.5)), mask)
    # Softmax runs in float32 whatever the dtype: transformers upcasts and TorchScript's exporter keeps the casts.
    weights = b.node("Softmax", b.node("Cast", scores, to=TensorProto.FLOAT) if casts else scores, axis=-1)
    context = b.node("MatMul", b.node("Cast", weights, to=b.elem_type) if casts else weights, v)
    merged = merge_heads(b, context, shape.batch, shape.seq, hidden)
    return linear(b, merged, "o_proj", hidden, hidden, bias=False), kept


def _swiglu(b: Builder, x: str, hidden: int, inner: int) -> str:
    gate = linear(b, x, "gate_proj", hidden, inner, bias=False)
    with b.scope("act_fn"):
        gate = b.node("Mul", gate, b.node("Sigmoid", gate))
    product = b.node("Mul", gate, linear(b, x, "up_proj", hidden, inner, bias=False))
    return linear(b, product, "down_proj", inner, hidden, bias=False)
