"""The order of a finished region's axes: the one in which most of its tensors are read and written as they lie.

Transposes lay tensors on the same axes in other orders. Where one order suits all of them they cancel; else it is that
of the most bytes (docs/design/0009). It does not depend on sizes, which may be other ones at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from ascend_fuse.region.space import Space


class Lying(NamedTuple):
    """A tensor that a region reads or writes: its axes that are not 1, as in memory, and the bytes of an element."""

    axes: tuple[int, ...]
    width: int


def arrange(space: Space, tensors: Sequence[Lying]) -> None:
    """Order the axes in front of the row by the tensors, the earlier of equals first; a bar where one stays turned.

    Only a tensor of all axes is turned on chip. Where a narrow one would be, the narrow ones decide.
    """
    lead = space.lead
    _order(space, lead, tensors, narrow_first=False)
    if any(_is_stuck(space, one) for one in tensors):
        _order(space, lead, tensors, narrow_first=True)


def _order(space: Space, lead: Sequence[int], tensors: Sequence[Lying], narrow_first: bool) -> None:
    weights: dict[tuple[int, ...], int] = {}
    for one in tensors:
        axes = tuple(a for a in one.axes if a in lead)
        weights[axes] = weights.get(axes, 0) + one.width
    wide = len(max(weights, key=len, default=()))
    before: set[tuple[int, int]] = set()
    for axes in sorted(weights, key=lambda axes: (narrow_first and len(axes) == wide, -len(axes), -weights[axes])):
        if not any((b, a) in before for a, b in combinations(axes, 2)):
            before = _closed({*before, *combinations(axes, 2)})
    space.order = _sorted(lead, before) + [a for a in space.order if a not in lead]
    space.barred = len(lead) == len(space.order) and not all(_ascends(space, one.axes) for one in tensors)
    if len(lead) == len(space.order):
        space.row = _cols(space, tensors) if space.barred else 0


def _is_stuck(space: Space, one: Lying) -> bool:
    """Whether a tensor without some of the axes has its innermost one among the rows, and others among the cols."""
    cols = set(space.row_axes)
    narrow = any(space.dims[a] != 1 and a not in one.axes for a in space.order)
    return space.barred and narrow and not cols.isdisjoint(one.axes) and one.axes[-1] not in cols


def _closed(before: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """With what follows from the pairs."""
    while more := {(a, d) for a, b in before for c, d in before if b == c} - before:
        before |= more
    return before


def _sorted(axes: Iterable[int], before: set[tuple[int, int]]) -> list[int]:
    """The axes so that each pair stands in its order, else as they are."""
    left, out = list(axes), list[int]()
    while left:
        out.append(next(a for a in left if not any((b, a) in before for b in left)))
        left.remove(out[-1])
    return out


def _ascends(space: Space, axes: Sequence[int]) -> bool:
    return all(space.order.index(a) < space.order.index(b) for a, b in pairwise(axes))


def _cols(space: Space, tensors: Sequence[Lying]) -> int:
    """How many axes are cols: those behind the innermost axis of a tensor that is turned, else the innermost of all."""
    last = next(a for a in reversed(space.order) if space.dims[a] != 1)
    ends = [one.axes[-1] for one in tensors if last in one.axes and one.axes[-1] != last]
    return len(space.order) - (space.order.index(ends[0]) + 1 if ends else space.order.index(last))
