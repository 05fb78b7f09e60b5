"""Independent regions that read a common tensor share a launch where that pays (docs/design/0007).

Rotary on queries and keys is the usual case: two programs side by side over one space, which read the same cosines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_fuse.graph.dim import Dim, product
from ascend_fuse.graph.view import View
from ascend_fuse.program.program import LIMIT_INSTRUCTIONS, LIMIT_OUTPUTS
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Built
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step, embedded
from ascend_fuse.verdict import Alone, Judged, judge
from ascend_fuse.wanted import whole

if TYPE_CHECKING:
    from ascend_fuse.planning import Chosen, Planner

MAX_OPEN = 2  # regions before it that a region is compared with for each tensor that it reads: the nearest ones
MAX_SEEDS = 4  # tried for both as one: where they do not meet, the one with more axes has to come first


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A chosen region of a vector family, or a step that is launched by itself; `inputs` are seen through views."""

    steps: tuple[Step, ...]
    nodes: frozenset[int]
    inputs: tuple[str, ...]
    outputs: int
    built: Built
    chosen: Chosen | None

    @property
    def key(self) -> tuple[str, Dim]:
        """The family, and the elements of the space: both have to be equal."""
        program = self.built.program
        extents = (*program.rows, *(program.cols or ()))
        return program.family, product(self.built.sizes[e] if isinstance(e, str) else e for e in extents)


def join(planner: Planner) -> None:
    """Join the chosen regions and single steps of a finished search, in the order of the list."""
    launches = sorted((*_regions(planner), *_singles(planner)), key=lambda one: min(one.nodes))
    readers: dict[tuple[str, str, Dim], list[Launch]] = {}
    for one in launches:
        for name in one.inputs:
            readers.setdefault((name, *one.key), []).append(one)
    now: dict[Launch, Launch] = {}  # what a launch has become a part of
    gone: set[int] = set()
    tried: set[tuple[Launch, Launch]] = set()
    for found in readers.values():
        open_: list[Launch] = []
        for one in dict.fromkeys(_last(now, other) for other in found):
            for other in reversed(open_[-MAX_OPEN:]):
                if (other, one) in tried:
                    continue
                tried.add((other, one))
                both = _both(planner, other, one)
                if both is not None:
                    now[other] = now[one] = both
                    gone.update(id(old.chosen) for old in (other, one))
                    open_[open_.index(other)] = both
                    break
            else:
                open_.append(one)
    planner.chosen = [c for c in planner.chosen if id(c) not in gone]


def _last(now: dict[Launch, Launch], one: Launch) -> Launch:
    while one in now:
        one = now[one]
    return one


def _regions(planner: Planner) -> Iterator[Launch]:
    for c in planner.chosen:
        if c.built.program.family != "matmul":
            yield _region(planner, c)


def _singles(planner: Planner) -> Iterator[Launch]:
    """Elementwise steps that no region took; they are chains of one, as far as rules go."""
    if not planner.chain:
        return
    for step in dict.fromkeys(planner.grower.steps[k] for k in sorted(planner.grower.free)):
        if planner.launches[step.index] and planner.is_elementwise(step):
            profile = planner.grower.profile(step)
            assert isinstance(profile, Profile)
            if not profile.trait.literal:
                inputs = _sources(planner, (n for n in profile.trait.data if embedded(planner.view, n) is None))
                yield Launch((step,), frozenset(n.index for n in step.nodes), inputs, 1, profile.alone, None)


def _region(planner: Planner, c: Chosen) -> Launch:
    inputs = _sources(planner, c.built.inputs)
    return Launch(c.steps, frozenset(c.nodes), inputs, len(c.built.outputs), c.built, c)


def _sources(planner: Planner, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_source(planner, n) for n in names))


def _source(planner: Planner, name: str) -> str:
    """The tensor that a chain of views shows."""
    while (node := planner.view.producer(name)) is not None and node.index in planner.grower.steps:
        profile = planner.grower.profile(planner.grower.steps[node.index])
        if isinstance(profile, Miss) or not profile.trait.view:
            break
        name = node.inputs[0]
    return name


def _both(planner: Planner, one: Launch, other: Launch) -> Launch | None:
    """Both as one region, which is chosen now; None where it cannot be built or does not pay."""
    lines = len(one.built.program.instrs) + len(other.built.program.instrs)
    if lines > LIMIT_INSTRUCTIONS or one.outputs + other.outputs > LIMIT_OUTPUTS:
        return None
    reach = planner.grower.reach
    if reach.detour(set(one.nodes), set(other.nodes)) is not None:
        return None
    reach.release(one.nodes | other.nodes)
    found = _paying(planner, one, other)
    if found is None:
        for part in (one, other):
            if part.chosen is not None:
                reach.claim(part.nodes)
        return None
    steps, built, verdict = found
    planner.choose(steps, built, verdict)
    return _region(planner, planner.chosen[-1])


def _paying(planner: Planner, one: Launch, other: Launch) -> tuple[list[Step], Built, Judged] | None:
    """The program of both, where one launch of it beats the two; its figures count the nodes' own launches."""
    wanted = sorted((*one.steps, *other.steps), key=lambda s: s.nodes[0].index)
    closed = whole(planner, wanted, {}, MAX_SEEDS)
    if isinstance(closed, Miss):
        return None
    steps, built = closed
    if _equates(planner.view, built, (one.built, other.built)):
        return None
    verdict = planner.verdict(steps, built)
    if isinstance(verdict, Miss):
        return None
    beside = judge(planner.estimate, built, [Alone("", part.built) for part in (one, other)])
    return None if beside.miss else (steps, built, verdict)


def _equates(view: View, both: Built, parts: Iterable[Built]) -> bool:
    """Whether the program of both takes two sizes for one that no part does: where they differ it would never run."""
    same: dict[Dim, Dim] = {}

    def first(size: Dim) -> Dim:
        while size in same:
            size = same[size]
        return size

    for a, b in (pair for part in parts for pair in _equal_sizes(view, part)):
        if first(a) != first(b):
            same[first(a)] = first(b)
    return any(first(a) != first(b) for a, b in _equal_sizes(view, both))


def _equal_sizes(view: View, built: Built) -> Iterator[tuple[Dim, Dim]]:
    """Sizes of inputs that have another name in the model than in the program."""
    for name, line in zip(built.inputs, built.program.inputs, strict=True):
        for dim, factors in zip(view.type_of(name).shape or (), () if line.host else line.tensor_shape, strict=False):
            size = product(built.sizes[f] if isinstance(f, str) else f for f in factors)
            if size != dim:
                yield size, dim
