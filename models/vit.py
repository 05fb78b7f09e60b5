"""Layers of a vision transformer as PyTorch exports them: pre-norm, no mask, erf-GELU."""

import onnx

from models.activation import activate
from models.build import Builder, Dim, DType
from models.layer import layer_norm, linear, merge_heads, sizes, split_heads

EPSILON = 1e-6


def vit_layer(
    batch: Dim = 1,
    image: int = 224,
    patch: int = 16,
    hidden: int = 192,
    heads: int = 3,
    layers: int = 1,
    embedding: bool = True,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """`layers` encoder layers behind the patch embedding: pixel_values [batch, 3, image, image] in.

    Without `embedding` it takes hidden_states [batch, (image / patch)² + 1, hidden].  The default sizes are those of
    ViT-Ti/16 (https://arxiv.org/abs/2012.12877, table 1).
    """
    if hidden % heads or image % patch:
        raise ValueError(f"hidden {hidden} must be a multiple of heads {heads}, image {image} of patch {patch}")
    b = Builder("vit", dtype, opset)
    seq = (image // patch) ** 2 + 1
    if embedding:
        x = _embed(b, b.input("pixel_values", [batch, 3, image, image]), batch, seq, hidden, patch)
    else:
        x = b.input("hidden_states", [batch, seq, hidden])
    for index in range(layers):
        with b.scope(f"encoder/layer.{index}"):
            normed = layer_norm(b, x, "layernorm_before", hidden, EPSILON)
            x = b.node("Add", _attention(b, normed, batch, seq, hidden, heads), x)
            x = b.node("Add", _feed_forward(b, layer_norm(b, x, "layernorm_after", hidden, EPSILON), hidden), x)
    b.output(layer_norm(b, x, "layernorm", hidden, EPSILON), "last_hidden_state", [batch, seq, hidden])
    return b.model()


def _embed(b: Builder, pixels: str, batch: Dim, seq: int, hidden: int, patch: int) -> str:
    """[batch, 3, image, image] to [batch, seq, hidden]: a token for each patch behind the class token."""
    with b.scope("embeddings"):
        weight, bias = b.weight("weight", [hidden, 3, patch, patch], std=0.02), b.weight("bias", [hidden], std=0.02)
        patches = b.node("Conv", pixels, weight, bias, kernel_shape=[patch, patch], strides=[patch, patch])
        flat = b.node("Reshape", patches, sizes(b, [batch, hidden, seq - 1], pixels))
        tokens = b.node("Transpose", flat, perm=[0, 2, 1])
        shape = sizes(b, [batch, 1, hidden], pixels)
        first = b.node("Expand", b.weight("cls_token", [1, 1, hidden], std=0.02), shape)
        position = b.weight("position_embeddings", [1, seq, hidden], std=0.02)
        return b.node("Add", b.node("Concat", first, tokens, axis=1), position)


def _attention(b: Builder, x: str, batch: Dim, seq: int, hidden: int, heads: int) -> str:
    width = hidden // heads
    with b.scope("attention"):
        q, k, v = (
            split_heads(b, linear(b, x, name, hidden, hidden), batch, seq, heads, width, name == "key")
            for name in ("query", "key", "value")
        )
        scores = b.node("MatMul", q, k)
        weights = b.node("Softmax", b.node("Div", scores, b.scalar(width**0.5)), axis=-1)
        context = merge_heads(b, b.node("MatMul", weights, v), batch, seq, hidden)
        return linear(b, context, "output", hidden, hidden)


def _feed_forward(b: Builder, x: str, hidden: int) -> str:
    with b.scope("mlp"):
        wide = activate(b, linear(b, x, "fc1", hidden, 4 * hidden), "gelu_erf")
        return linear(b, wide, "fc2", 4 * hidden, hidden)
