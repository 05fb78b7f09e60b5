"""Shape rules of operators that move or regroup elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ascend_fuse.graph.dim import Dim, Sym, add, divide, product
from ascend_fuse.graph.shape_query import Result, Shapes, axis_of, broadcast
from ascend_fuse.graph.type import TensorType


def _transpose(s: Shapes) -> Result:
    x = s.shape(0)
    if x is None:
        return None
    perm = s.node.integers("perm") or tuple(reversed(range(len(x))))
    return (TensorType(s.dtype(0), tuple(x[p] for p in perm)),) if len(perm) == len(x) else None


def _reshape(s: Shapes) -> Result:
    x, want = s.shape(0), s.values[1] if len(s.values) > 1 else None
    target = s.node.integers("shape") or (None if want is None else want.items)
    if target is None:
        return None
    keep_zero = s.node.integer("allowzero", 0)
    dims: list[Dim | None] = []
    hole = -1
    for k, d in enumerate(target):
        if d == 0 and not keep_zero:
            dims.append(x[k] if x is not None and k < len(x) else None)
        elif d == -1:
            hole = k
            dims.append(1)
        else:
            dims.append(None if isinstance(d, bool) else d)
    if hole >= 0:
        known = [d for d in dims if d is not None]
        dims[hole] = divide(product(x), product(known)) if x is not None and len(known) == len(dims) else None
    return (TensorType(s.dtype(0), tuple(s.fresh() if d is None else d for d in dims)),)


def _unsqueeze(s: Shapes) -> Result:
    x, axes = s.shape(0), s.integers(1, "axes")
    if x is None or axes is None:
        return None
    rank = len(x) + len(axes)
    where = {axis_of(a, rank) for a in axes}
    rest = iter(x)
    return (TensorType(s.dtype(0), tuple(1 if k in where else next(rest) for k in range(rank))),)


def _squeeze(s: Shapes) -> Result:
    x, axes = s.shape(0), s.integers(1, "axes")
    if x is None:
        return None
    if axes is None:
        if s.present(1) or not all(isinstance(d, int) for d in x):
            return None
        axes = tuple(k for k, d in enumerate(x) if d == 1)
    where = {axis_of(a, len(x)) for a in axes}
    return (TensorType(s.dtype(0), tuple(d for k, d in enumerate(x) if k not in where)),)


def _flatten(s: Shapes) -> Result:
    x = s.shape(0)
    if x is None:
        return None
    axis = s.node.integer("axis", 1)
    axis = axis if axis == len(x) else axis_of(axis, len(x))
    return (TensorType(s.dtype(0), (product(x[:axis]), product(x[axis:]))),)


def _concat(s: Shapes) -> Result:
    shapes = [t.shape for t in s.ins if t is not None]
    known = [x for x in shapes if x is not None]
    if not known or len(known) != len(shapes) or len({len(x) for x in known}) != 1:
        return None
    rank = len(known[0])
    axis = axis_of(s.node.integer("axis", 0), rank)
    total: Dim = 0
    for x in known:
        total = add(total, x[axis])
    dims = [next((x[k] for x in known if isinstance(x[k], int)), known[0][k]) for k in range(rank)]
    dims[axis] = total
    return (TensorType(s.dtype(0), tuple(dims)),)


def _split(s: Shapes) -> Result:
    x = s.shape(0)
    count = len(s.node.outputs)
    if x is None:
        return None
    axis = axis_of(s.node.integer("axis", 0), len(x))
    sizes: tuple[Dim | None, ...] | None = s.integers(1, "split")
    if sizes is None:
        if s.present(1):
            return None
        even = divide(x[axis], count)
        if even is None and isinstance(x[axis], int):  # opset 18: the last part is smaller
            return None
        sizes = (even,) * count
    parts = [TensorType(s.dtype(0), (*x[:axis], s.fresh() if d is None else d, *x[axis + 1 :])) for d in sizes]
    return tuple(parts)


def _sliced(size: Dim, start: int, end: int, step: int, fresh: Callable[[], Sym]) -> Dim:
    if isinstance(size, int):
        return len(range(*slice(start, end, step).indices(size)))
    if step == 1 and start == 0 and end >= 1 << 31:
        return size
    return fresh()


def _slice(s: Shapes) -> Result:
    x = s.shape(0)
    if x is None:
        return None
    starts, ends = s.integers(1, "starts"), s.integers(2, "ends")
    axes = s.integers(3, "axes") if s.present(3) or s.node.integers("axes") else None
    steps = s.integers(4, "steps") if s.present(4) else None
    touched = axes if axes is not None else tuple(range(len(starts))) if starts else None
    if (s.present(3) and axes is None) or touched is None:
        return (TensorType(s.dtype(0), tuple(s.fresh() for _ in x)),)
    dims = list(x)
    for k, axis in enumerate(touched):
        at = axis_of(axis, len(x))
        if starts is None or ends is None or (s.present(4) and steps is None):
            dims[at] = _sliced_by_value(s, k, x[at])
        else:
            dims[at] = _sliced(x[at], starts[k], ends[k], steps[k] if steps else 1, s.fresh)
    return (TensorType(s.dtype(0), tuple(dims)),)


def _sliced_by_value(s: Shapes, k: int, size: Dim) -> Dim:
    """0:end of a symbolic end is that end: Slice clamps it, but then no other value has the clamped size.

    Programs bind their sizes from the real tensors and compare them, so a clamped size is noticed, never assumed.
    """
    start, end = (v.items[k] if v is not None else None for v in s.values[1:3])
    step = s.values[4].items[k] if len(s.values) > 4 and s.values[4] is not None else 1
    if start == 0 and step == 1 and isinstance(end, Sym) and size != 1:
        return end
    return s.fresh()


def _gather(s: Shapes) -> Result:
    x, index = s.shape(0), s.shape(1)
    if x is None or index is None or not x:
        return None
    axis = axis_of(s.node.integer("axis", 0), len(x))
    return (TensorType(s.dtype(0), (*x[:axis], *index, *x[axis + 1 :])),)


def _expand(s: Shapes) -> Result:
    x, want = s.shape(0), s.values[1]
    if x is None or want is None:
        return None
    dims = tuple(s.fresh() if d is None or isinstance(d, bool) else d for d in want.items)
    return (TensorType(s.dtype(0), broadcast([x, dims], s.fresh)),)


MOVEMENTS: Mapping[str, Callable[[Shapes], Result]] = {
    "Transpose": _transpose, "Reshape": _reshape, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Flatten": _flatten,
    "Concat": _concat, "Split": _split, "Slice": _slice, "Gather": _gather, "Expand": _expand,
}  # fmt: skip
