"""Growing a region from a seed over producers and consumers, one step at a time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import View
from ascend_fuse.program.program import LIMIT_INPUTS, LIMIT_INSTRUCTIONS, LIMIT_OUTPUTS
from ascend_fuse.reason import Miss
from ascend_fuse.region.along import along
from ascend_fuse.region.build import Built
from ascend_fuse.region.convex import Reach
from ascend_fuse.region.epilogue import Epilogue
from ascend_fuse.region.profile import TRANSPOSE, Profile, Programs, Unsupported, at_step
from ascend_fuse.region.refusal import not_convex, refusal
from ascend_fuse.region.space import Space, mismatch
from ascend_fuse.region.step import Step, order

MAX_REFUSED = 256  # steps tried in vain before a region is taken as it is: a value may have any number of readers


@dataclass(slots=True)
class Growth:
    """A region while it grows: steps in the order of joining, and why others could not.

    `fringe`: positions of the steps beside it that were not tried yet, ascending; `last`: of Concats that would end it;
    `met`: all that ever were in one of them. `turning`: Transposes join without a product.
    """

    steps: list[Step]
    space: Space
    nodes: set[int]
    low: int
    high: int
    turning: bool = False
    instructions: int = 0
    refused: dict[int, Miss] = field(default_factory=dict[int, Miss])
    fringe: list[int] = field(default_factory=list[int])
    last: list[int] = field(default_factory=list[int])
    met: set[int] = field(default_factory=set[int])
    epilogue: Epilogue | None = None  # of the product that it began with

    def take_nearest(self) -> int | None:
        """The step of the fringe that is nearest in the list: producers and consumers alternate as the graph does."""
        if not self.fringe:
            return None
        at = bisect_left(self.fringe, self.low)
        above = self.fringe[at] if at < len(self.fringe) else None
        below = self.fringe[at - 1] if at else None
        if above is None or (below is not None and self.low - below <= above - self.high):
            at -= 1
        return self.fringe.pop(at)


class Grower:
    """Grows regions over one view. `steps` by node index; a node without a step is never joined.

    Neither is a step that is `unsupported` by itself. While it is `turning`, Transposes join regions without a product.
    """

    def __init__(
        self, view: View, steps: Sequence[Step], values: Mapping[str, ShapeValue], unsupported: Unsupported
    ) -> None:
        self.view = view
        self.values = values
        self.steps = {n.index: s for s in steps for n in s.nodes}
        self.reach = Reach(view)
        self.free = set(self.steps)
        self.turning = False
        self.programs = Programs(view, values, unsupported)
        self.profile = self.programs.profile
        self.plain = self.programs.plain

    def grow(self, seed: Step, more: Sequence[Step] = ()) -> Growth:
        """The region around the seed; the seed has a profile and is free. `more`: tried even if nothing leads there."""
        growth = Growth([], Space(), set(), seed.index, seed.index, self.turning)
        growth.met.add(seed.index)
        self._join(growth, seed)
        doubtful: list[int] = []  # not convex, or read outside, without a step that may still join
        while len(growth.refused) < MAX_REFUSED:
            if not growth.fringe:
                for step in more:
                    self._wait(growth, step)
            if not growth.fringe:
                growth.fringe, growth.last = growth.last, []
            index = growth.take_nearest()
            if index is None:
                break
            miss = self._join(growth, self.steps[index])
            if miss is not None:
                growth.refused[index] = miss
                if miss.code in ("not-convex", "value-escapes"):
                    doubtful.append(index)
                continue
            for k in doubtful:
                del growth.refused[k]
                insort(growth.fringe, k)
            doubtful.clear()
        return growth

    def _meet(self, growth: Growth, step: Step) -> None:
        """Widen the fringe by the neighbours of a step that joined; of very many readers by the nearest."""
        for node in step.nodes:
            n = node.index
            readers = self.reach.after[n]
            if len(readers) > MAX_REFUSED:
                at = bisect_left(readers, growth.low)
                readers = readers[at : at + MAX_REFUSED]
            for k in (*self.reach.before[n], *readers):
                other = self.steps.get(k)
                if other is not None:
                    self._wait(growth, other)

    def _wait(self, growth: Growth, step: Step) -> None:
        """Put a step that was not met in the fringe; a Concat that would end the region waits for all others."""
        if step.index in growth.met:
            return
        growth.met.add(step.index)
        profile = self.profile(step) if step.node.op == "Concat" else None
        ends = isinstance(profile, Profile) and profile.trait.joins is not None
        insort(growth.last if ends else growth.fringe, step.index)

    def _join(self, growth: Growth, step: Step) -> Miss | None:
        profile = self.profile(step)
        if isinstance(profile, Miss):
            return profile
        if not self.free.issuperset(n.index for n in step.nodes):
            return Miss("nothing-to-join", f"{step.label} is in another region", step.index)
        miss = refusal(growth, step, profile, self.view)
        if miss is not None:
            return miss
        added = 0 if step.node.op == TRANSPOSE else len(profile.alone.program.instrs)
        if growth.instructions + added > LIMIT_INSTRUCTIONS:
            figures = {"count": growth.instructions + added, "limit": LIMIT_INSTRUCTIONS}
            return Miss("limit-instructions", "the program would be too long", step.index, figures)
        mine = {n.index for n in step.nodes}
        detour = self.reach.detour(growth.nodes, mine) if growth.nodes else None
        if detour is not None:
            return not_convex(detour, self.view, step)
        miss = self._lay(growth, step, profile, mine)
        if miss is not None:
            return at_step(miss, step)
        growth.steps.append(step)
        growth.nodes |= mine
        growth.low, growth.high = min(growth.low, step.nodes[0].index), max(growth.high, step.index)
        growth.instructions += added
        if profile.trait.product:
            growth.epilogue = Epilogue(step, self.programs)
        if growth.epilogue is not None:
            growth.epilogue.joined(step)
        self._meet(growth, step)
        return None

    def _lay(self, growth: Growth, step: Step, profile: Profile, mine: set[int]) -> Miss | None:
        """Put the step on the growth's space, which stays as it is on a Miss."""
        if growth.epilogue is not None and growth.epilogue.is_operand(step):
            return growth.epilogue.laid(growth.space, step, profile.trait)
        names = (*profile.trait.data, *step.outputs)
        found = along(growth.space, names, self.view) if profile.plain else None
        space, fresh = growth.space, [n for n in found or () if n not in growth.space.places]
        if found is None:
            space = space.copy()
            miss = self.programs.place(space, step, growth.steps, {step.index: profile.trait})
            if miss is None and growth.epilogue is not None:
                miss = growth.epilogue.widened(space, step)
            if miss is not None:
                return miss
        else:
            space.places.update(found)
        miss = self._narrow(space, step, mine, growth.nodes) if growth.nodes and not profile.trait.literal else None
        if miss is None:
            growth.space = space
        else:
            for name in fresh:
                del space.places[name]
        return miss

    def _narrow(self, space: Space, step: Step, mine: set[int], others: set[int]) -> Miss | None:
        """A value that others read must have the region's full rows: it is written tile by tile."""
        lead = [a for a in space.order[: len(space.order) - space.row] if space.dims[a] != 1]
        for name in step.outputs:
            part = space.part(name)
            shape = self.view.type_of(part).shape or ()
            if space.wide(part, shape).issuperset(lead) or not self._escapes(name, mine | others):
                continue
            if part != name or self._read_by_other_than_steps(name):
                return at_step(
                    mismatch(f"{name} is narrower than the region and read outside", shape, space.sizes), step
                )
        return None

    def _escapes(self, name: str, inside: set[int]) -> bool:
        return self.view.is_output(name) or any(k not in inside for k in self.view.readers(name))

    def _read_by_other_than_steps(self, name: str) -> bool:
        """Readers that could still join do not decide yet."""
        readers = self.view.readers(name)
        return self.view.is_output(name) or any(k not in self.free for k in readers) or len(readers) > 1

    def wanted(self, steps: Sequence[Step]) -> list[str]:
        """What is read outside the region, in the order of making."""
        inside = {n.index for s in steps for n in s.nodes}
        made = [o for s in order(steps) for o in s.outputs]
        return [o for o in made if self._escapes(o, inside)]

    def close(self, steps: Sequence[Step], refused: dict[int, Miss]) -> tuple[list[Step], Built] | Miss:
        """The program of grown steps (in the order of joining), without views at the border and narrow leftovers.

        What is left out is added to `refused`. Views by which values enter are kept where a size, otherwise, is only
        read as a factor of another.
        """
        closed = self._close(steps, refused, entering=False)
        if isinstance(closed, Miss) and closed.code == "shape-unknown":
            again = self._close(steps, refused, entering=True)
            return closed if isinstance(again, Miss) else again
        return closed

    def _close(
        self, steps: Sequence[Step], refused: dict[int, Miss], entering: bool
    ) -> tuple[list[Step], Built] | Miss:
        kept = self._without_border_views(list(steps), entering)
        for _ in range(len(kept)):
            if not kept:
                break
            built = self._rebuild(kept)
            if not isinstance(built, Miss):
                return kept, built
            if built.code in ("limit-inputs", "limit-outputs"):
                left = self._within_limits(kept)
                refused |= {s.index: at_step(built, s) for s in kept if s not in left}
                kept = self._without_border_views(left, entering)
                continue
            if built.code != "shape-mismatch" or built.node < 0:
                return built
            left = self._without_ancestors(kept, built.node)
            refused |= {s.index: at_step(built, s) for s in kept if s not in left}
            kept = self._without_border_views(left, entering)
        return Miss("nothing-to-join", "nothing is left of the region", steps[0].index)

    def _within_limits(self, steps: list[Step]) -> list[Step]:
        """As the region was when it had few enough inputs and outputs: without one step or more that joined last."""
        for count in range(len(steps) - 1, 0, -1):
            left = steps[:count]
            inputs, outputs = self.programs.inputs_of(left), self.wanted(left)
            if len(inputs) <= LIMIT_INPUTS and len(outputs) <= LIMIT_OUTPUTS:
                return left
        return []

    def _rebuild(self, steps: Sequence[Step]) -> Built | Miss:
        wanted = self.wanted(steps)
        if not wanted:
            figures = {"neighbour": "", "why": "unread"}
            return Miss("nothing-to-join", "nothing reads what it makes", steps[0].index, figures)
        return self.programs.of(steps, wanted)

    def _without_ancestors(self, steps: list[Step], node: int) -> list[Step]:
        """Drop the step at `node` and all steps that it depends on: what stays is still convex."""
        index = {n.index: s for s in steps for n in s.nodes}
        drop, stack = set[int](), [index[node]]
        while stack:
            step = stack.pop()
            if step.index in drop:
                continue
            drop.add(step.index)
            for n in step.nodes:
                stack += [index[k] for k in self.reach.before[n.index] if k in index]
        return [s for s in steps if s.index not in drop]

    def _without_border_views(self, steps: list[Step], entering: bool) -> list[Step]:
        """A view moves nothing, so it only belongs to a region that has real steps on both sides of it.

        `entering`: or behind it.
        """
        while True:
            inside = {n.index for s in steps for n in s.nodes}
            kept = [s for s in steps if not self._is_border_view(s, inside, entering)]
            if len(kept) == len(steps):
                return kept
            steps = kept

    def _is_border_view(self, step: Step, inside: set[int], entering: bool) -> bool:
        profile = self.profile(step)
        if isinstance(profile, Miss) or not profile.trait.view or step.node.op == TRANSPOSE:  # that is launched
            return False
        source = entering or any(k in inside for k in self.reach.before[step.index])
        return not source or not any(k in inside for k in self.view.readers(step.outputs[0]))
