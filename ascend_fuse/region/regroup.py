"""Views that regroup axes: which axes the dimensions behind a Reshape lie on (docs/design/0005)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ascend_fuse.graph.dim import Dim, divide, product
from ascend_fuse.reason import Miss
from ascend_fuse.region.space import Group, Place, Space, mismatch


class Run(NamedTuple):
    """Positions in the shapes before and behind a view whose dimensions have equal products."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def runs(before: Sequence[Dim], after: Sequence[Dim]) -> list[Run] | None:
    """The shortest such runs, ones left out; None when the sizes are not known to be equal."""
    left = [k for k, d in enumerate(before) if d != 1]
    right = [k for k, d in enumerate(after) if d != 1]
    found: list[Run] = []
    while left and right:
        pairs = ((i, total - i) for total in range(2, len(left) + len(right) + 1) for i in range(1, total))
        size = next(
            (
                (i, j)
                for i, j in pairs
                if i <= len(left)
                and j <= len(right)
                and product(before[k] for k in left[:i]) == product(after[k] for k in right[:j])
            ),
            None,
        )
        if size is None:
            return None
        found.append(Run(tuple(left[: size[0]]), tuple(right[: size[1]])))
        del left[: size[0]], right[: size[1]]
    return None if left or right else found


def regroup(space: Space, have: Place, before: Sequence[Dim], after: Sequence[Dim]) -> Place | Miss:
    """The place of a tensor of shape `after` with the elements of one of shape `before` that lies at `have`.

    Axes are split where a dimension ends inside one; on a Miss the space is left half changed.
    """
    groups = regroup_bare(space, have, before, after)
    return groups if isinstance(groups, Miss) else _with_ones(space, have, before, groups)


def regroup_bare(space: Space, have: Place, before: Sequence[Dim], after: Sequence[Dim]) -> list[Group | None] | Miss:
    """The same without axes for the dimensions of size 1: None stands for them."""
    found = runs(before, after)
    if found is None:
        return mismatch("a view whose sizes are not known to be equal", after, before)
    groups: list[Group | None] = [None] * len(after)
    for run in found:
        if len(run.before) == len(run.after) == 1:
            groups[run.after[0]] = have[run.before[0]]
            continue
        dealt = _deal(space, _axes(space, have, before, run), [after[k] for k in run.after])
        if dealt is None:
            return mismatch("a view that regroups axes at sizes that do not divide each other", after, before)
        for k, group in zip(run.after, dealt, strict=True):
            groups[k] = group
    return groups


def _axes(space: Space, have: Place, before: Sequence[Dim], run: Run) -> list[tuple[int, Dim]]:
    """The run's axes with their sizes: the tensor's own where the dimension has an axis to itself."""
    out: list[tuple[int, Dim]] = []
    for k in run.before:
        out += [(axis, before[k] if len(have[k]) == 1 else space.dims[axis]) for axis in have[k]]
    return out


def _deal(space: Space, axes: list[tuple[int, Dim]], wanted: Sequence[Dim]) -> list[Group] | None:
    """The axes dealt to dimensions of the wanted sizes, in order; None when an end falls where no axis can be cut."""
    groups: list[Group] = []
    for dim in wanted:
        rest: Dim = dim
        group: list[int] = []
        while rest != 1:
            if not axes:
                return None
            axis, size = axes.pop(0)
            whole = divide(rest, size)
            if whole is None:
                inner = divide(size, rest)
                if inner is None or (space.moves and axis == space.order[-1]):
                    return None
                axes.insert(0, (space.split(axis, rest, inner), inner))
                whole = 1
            group.append(axis)
            rest = whole
        groups.append(tuple(group))
    return None if axes else groups


def _with_ones(space: Space, have: Place, before: Sequence[Dim], groups: Sequence[Group | None]) -> Place | Miss:
    """The place, dimensions of size 1 laid on the axes that such dimensions had between the same neighbours."""
    spare = [axis for group, dim in zip(have, before, strict=True) if dim == 1 for axis in group]
    out: list[Group] = []
    for k, group in enumerate(groups):
        if group is not None:
            out.append(group)
            continue
        low = space.order.index(out[-1][-1]) if out else -1
        behind = next((g for g in groups[k:] if g is not None), None)
        high = len(space.order) if behind is None else space.order.index(behind[0])
        # behind a Transpose the neighbours do not ascend, and two gaps may have an axis in common
        used = {axis for group in out for axis in group} if space.turned else ()
        fits = [axis for axis in spare if low < space.order.index(axis) < high and axis not in used]
        ones = next((n for n, g in enumerate(groups[k:]) if g is not None), len(groups) - k)
        if fits:  # one axis each, the first dimension takes what is over
            count = max(len(fits) - ones + 1, 1)
            out.append(tuple(fits[:count]))
        elif space.moves and low + 1 == len(space.order):
            return Miss("crosses-reduction", "an axis would be added behind the row", figures={"row": space.row})
        else:
            out.append((space.insert(low + 1),))
    return tuple(out)
