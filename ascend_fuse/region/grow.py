"""Growing a region from a seed over producers and consumers, one step at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import View
from ascend_fuse.program.program import LIMIT_INSTRUCTIONS
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Builder, Built, finish
from ascend_fuse.region.convex import Detour, Reach
from ascend_fuse.region.lower import lower
from ascend_fuse.region.place import place
from ascend_fuse.region.space import Space, mismatch
from ascend_fuse.region.step import Step, embedded, order
from ascend_fuse.region.trait import Trait, trait


@dataclass(frozen=True, slots=True)
class Profile:
    """A step that a vector family can hold, with the program it is alone."""

    trait: Trait
    alone: Built


@dataclass(slots=True)
class Growth:
    """A region while it grows: steps in the order of joining, and why others could not."""

    steps: list[Step]
    space: Space
    nodes: set[int]
    instructions: int = 0
    refused: dict[int, Miss] = field(default_factory=dict[int, Miss])


class Grower:
    """Grows regions over one view. `steps` by node index; a node without a step is never joined."""

    def __init__(self, view: View, steps: Sequence[Step], values: Mapping[str, ShapeValue]) -> None:
        self.view = view
        self.values = values
        self.steps = {n.index: s for s in steps for n in s.nodes}
        self.reach = Reach(view)
        self.free = set(self.steps)
        self._profiles: dict[int, Profile | Miss] = {}

    def profile(self, step: Step) -> Profile | Miss:
        """What the step is, or why it can be in no region."""
        found = self._profiles.get(step.index)
        if found is None:
            found = self._profiles[step.index] = self.plain(step)
        return found

    def plain(self, step: Step) -> Profile | Miss:
        """The same, not remembered: for the nodes of an idiom one by one."""
        found = trait(step, self.view)
        if isinstance(found, Miss):
            return found
        space = Space()
        miss = place(space, step, found, self.view)
        if miss is not None:
            return _at(miss, step)
        built = self.assemble([step], space, {step.index: found}, list(step.outputs))
        return _at(built, step) if isinstance(built, Miss) else Profile(found, built)

    def grow(self, seed: Step) -> Growth:
        """The region around the seed; the seed has a profile and is free."""
        growth = Growth([], Space(), set())
        self._join(growth, seed)
        while True:
            candidate = self._next(growth)
            if candidate is None:
                return growth
            miss = self._join(growth, candidate)
            if miss is not None:
                growth.refused[candidate.index] = miss
            else:  # what was not convex without the new step may be so with it
                growth.refused = {k: m for k, m in growth.refused.items() if m.code != "not-convex"}

    def _next(self, growth: Growth) -> Step | None:
        """The neighbour that is nearest in the list: producers and consumers alternate as the graph does."""
        best: Step | None = None
        low, high = min(growth.nodes), max(growth.nodes)
        near = 1 << 60
        for n in growth.nodes:
            for k in (*self.reach.before[n], *self.reach.after[n]):
                step = self.steps.get(k)
                if step is None or k in growth.nodes or step.index in growth.refused:
                    continue
                distance = max(low - step.index, step.index - high, 0)
                if distance < near or (distance == near and best is not None and step.index < best.index):
                    best, near = step, distance
        return best

    def _join(self, growth: Growth, step: Step) -> Miss | None:
        if not self.free.issuperset(n.index for n in step.nodes):
            return Miss("nothing-to-join", f"{step.label} is in another region", step.index)
        profile = self.profile(step)
        if isinstance(profile, Miss):
            return profile
        added = len(profile.alone.program.instrs)
        if growth.instructions + added > LIMIT_INSTRUCTIONS:
            figures = {"count": growth.instructions + added, "limit": LIMIT_INSTRUCTIONS}
            return Miss("limit-instructions", "the program would be too long", step.index, figures)
        mine = {n.index for n in step.nodes}
        detour = self.reach.detour(growth.nodes, mine) if growth.nodes else None
        if detour is not None:
            return not_convex(detour, self.view, step)
        space = growth.space.copy()
        miss = place(space, step, profile.trait, self.view)
        if miss is None and growth.nodes:
            miss = self._narrow(space, step, mine | growth.nodes)
        if miss is not None:
            return _at(miss, step)
        growth.space = space
        growth.steps.append(step)
        growth.nodes |= mine
        growth.instructions += added
        return None

    def _narrow(self, space: Space, step: Step, inside: set[int]) -> Miss | None:
        """A value that others read must have the region's full rows: it is written tile by tile."""
        lead = set(space.order[: len(space.order) - space.row])
        for name in step.outputs:
            shape = self.view.type_of(name).shape or ()
            wide = {a for a, d in zip(space.places[name], shape, strict=True) if d != 1}
            full = all(space.dims[a] == 1 or a in wide for a in lead)
            if not full and self._escapes(name, inside) and self._read_by_other_than_steps(name):
                return _at(mismatch(f"{name} is narrower than the region and read outside", shape, space.sizes), step)
        return None

    def _escapes(self, name: str, inside: set[int]) -> bool:
        return self.view.is_output(name) or any(k not in inside for k in self.view.readers(name))

    def _read_by_other_than_steps(self, name: str) -> bool:
        """Readers that could still join do not decide yet."""
        readers = self.view.readers(name)
        return self.view.is_output(name) or any(k not in self.free for k in readers) or len(readers) > 1

    def external(self, steps: Sequence[Step], traits: Mapping[int, Trait]) -> list[str]:
        """What the region's nodes read and neither make nor carry as a constant, in the order of reading."""
        data = {n for s in steps for n in traits[s.index].data}
        made = {o for s in steps for n in s.nodes for o in n.outputs}
        names = dict.fromkeys(i for s in order(steps) for n in s.nodes for i in n.inputs if i)
        return [n for n in names if n not in made and (n in data or embedded(self.view, n) is None)]

    def wanted(self, steps: Sequence[Step]) -> list[str]:
        """What is read outside the region, in the order of making."""
        inside = {n.index for s in steps for n in s.nodes}
        made = [o for s in order(steps) for o in s.outputs]
        return [o for o in made if self._escapes(o, inside)]

    def assemble(
        self, steps: Sequence[Step], space: Space, traits: Mapping[int, Trait], wanted: Sequence[str]
    ) -> Built | Miss:
        """The program of placed steps."""
        external = self.external(steps, traits)
        builder = Builder(self.view, space, self.values, external)
        for step in order(steps):
            miss = lower(builder, step)
            if miss is not None:
                return miss
        return finish(builder, external, wanted)

    def close(self, steps: Sequence[Step], refused: dict[int, Miss]) -> tuple[list[Step], Built] | Miss:
        """The program of grown steps (in the order of joining), without views at the border and narrow leftovers.

        What is left out is added to `refused`.
        """
        kept = self._without_border_views(list(steps))
        for _ in range(len(kept)):
            if not kept:
                break
            built = self._rebuild(kept)
            if not isinstance(built, Miss):
                return kept, built
            if built.code in ("limit-inputs", "limit-outputs"):  # as it was before the last step joined
                refused[kept[-1].index] = _at(built, kept[-1])
                kept = self._without_border_views(kept[:-1])
                continue
            if built.code != "shape-mismatch" or built.node < 0:
                return built
            left = self._without_ancestors(kept, built.node)
            refused |= {s.index: _at(built, s) for s in kept if s not in left}
            kept = self._without_border_views(left)
        return Miss("nothing-to-join", "nothing is left of the region", steps[0].index)

    def _rebuild(self, steps: Sequence[Step]) -> Built | Miss:
        space = Space()
        traits: dict[int, Trait] = {}
        for step in steps:
            profile = self.profile(step)
            if isinstance(profile, Miss):
                return profile
            traits[step.index] = profile.trait
            miss = place(space, step, profile.trait, self.view)
            if miss is not None:
                return _at(miss, step)
        wanted = self.wanted(steps)
        if not wanted:
            figures = {"neighbour": "", "why": "unread"}
            return Miss("nothing-to-join", "nothing reads what it makes", steps[0].index, figures)
        lead = space.order[: len(space.order) - space.row]
        for step in order(steps):
            for name in step.outputs:
                shape = self.view.type_of(name).shape or ()
                wide = {a for a, d in zip(space.places[name], shape, strict=True) if d != 1}
                if name in wanted and any(space.dims[a] != 1 and a not in wide for a in lead):
                    return _at(mismatch(f"{name} is narrower than the region", shape, space.sizes), step)
        return self.assemble(steps, space, traits, wanted)

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

    def _without_border_views(self, steps: list[Step]) -> list[Step]:
        """A view moves nothing, so it only belongs to a region that has real steps on both sides of it."""
        while True:
            inside = {n.index for s in steps for n in s.nodes}
            kept = [s for s in steps if not self._is_border_view(s, inside)]
            if len(kept) == len(steps):
                return kept
            steps = kept

    def _is_border_view(self, step: Step, inside: set[int]) -> bool:
        profile = self.profile(step)
        if isinstance(profile, Miss) or not profile.trait.view:
            return False
        source = any(k in inside for k in self.reach.before[step.index])
        return not source or not any(k in inside for k in self.view.readers(step.outputs[0]))


def not_convex(detour: Detour, view: View, step: Step) -> Miss:
    """The Miss of a step that would join by a detour."""
    through = view.nodes[detour.through].label
    message = f"a path leaves the region through {through} and comes back"
    if not detour.proven:
        message = f"whether a path leaves the region and comes back was not decided: given up at {through}"
    return Miss("not-convex", message, step.index, {"through": through})


def _at(miss: Miss, step: Step) -> Miss:
    return miss if miss.node >= 0 else Miss(miss.code, miss.message, step.index, miss.figures, miss.rule)
