"""The iteration space of a region: named axes, and on which of them each tensor lies.

Elementwise operators align their operands at the right; Unsqueeze and Squeeze insert or drop an axis. So a tensor's
place is a tuple of axis ids, one per dimension, and two tensors of different rank can share the space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ascend_fuse.graph.dim import Dim
from ascend_fuse.reason import Miss

Place = tuple[int, ...]


def shown(dims: Iterable[Dim]) -> str:
    """A shape as a person reads it: `[batch, 128, 768]`."""
    return f"[{', '.join(map(str, dims))}]"


def mismatch(message: str, shape: Iterable[Dim], space: Iterable[Dim]) -> Miss:
    """A `shape-mismatch` with the whole shapes; the node is the caller's to add."""
    return Miss("shape-mismatch", message, figures={"shape": shown(shape), "space": shown(space)})


@dataclass(slots=True)
class Space:
    """`order`: axis ids, outermost first; `dims`: sizes (1 until widened); `row`: trailing axes that are the row."""

    order: list[int] = field(default_factory=list[int])
    dims: dict[int, Dim] = field(default_factory=dict[int, Dim])
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    row: int = 0
    reduced: bool = False  # a reduction runs over the row: its axes may not widen any more
    moves: bool = False  # slices or concats: the last axis has another length in each value

    def copy(self) -> Space:
        """An independent copy, to try a step on."""
        return Space(list(self.order), dict(self.dims), dict(self.places), self.row, self.reduced, self.moves)

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The sizes of the axes, outermost first."""
        return tuple(self.dims[axis] for axis in self.order)

    def frame(self, parts: Sequence[tuple[Place, int]], shape: Sequence[Dim]) -> Place | Miss:
        """Axis ids for the right-aligned dimensions of a step's widest shape.

        `parts`: (place, distance from the right end) already known.
        """
        rank = len(shape)
        known: list[int | None] = [None] * rank
        for place, shift in parts:
            for k, axis in enumerate(place):
                at = rank - shift - len(place) + k
                if at < 0 or known[at] not in (None, axis):
                    return mismatch("the value lies on other axes than the region's", shape, self.sizes)
                known[at] = axis
        for at in range(rank - 1, -1, -1):
            if known[at] is None:
                known[at] = self._left_of(known[at + 1] if at + 1 < rank else None, set(known) - {None})
        ids = [a for a in known if a is not None]
        positions = [self.order.index(a) for a in ids]
        if positions != sorted(set(positions)):
            return mismatch("the value lies on the region's axes in another order", shape, self.sizes)
        return tuple(ids)

    def _left_of(self, axis: int | None, used: set[int | None]) -> int:
        """The axis in front of `axis` (None: the last one); a new outermost one when there is none or it is used."""
        at = len(self.order) if axis is None else self.order.index(axis)
        if at > 0 and self.order[at - 1] not in used:
            return self.order[at - 1]
        return self.insert(at)

    def insert(self, at: int) -> int:
        """A new axis of size 1 at position `at` of the order."""
        axis = len(self.dims)
        self.order.insert(at, axis)
        self.dims[axis] = 1
        return axis

    def put(self, name: str, place: Place, shape: Sequence[Dim]) -> Miss | None:
        """Lay a tensor on its axes, widening those of size 1; None when it fits."""
        if self.places.setdefault(name, place) != place:
            return mismatch(f"{name} is used on two different axes", shape, self.sizes)
        for axis, dim in zip(place, shape, strict=True):
            miss = self._fit(axis, dim, shape)
            if miss is not None:
                return miss
        return None

    def _fit(self, axis: int, dim: Dim, shape: Sequence[Dim]) -> Miss | None:
        have = self.dims[axis]
        if dim == 1 or dim == have:
            return None
        if self.moves and axis == self.order[-1]:
            if not isinstance(dim, int):
                return Miss(
                    "shape-unknown",
                    "a row that is sliced or joined needs a known length",
                    figures={"axis": -1},
                )
            self.dims[axis] = max(dim, have) if isinstance(have, int) else dim
            return None
        if have == 1:
            if self.reduced and axis in self.order[len(self.order) - self.row :]:
                return Miss("crosses-reduction", "the row would widen behind a reduction", figures={"row": str(dim)})
            self.dims[axis] = dim
            return None
        if isinstance(dim, int) and isinstance(have, int):
            return mismatch(f"{dim} is not {have}", shape, self.sizes)
        self.dims[axis] = _better(have, dim)  # equal or the program does not bind: checked on the real sizes
        return None

    def set_row(self, count: int) -> Miss | None:
        """Make the `count` trailing axes the row, for a reduction or a move."""
        if self.row and self.row != count:
            return Miss("crosses-reduction", "the region's row has another number of axes", figures={"row": self.row})
        self.row = count
        return None


def _better(a: Dim, b: Dim) -> Dim:
    """Of two names for one size: a number, else a declared name, else what there is."""
    for d in (a, b):
        if isinstance(d, int):
            return d
    return b if str(a).startswith("?") else a
