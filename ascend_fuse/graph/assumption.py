"""Where a shape rule assumes something of the values that a run will bring.

Planning may: programs bind their sizes from the real tensors and compare them. A cleanup may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from ascend_fuse.graph.dim import Dim, Sym, at_least
from ascend_fuse.graph.type import TensorType
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node


class Doubt(IntEnum):
    """What a type or value rests on, the least certain last."""

    NONE = 0
    EMPTY = 1  # that no tensor on the way is empty
    ASSUMED = 2  # on an assumption about run-time sizes
    TOLD = 3  # on what the model declares of inner values


def doubt_of(
    node: Node, types: Mapping[str, TensorType], values: Mapping[str, ShapeValue], found: Sequence[TensorType]
) -> Doubt:
    """What the node's result types `found` rest on beside its operands.

    A Slice clamps its end, a Range of negative length is empty, a size in a Reshape's operand that comes out as 0 or
    -1 means another: the rules leave these out.
    """
    shapes = [t.shape for t in found if t.shape is not None]
    if any(at_least(d) < 0 for shape in shapes for d in shape):
        return Doubt.ASSUMED
    if node.op == "Reshape" and not node.domain:
        return Doubt.EMPTY if _may_copy(node, types, values) else Doubt.NONE
    if node.op != "Slice" or node.domain or not shapes:
        return Doubt.NONE
    source, end = types.get(node.operand(0)), values.get(node.operand(2))
    if end is None or source is None or source.shape is None:
        return Doubt.NONE  # nothing was taken from it
    ends = any(_is_end(now, was, end) for now, was in zip(shapes[0], source.shape, strict=True))
    return Doubt.ASSUMED if ends else Doubt.NONE


def _may_copy(node: Node, types: Mapping[str, TensorType], values: Mapping[str, ShapeValue]) -> bool:
    """A size of the operand that is 0 in a run copies the one at its place, unless it is that one."""
    want, source = values.get(node.operand(1)), types.get(node.operand(0))
    if want is None or node.integer("allowzero", 0):
        return False
    have = source.shape if source is not None and source.shape is not None else ()
    return any(
        isinstance(item, Sym) and at_least(item) <= 0 and (k >= len(have) or have[k] != item)
        for k, item in enumerate(want.items)
    )


def _is_end(now: Dim, was: Dim, end: ShapeValue) -> bool:
    return isinstance(now, Sym) and now != was and now in end.items
