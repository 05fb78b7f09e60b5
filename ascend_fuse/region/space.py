"""The iteration space of a region: named axes, and on which of them each tensor lies (docs/design/0005).

Elementwise operators align their operands at the right, views insert, drop, split or join dimensions. So a dimension
lies on a group of axes, its size their product or 1, and two tensors of different rank can share the space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ascend_fuse.graph.dim import Dim, product
from ascend_fuse.reason import Miss

Group = tuple[int, ...]  # axis ids, outermost first
Place = tuple[Group, ...]


def shown(dims: Iterable[Dim]) -> str:
    """A shape as a person reads it: `[batch, 128, 768]`."""
    return f"[{', '.join(map(str, dims))}]"


def mismatch(message: str, shape: Iterable[Dim], space: Iterable[Dim]) -> Miss:
    """A `shape-mismatch` with the whole shapes; the node is the caller's to add."""
    return Miss("shape-mismatch", message, figures={"shape": shown(shape), "space": shown(space)})


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of a step that lies on the space already; `shift`: its distance from the right end, in dimensions."""

    place: Place
    shape: Sequence[Dim]
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Joint:
    """A result in two parts along dimension `axis`: `own`, which lies on the space, and `past`, which does not.

    `length`: the axis of the past's size along it, in `dims` alone; `behind`: the region's part stands behind the past.
    """

    result: str
    own: str
    past: str
    axis: int
    length: int
    behind: bool


@dataclass(slots=True)
class Space:
    """`order`: axis ids, outermost first; `dims`: sizes (1 until widened); `row`: trailing axes that are the row."""

    order: list[int] = field(default_factory=list[int])
    dims: dict[int, Dim] = field(default_factory=dict[int, Dim])
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    row: int = 0
    depth: list[int] = field(default_factory=list[int])  # axes along which a product sums: in `dims`, not in `order`
    reduced: bool = False  # a reduction runs over the row: its axes may not widen any more
    turned: bool = False  # a Transpose laid a tensor on axes in another order
    barred: bool = False  # the row is none: the cols of a movement, between which and the rows tensors are turned
    moves: bool = False  # slices or concats: the last axis has another length in each value
    joints: dict[str, Joint] = field(default_factory=dict[str, Joint])  # by the result, which has no place

    def copy(self) -> Space:
        """An independent copy, to try a step on."""
        return replace(
            self, order=list(self.order), dims=dict(self.dims), places=dict(self.places), depth=list(self.depth),
            joints=dict(self.joints),
        )  # fmt: skip

    def part(self, name: str) -> str:
        """The tensor that lies on the space: of a result in two parts the region's own."""
        joint = self.joints.get(name)
        return name if joint is None else joint.own

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The sizes of the axes, outermost first."""
        return tuple(self.dims[axis] for axis in self.order)

    @property
    def lead(self) -> list[int]:
        """The axes in front of the row."""
        return self.order[: len(self.order) - self.row]

    @property
    def row_axes(self) -> list[int]:
        """The axes of the row."""
        return self.order[len(self.order) - self.row :]

    def narrow_row(self) -> None:
        """Leave out of the row the leading axes of size 1, so that the row does not depend on which step began it."""
        while self.row > 1 and self.dims[self.order[-self.row]] == 1:
            self.row -= 1

    def extents(self, name: str, shape: Sequence[Dim]) -> dict[int, Dim]:
        """The placed tensor's size on each of its axes."""
        found: dict[int, Dim] = {}
        for group, dim in zip(self.places[name], shape, strict=True):
            for axis in group:
                found[axis] = dim if dim == 1 or len(group) == 1 else self.dims[axis]
        return found

    def wide(self, name: str, shape: Sequence[Dim]) -> set[int]:
        """The axes on which the placed tensor is not 1."""
        return {axis for axis, dim in self.extents(name, shape).items() if dim != 1}

    def frame(self, parts: Sequence[Part], shape: Sequence[Dim]) -> Place | Miss:
        """Groups for the right-aligned dimensions of a step's widest shape.

        A part binds the dimensions in which it is not 1; where it is 1, it only says where the dimension would lie.
        """
        firm: list[Group | None] = [None] * len(shape)
        loose: list[Group | None] = [None] * len(shape)
        for part in parts:
            first = len(shape) - part.shift - len(part.place)
            if first < 0:
                return mismatch("the value has more axes than its operator", shape, self.sizes)
            for at, (group, dim) in enumerate(zip(part.place, part.shape, strict=True), start=first):
                if dim == 1:
                    loose[at] = loose[at] or group
                elif firm[at] in (None, group):
                    firm[at] = group
                else:
                    return mismatch("the value lies on other axes than the region's", shape, self.sizes)
        hinted = [f or self._wide(g, d) for f, g, d in zip(firm, loose, shape, strict=True)]
        for known in (hinted, firm):
            if self._ascends([g for g in known if g]):
                return self._filled(known, shape)
        bound = [axis for group in firm if group for axis in group]
        if len(set(bound)) < len(bound):
            return mismatch("two dimensions of the value lie on one axis of the region", shape, self.sizes)
        if self.turned and all(g is not None for g in hinted):  # behind a Transpose: every dimension has its axes
            return self._apart([g for g in hinted if g is not None], firm)
        return mismatch("the value lies on the region's axes in another order", shape, self.sizes)

    def _apart(self, groups: Sequence[Group], firm: Sequence[Group | None]) -> Place:
        """The groups, a new axis for a dimension whose group, which no part binds, is another dimension's too."""
        used = {axis for group in firm if group for axis in group}
        out: list[Group] = []
        for group, bound in zip(groups, firm, strict=True):
            out.append(group if bound or used.isdisjoint(group) else (self.insert(0),))
            used.update(group)
        return tuple(out)

    def _wide(self, group: Group | None, dim: Dim) -> Group | None:
        """The axes that a dimension of another size than 1 lies on: those that are not 1, else one that may widen."""
        if group is None or dim == 1:
            return group
        return tuple(a for a in group if self.dims[a] != 1) or group[-1:]

    def _ascends(self, groups: Sequence[Group]) -> bool:
        positions = [self.order.index(axis) for group in groups for axis in group]
        return positions == sorted(set(positions))

    def _filled(self, known: list[Group | None], shape: Sequence[Dim]) -> Place:
        """Axes for the dimensions that no part knows, from the right: in front of the next one."""
        used = {axis for group in known if group for axis in group}
        out: list[Group] = []
        for group, dim in zip(reversed(known), reversed(shape), strict=True):
            out.append(group or self._left_of(out[-1] if out else None, used, dim))
        return tuple(reversed(out))

    def _left_of(self, group: Group | None, used: set[int], dim: Dim) -> Group:
        """The axes in front of `group` (None: the last ones); a new one when there is none or it is used."""
        at = len(self.order) if group is None else self.order.index(group[0])
        if at == 0 or self.order[at - 1] in used:
            return (self.insert(at),)
        last = self.order[at - 1]
        if dim != 1 and self.dims[last] not in (1, dim):
            for first in range(at - 2, -1, -1):
                run = tuple(a for a in self.order[first:at] if self.dims[a] != 1)
                if used.isdisjoint(run) and self.size(run) == dim:
                    return run
        return (last,)

    def size(self, group: Group) -> Dim:
        """The product of the axes' sizes."""
        return product(self.dims[axis] for axis in group)

    def insert(self, at: int) -> int:
        """A new axis of size 1 at position `at` of the order; between two axes of the row it is of the row."""
        self.row += at > len(self.order) - self.row and self.row > 0
        axis = len(self.dims)
        self.order.insert(at, axis)
        self.dims[axis] = 1
        return axis

    def split(self, axis: int, outer: Dim, inner: Dim) -> int:
        """Cut an axis in two, in every tensor; it becomes the outer one, the inner one's id comes back."""
        fresh = len(self.dims)
        if axis in self.depth:
            self.depth.insert(self.depth.index(axis) + 1, fresh)
        else:
            at = self.order.index(axis)
            self.row += at >= len(self.order) - self.row
            self.order.insert(at + 1, fresh)
        self.dims[axis], self.dims[fresh] = outer, inner
        for name, place in self.places.items():
            if any(axis in group for group in place):
                self.places[name] = tuple(_with(group, axis, fresh) for group in place)
        return fresh

    def put(self, name: str, place: Place, shape: Sequence[Dim]) -> Miss | None:
        """Lay a tensor on its axes, widening those of size 1; None when it fits."""
        have = self.places.setdefault(name, place)
        if any(a != b for a, b, dim in zip(have, place, shape, strict=True) if dim != 1):
            return mismatch(f"{name} is used on two different axes", shape, self.sizes)
        for group, dim in zip(place, shape, strict=True):
            miss = None if dim == 1 else self._fit(group, dim, shape)
            if miss is not None:
                return miss
        return None

    def _fit(self, group: Group, dim: Dim, shape: Sequence[Dim]) -> Miss | None:
        have, axis = self.size(group), group[-1]
        if len(group) > 1 and self.moves and axis == self.order[-1]:
            return mismatch("a row that is sliced or joined is an axis of its own", shape, self.sizes)
        if dim == have:
            return None
        if len(group) > 1:
            return mismatch(f"{dim} is not {have}", shape, self.sizes)
        if self.moves and axis == self.order[-1]:
            if not isinstance(dim, int):
                text = "a row that is sliced or joined needs a known length"
                return Miss("shape-unknown", text, figures={"axis": -1})
            self.dims[axis] = max(dim, have) if isinstance(have, int) else dim
            return None
        if have == 1:
            if self.reduced and axis in self.row_axes:
                return Miss("crosses-reduction", "the row would widen behind a reduction", figures={"row": str(dim)})
            self.dims[axis] = dim
            return None
        if isinstance(dim, int) and isinstance(have, int):
            return mismatch(f"{dim} is not {have}", shape, self.sizes)
        self.dims[axis] = better(have, dim)  # equal or the program does not bind: checked on the real sizes
        return None

    def set_row(self, first: int, step: Iterable[int]) -> Miss | None:
        """Make the axes from `first` on the row of a step on the axes `step`; others in it may only be 1."""
        axes = self.order[self.order.index(first) :]
        known = set(step)
        if any(a not in known and self.dims[a] != 1 for a in axes):
            return Miss("crosses-reduction", "the row is not the region's row", figures={"row": len(axes)})
        if not self.row:
            self.row = len(axes)
        more = self.order[len(self.order) - max(self.row, len(axes)) : len(self.order) - min(self.row, len(axes))]
        if any(self.dims[a] != 1 for a in more):
            text = "the region's row has another number of axes"
            return Miss("crosses-reduction", text, figures={"row": self.row})
        return None


def _with(group: Group, axis: int, fresh: int) -> Group:
    """The group with `fresh` behind `axis`."""
    if axis not in group:
        return group
    at = group.index(axis) + 1
    return (*group[:at], fresh, *group[at:])


def better(a: Dim, b: Dim) -> Dim:
    """Of two names for one size: a number, else a declared name, else what there is."""
    for d in (a, b):
        if isinstance(d, int):
            return d
    return b if str(a).startswith("?") else a
