"""The pieces that several models share, spelled out as PyTorch's exporter spells them."""

from collections.abc import Sequence

from models.build import Builder, Dim


def sizes(b: Builder, shape: Sequence[Dim], source: str, axes: Sequence[int] | None = None) -> str:
    """A shape tensor: a Constant if every size is known, else read from `source`.

    A string stands for the axis of `source` at the same position, or the one that `axes` names there (Shape, Gather,
    Unsqueeze, Concat).
    """
    if all(isinstance(size, int) for size in shape):
        return b.int64([int(size) for size in shape])
    parts: list[str] = []
    for axis, size in zip(axes or range(len(shape)), shape, strict=True):
        if isinstance(size, int):
            parts.append(b.int64([size]))
        else:
            length = b.node("Gather", b.node("Shape", source), b.int64(axis), axis=0)
            parts.append(unsqueeze(b, length, [0]))
    return b.node("Concat", *parts, axis=0)


def unsqueeze(b: Builder, x: str, axes: Sequence[int]) -> str:
    """New axes of size 1; `axes` became an input in opset 13."""
    if b.opset >= 13:
        return b.node("Unsqueeze", x, b.int64(list(axes)))
    return b.node("Unsqueeze", x, axes=list(axes))


def split(b: Builder, x: str, parts: Sequence[int]) -> tuple[str, ...]:
    """Parts of the last axis; their lengths became an input in opset 13."""
    if b.opset >= 13:
        return b.nodes_of("Split", [x, b.int64(list(parts))], len(parts), axis=-1)
    return b.nodes_of("Split", [x], len(parts), axis=-1, split=list(parts))


def linear(b: Builder, x: str, name: str, rows: int, cols: int, bias: bool = True) -> str:
    """x: [..., rows] times a weight [rows, cols], plus the bias that exporters put first."""
    with b.scope(name):
        product = b.node("MatMul", x, b.weight("weight", [rows, cols]))
        return b.node("Add", b.weight("bias", [cols], std=0.02), product) if bias else product


def reduce_mean(b: Builder, x: str) -> str:
    """The mean of the last axis, which is kept; `axes` became an input in opset 18."""
    if b.opset >= 18:
        return b.node("ReduceMean", x, b.int64([-1]), keepdims=1)
    return b.node("ReduceMean", x, axes=[-1], keepdims=1)


def layer_norm(b: Builder, x: str, name: str, hidden: int, epsilon: float = 1e-12) -> str:
    """LayerNormalization over the last axis: the operator from opset 17, its nine nodes before."""
    with b.scope(name):
        scale, bias = b.weight("weight", [hidden], mean=1.0, std=0.1), b.weight("bias", [hidden], std=0.02)
        if b.opset >= 17:
            return b.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)
        centred = b.node("Sub", x, reduce_mean(b, x))
        variance = reduce_mean(b, b.node("Pow", centred, b.scalar(2.0)))
        deviation = b.node("Sqrt", b.node("Add", variance, b.scalar(epsilon)))
        return b.node("Add", b.node("Mul", b.node("Div", centred, deviation), scale), bias)


def rms_norm(
    b: Builder, x: str, name: str, hidden: int, epsilon: float = 1e-6, rsqrt: str = "div", casts: bool = True
) -> str:
    """RMSNorm as exporters spell it: in float32, then back, then the weight; without `casts` in the model's type."""
    if rsqrt not in ("div", "reciprocal"):
        raise ValueError(f"rsqrt {rsqrt!r}: must be div or reciprocal")
    with b.scope(name):
        wide = b.node("Cast", x, to=1) if casts else x
        mean = reduce_mean(b, b.node("Pow", wide, b.float32(2.0)))
        root = b.node("Sqrt", b.node("Add", mean, b.float32(epsilon)))
        inverse = b.node("Div", b.float32(1.0), root) if rsqrt == "div" else b.node("Reciprocal", root)
        normed = b.node("Mul", wide, inverse)
        normed = b.node("Cast", normed, to=b.elem_type) if casts else normed
        return b.node("Mul", b.weight("weight", [hidden], mean=1.0, std=0.1), normed)


def split_heads(b: Builder, x: str, batch: Dim, seq: Dim, heads: int, width: int, transposed: bool = False) -> str:
    """[batch, seq, heads * width] to [batch, heads, seq, width], or its transpose as keys are read.

    Exporters make one Transpose of the two that a module writes for its keys.
    """
    split = b.node("Reshape", x, sizes(b, [batch, seq, heads, width], x))
    return b.node("Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])


def merge_heads(b: Builder, x: str, batch: Dim, seq: Dim, hidden: int) -> str:
    """[batch, heads, seq, width] to [batch, seq, hidden]."""
    x = b.node("Transpose", x, perm=[0, 2, 1, 3])
    return b.node("Reshape", x, sizes(b, [batch, seq, hidden], x))
