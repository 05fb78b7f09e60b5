"""Operands of a product and pasts of outputs: lines beside the region's space (docs/design/0007)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ascend_fuse.graph.dim import Dim
from ascend_fuse.program.program import Input, Order, OwnShape, Type
from ascend_fuse.region.space import Group, Place

if TYPE_CHECKING:
    from ascend_fuse.region.build import Builder

DEPTH = -1  # the axis along which a product sums, until a view cuts it
LEFT, RIGHT = "\0left", "\0right"  # the operands among the places, so that axes are cut in them as well


@dataclass(frozen=True, slots=True)
class Side:
    """One of them: the axes of its type, `bar` of them in front of the bar, and its size on each (else 1).

    `groups`: the axes of each dimension of the tensor, as its memory has them.
    """

    name: str
    word: str
    axes: tuple[int, ...]
    bar: int
    dims: Mapping[int, Dim]
    groups: tuple[Group, ...]


def side_line(builder: Builder, side: Side, name: str) -> Input:
    """Its `left`, `right` or `past` line."""
    extents = tuple(builder.extent(a, side.dims.get(a, 1)) for a in side.axes)
    cols = None if side.word == "past" else extents[side.bar :]
    kind = Type(builder.view.type_of(side.name).dtype, extents[: side.bar], cols)
    line = Input(name, kind, side=side.word, order=order_of(side.groups, side.axes))
    own = own_shape(builder, side.groups, side.dims)
    return line if own == line.tensor_shape else replace(line, shape=own)


def order_of(place: Place, axes: Sequence[int]) -> Order:
    """Which of the axes of a type the memory of a tensor has at each position; () where they are the same.

    Axes that the tensor lacks have size 1 and come first.
    """
    memory = [axes.index(axis) for group in place for axis in group]
    if memory == sorted(memory):
        return ()
    return (*(k for k in range(len(axes)) if k not in memory), *memory)


def own_shape(builder: Builder, place: Sequence[Group], dims: Mapping[int, Dim]) -> OwnShape:
    """The tensor's sizes: an extent each, or the product of several."""
    sizes = [tuple(builder.extent(a, dims.get(a, 1)) for a in group) for group in place]
    return tuple((1,) if set(size) <= {1} else size for size in sizes)
