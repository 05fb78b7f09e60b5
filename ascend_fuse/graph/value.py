"""Small integer tensors whose elements are Dims: what follows from shapes and constants without running the model.

PyTorch's TorchScript exporter computes Reshape, Expand and Slice operands from Shape nodes; this reads them back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from ascend_fuse.graph.dim import Dim, add, at_least, divide, mul, neg, product
from ascend_fuse.graph.view import SMALL, Constant, Node

Item = Dim | bool | None  # None: not known


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """items of a tensor of the given (static) shape, in row-major order."""

    shape: tuple[int, ...]
    items: tuple[Item, ...]

    def dims(self) -> tuple[Dim, ...] | None:
        """All elements when every one is a known size, else None."""
        found = tuple(i for i in self.items if i is not None and not isinstance(i, bool))
        return found if len(found) == len(self.items) else None

    def integers(self) -> tuple[int, ...] | None:
        """All elements when every one is a known integer, else None."""
        found = tuple(i for i in self.items if isinstance(i, int) and not isinstance(i, bool))
        return found if len(found) == len(self.items) else None


def from_constant(value: Constant) -> ShapeValue | None:
    """Integer and bool constants; None for others."""
    if value.dtype.kind == "b":
        return ShapeValue(value.shape, tuple(bool(v) for v in value.reshape(-1)))
    if value.dtype.kind in "iu":
        return ShapeValue(value.shape, tuple(int(v) for v in value.reshape(-1)))
    return None


def _array(v: ShapeValue) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    out = np.empty(len(v.items), dtype=object)
    out[:] = v.items
    return out.reshape(v.shape)


def _pack(array: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> ShapeValue:
    return ShapeValue(tuple(array.shape), tuple(array.reshape(-1).tolist()))


def _floordiv(a: Dim, b: Dim) -> Item:
    if isinstance(a, int) and isinstance(b, int):
        return int(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) if b else None
    return divide(a, b)


def _equal(a: Dim, b: Dim) -> Item:
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    for one, other in ((a, b), (b, a)):  # a size is never negative
        if isinstance(one, int) and one < at_least(other):
            return False
    return None


def _order(a: Dim, b: Dim, test: Callable[[int, int], bool]) -> Item:
    return test(a, b) if isinstance(a, int) and isinstance(b, int) else None


def _extreme(a: Dim, b: Dim, pick: Callable[[int, int], int]) -> Item:
    return a if a == b else pick(a, b) if isinstance(a, int) and isinstance(b, int) else None


_BINARY: Mapping[str, Callable[[Dim, Dim], Item]] = {
    "Add": add,
    "Sub": lambda a, b: add(a, neg(b)),
    "Mul": mul,
    "Div": _floordiv,
    "Equal": _equal,
    "Less": lambda a, b: _order(a, b, lambda x, y: x < y),
    "Greater": lambda a, b: _order(a, b, lambda x, y: x > y),
    "LessOrEqual": lambda a, b: _order(a, b, lambda x, y: x <= y),
    "GreaterOrEqual": lambda a, b: _order(a, b, lambda x, y: x >= y),
    "Min": lambda a, b: _extreme(a, b, min),
    "Max": lambda a, b: _extreme(a, b, max),
}


def _zip(a: ShapeValue, b: ShapeValue, f: Callable[[Dim, Dim], Item]) -> ShapeValue:
    left, right = (_pack(t) for t in np.broadcast_arrays(_array(a), _array(b)))
    return ShapeValue(left.shape, tuple(_apply(f, x, y) for x, y in zip(left.items, right.items, strict=True)))


def _apply(f: Callable[[Dim, Dim], Item], x: Item, y: Item) -> Item:
    if x is None or y is None or isinstance(x, bool) or isinstance(y, bool):
        return None
    return f(x, y)


def _where(c: ShapeValue, a: ShapeValue, b: ShapeValue) -> ShapeValue:
    cond, left, right = np.broadcast_arrays(_array(c), _array(a), _array(b))
    items: list[Item] = []
    for k, x, y in zip(*(t.reshape(-1).tolist() for t in (cond, left, right)), strict=True):
        items.append((x if k else y) if isinstance(k, bool) else (x if x == y else None))
    return ShapeValue(tuple(cond.shape), tuple(items))


def _gather(node: Node, data: ShapeValue, index: ShapeValue) -> ShapeValue | None:
    where = index.integers()
    if where is None or node.integer("axis", 0) != 0 or not data.shape:
        return None
    if any(not -data.shape[0] <= k < data.shape[0] for k in where):
        return None
    picked = np.take(_array(data), np.asarray(where, int).reshape(index.shape), axis=0)
    return _pack(np.asarray(picked, dtype=object))


def _slice(node: Node, args: Sequence[ShapeValue | None]) -> ShapeValue | None:
    data = args[0]
    if data is None or len(data.shape) != 1:
        return None
    if len(args) == 1:  # opset < 10
        starts, ends = node.integers("starts"), node.integers("ends")
        step = 1
    else:
        starts, ends = (a.integers() if a is not None else None for a in args[1:3])
        given = args[4] if len(args) > 4 and node.inputs[4] else ShapeValue((1,), (1,))
        steps = given.integers() if given is not None else None
        step = steps[0] if steps else 0
    if not starts or not ends or not step:
        return None
    return _pack(_array(data)[starts[0] : ends[0] : step])


def _reshaped(data: ShapeValue, shape: Sequence[int]) -> ShapeValue:
    return _pack(_array(data).reshape(tuple(shape)))


def _cast(value: ShapeValue, to_bool: bool) -> ShapeValue:
    if not to_bool:
        return ShapeValue(value.shape, tuple(int(i) if isinstance(i, bool) else i for i in value.items))
    return ShapeValue(value.shape, tuple(bool(i) if isinstance(i, int) else None for i in value.items))


def _range(args: Sequence[ShapeValue | None]) -> ShapeValue | None:
    found = [a.integers() for a in args if a is not None]
    start, limit, step = (f[0] if f else None for f in found) if len(found) == 3 else (None, None, None)
    if start is None or limit is None or not step:
        return None
    if len(range(start, limit, step)) > SMALL:
        return None
    numbers = tuple(range(start, limit, step))
    return ShapeValue((len(numbers),), numbers)


def evaluate_node(
    node: Node, args: Sequence[ShapeValue | None], out_shape: tuple[int, ...] | None
) -> ShapeValue | None:
    """The value of the node's first output, or None when it does not follow; `out_shape` its static shape if known."""
    op, first = node.op, args[0] if args else None
    if op in _BINARY and len(args) == 2:
        a, b = args
        return _zip(a, b, _BINARY[op]) if a is not None and b is not None else None
    if op == "Where" and all(a is not None for a in args):
        return _where(*(a for a in args if a is not None))
    if op == "Concat" and all(a is not None for a in args) and node.integer("axis", 0) == 0:
        return _pack(np.concatenate([_array(a) for a in args if a is not None]))
    if first is None:
        return None
    if op == "Gather" and args[1] is not None:
        return _gather(node, first, args[1])
    if op == "Slice":
        return _slice(node, args)
    if op == "Range":
        return _range(args)
    if op == "Identity":
        return first
    if op == "Cast":
        return _cast(first, node.integer("to", 0) == TensorProto.BOOL)
    if op in ("Unsqueeze", "Squeeze", "Reshape", "Flatten") and out_shape is not None:
        return _reshaped(first, out_shape)
    if op == "Neg":
        return ShapeValue(first.shape, tuple(None if i is None else neg(i) for i in first.items))
    if op == "ReduceProd" and (dims := first.dims()) is not None and out_shape is not None:
        return ShapeValue(out_shape, (product(dims),)) if math.prod(out_shape) == 1 else None
    if op == "Expand" and out_shape is not None and math.prod(out_shape) <= SMALL:
        return _pack(np.broadcast_to(_array(first), out_shape))
    return None
