"""The operands of a product: lines with axes of their own beside the region's space (docs/design/0007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_fuse.graph.dim import Dim
from ascend_fuse.program.program import Input, OwnShape, Type
from ascend_fuse.region.space import Group, Place

if TYPE_CHECKING:
    from ascend_fuse.region.build import Builder


@dataclass(frozen=True, slots=True)
class Side:
    """One operand: the axes of its type (`DEPTH` is k), `bar` of them in front of the bar, its size on each.

    `groups`: the axes of each dimension of the tensor, as its memory has them; `turned`: transposed there.
    """

    name: str
    word: str
    axes: tuple[int, ...]
    bar: int
    dims: Mapping[int, Dim]
    groups: tuple[Group, ...]
    turned: bool


def side_line(builder: Builder, side: Side, name: str) -> Input:
    """The operand's `left` or `right` line."""
    extents = tuple(builder.extent(a, side.dims.get(a, 1)) for a in side.axes)
    kind = Type(builder.view.type_of(side.name).dtype, extents[: side.bar], extents[side.bar :])
    count = len(extents)
    order: tuple[int, ...] = ()
    if side.turned:  # a Gemm's: k in front of the rows, n in front of k
        order = (count - 1, *range(count - 1)) if side.word == "left" else (*range(1, count), 0)
    line = Input(name, kind, side=side.word, order=order)
    own = own_shape(builder, side.groups, side.dims)
    return line if own == line.tensor_shape else Input(name, kind, shape=own, side=side.word, order=order)


def own_shape(builder: Builder, place_: Place, dims: Mapping[int, Dim]) -> OwnShape:
    """The tensor's sizes: an extent each, or the product of several."""
    sizes = [tuple(builder.extent(a, dims.get(a, 1)) for a in group) for group in place_]
    return tuple((1,) if set(size) == {1} else size for size in sizes)
