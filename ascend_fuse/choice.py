"""Where regions touch, the order in which seeds grew decides who takes what: the order of least estimated time is kept.

A component is a set of launches that steps could move between. A small one is planned in every order of families, with
all else as it is; a large one falls apart where a product, or a node of no family, lies on another path between two
steps: no region could hold both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_fuse.reason import Miss
from ascend_fuse.region.convex import SEARCH_LIMIT
from ascend_fuse.region.operand import moves_only
from ascend_fuse.region.product import operands_of
from ascend_fuse.region.profile import Profile
from ascend_fuse.seed import ORDERS

if TYPE_CHECKING:
    from ascend_fuse.planning import Chosen, Planner

MAX_NODES = 64  # of a component that is planned again
ALIKE_US = 1e-6  # sums of equal times in another order


@dataclass(frozen=True, slots=True)
class Found:
    """What one order made of a component: regions, what is left over and why, the estimate of all."""

    chosen: tuple[Chosen, ...]
    free: frozenset[int]
    reasons: dict[int, Miss]
    beyond: dict[int, Miss]
    total_us: float


class Touching:
    """The launches of a finished greedy search, and which of them steps could move between. Ids are node indices."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.home: dict[int, int] = {}  # node → its launch, by the first node
        for c in planner.chosen:
            self.home.update(dict.fromkeys(c.nodes, c.nodes[0]))
        for k in planner.seedable:
            step = planner.grower.steps[k]
            if k not in self.home and planner.launches[k] and step.index == k and self._profile(k) is not None:
                self.home.update((n.index, step.nodes[0].index) for n in step.nodes)

    def components(self) -> Iterator[list[int]]:
        """The nodes of each small component, ascending."""
        edges = [(a, b) for a in self.home for b in self._readers(a) if self.home[a] != self.home[b]]
        edges = [(a, b) for a, b in edges if self._meets(a, b)]
        large = [nodes for nodes in _joined(self.home, edges) if len(nodes) > MAX_NODES]
        yield from (nodes for nodes in _joined(self.home, edges) if len(nodes) <= MAX_NODES)
        homes = {k: self.home[k] for nodes in large for k in nodes}
        near = [(a, b) for a, b in edges if a in homes and not self._walled(a, b)]
        yield from (nodes for nodes in _joined(homes, near) if len(nodes) <= MAX_NODES)

    def views(self, nodes: Sequence[int]) -> set[int]:
        """Steps beside the nodes that are not launched: they come along with whoever needs them."""
        found: set[int] = set()
        stack = list(nodes)
        reach = self.planner.grower.reach
        while stack:
            k = stack.pop()
            for other in (*reach.before[k], *reach.after[k]):
                free = other in self.planner.seedable and other in self.planner.grower.free
                if free and other not in self.home and other not in found and not self.planner.launches[other]:
                    found.add(other)
                    stack.append(other)
        return found

    def _profile(self, index: int) -> Profile | None:
        found = self.planner.grower.profile(self.planner.grower.steps[index])
        return found if isinstance(found, Profile) else None

    def _readers(self, index: int) -> Iterator[int]:
        """Launched readers of what the node makes, also through views."""
        grower = self.planner.grower
        stack = [(index, k) for k in grower.reach.after[index]]
        seen: set[int] = set()
        while stack:
            source, k = stack.pop()
            if k in seen or k not in grower.steps:
                continue
            seen.add(k)
            profile = self._profile(k)
            if k in self.home:
                if profile is None or not profile.trait.product or self._enters(index, source, k):
                    yield k
            elif profile is not None and profile.trait.view:
                stack += [(k, j) for j in grower.reach.after[k]]

    def _enters(self, index: int, source: int, product: int) -> bool:
        """Whether the product could have the node in its region: what makes an operand only moves it."""
        operands = {name for name, _ in operands_of(self.planner.view.nodes[product])}
        profile = self._profile(index)
        moves = profile is not None and moves_only(self.planner.grower.steps[index], profile.trait)
        return moves or operands.isdisjoint(self.planner.view.nodes[source].outputs)

    def _meets(self, a: int, b: int) -> bool:
        """Whether the steps could be in one region, by their kinds."""
        one, other = self._profile(a), self._profile(b)
        if one is None or other is None:
            return True  # an inner node of an idiom
        if one.trait.turns or other.trait.turns:
            return one.trait.product or other.trait.product
        if one.trait.product:
            return not (other.trait.product or other.trait.reduces or other.trait.moves)
        return not (other.trait.product and (one.trait.reduces or one.trait.moves))

    def _walled(self, a: int, b: int) -> bool:
        """Whether another path from a to b goes through what no region with both could hold."""
        grower = self.planner.grower
        stack = [(k, False) for k in grower.reach.after[a] if k < b]
        seen: set[tuple[int, bool]] = set()
        while stack:
            k, wall = stack.pop()
            if (k, wall) in seen:
                continue
            seen.add((k, wall))
            if len(seen) > SEARCH_LIMIT:
                return True
            profile = self._profile(k) if k in grower.steps else None
            wall = wall or profile is None or profile.trait.product
            for other in grower.reach.after[k]:
                if other == b and wall:
                    return True
                if other < b:
                    stack.append((other, wall))
        return False


def _joined(home: dict[int, int], edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Nodes of launches that edges connect, for two launches or more."""
    root = {h: h for h in home.values()}

    def find(h: int) -> int:
        while root[h] != h:
            root[h] = h = root[root[h]]
        return h

    for a, b in edges:
        one, other = sorted((find(home[a]), find(home[b])))
        root[other] = one
    found: dict[int, list[int]] = {}
    launches: dict[int, set[int]] = {}
    for k in sorted(home):
        found.setdefault(find(home[k]), []).append(k)
        launches.setdefault(find(home[k]), set()).add(home[k])
    return [nodes for h, nodes in found.items() if len(launches[h]) > 1]


def choose(planner: Planner) -> None:
    """Plan again where another order of families has a smaller estimate; the first of equals is kept."""
    if all(m.rule.family == "elementwise" for m in planner.anchors):
        return  # all orders are one
    touching = Touching(planner)
    kept = {c.nodes[0]: c for c in planner.chosen}
    best: dict[Hashable, int] = {}  # components that are alike have the same best order
    for nodes in list(touching.components()):
        if all(m.rule.family == "elementwise" for k in nodes if (m := planner.anchor_at.get(k)) is not None):
            continue
        key = _shape(planner, nodes)
        if best.get(key) == 0:
            continue
        trial = Trial(planner, sorted({*nodes, *touching.views(nodes)}), [kept.pop(k) for k in nodes if k in kept])
        founds = [trial.first, *(trial.plan(order) for order in ORDERS[1:])]
        least = min(f.total_us for f in founds) + ALIKE_US
        best[key] = next(k for k, f in enumerate(founds) if f.total_us <= least)
        trial.keep(founds[best[key]])
        kept.update((c.nodes[0], c) for c in founds[best[key]].chosen)
    planner.chosen = list(kept.values())


def _shape(planner: Planner, nodes: Sequence[int]) -> Hashable:
    """What the order of a component hangs on, its constants' values left out: kinds, types, who reads whom."""
    grower, view = planner.grower, planner.view
    at: dict[str, int] = {}
    parts: list[Hashable] = []
    for step in dict.fromkeys(grower.steps[k] for k in nodes):
        profile = grower.profile(step)
        if isinstance(profile, Profile):
            t = profile.trait
            parts.append(
                (t.row, t.reduces, t.moves, t.keep, t.view, t.literal, t.turns, len(profile.alone.program.instrs))
            )
        parts.append((step.instruction, *(n.op for n in step.nodes)))
        for name in (*step.inputs, *step.outputs):
            if name not in at:
                kind = view.type_of(name)
                parts.append((kind.dtype, kind.shape))
            parts.append(at.setdefault(name, len(at)))
    inside = set(nodes)
    outside = [n for n, _ in at.items() if view.is_output(n) or not inside.issuperset(view.readers(n))]
    return tuple(parts), tuple(at[n] for n in outside)


class Trial:
    """One component, planned in several orders, of which one is kept. `nodes`: its own, and views, ascending."""

    def __init__(self, planner: Planner, nodes: Sequence[int], chosen: Sequence[Chosen]) -> None:
        self.planner = planner
        self.nodes = sorted({*nodes, *(k for c in chosen for k in c.nodes)})  # with the views that regions hold
        self.free = planner.grower.free
        self.first = self._take_out(chosen, {k for k in self.nodes if k in self.free})

    def plan(self, order: Sequence[str], rows: Set[int] = frozenset()) -> Found:
        """What the order makes of it; behind movements that begin without the nodes `rows`, where there are such."""
        planner = self.planner
        planner.chosen = []
        planner.grower.free = {k for k in self.nodes if k in planner.seedable} - rows
        if rows:
            planner.greedy(("transform",), self.nodes)
            for k in planner.grower.free:
                planner.reasons.pop(k, None)
            planner.grower.free |= rows
        planner.greedy(order, self.nodes)
        return self._take_out(planner.chosen, planner.grower.free)

    def keep(self, found: Found) -> None:
        """Make it the planner's; the regions are the caller's to add."""
        planner = self.planner
        for c in found.chosen:
            planner.grower.reach.claim(c.nodes)
        planner.reasons |= found.reasons
        planner.beyond |= found.beyond
        self.free.difference_update(self.nodes)
        self.free |= found.free
        planner.grower.free = self.free

    def _take_out(self, chosen: Sequence[Chosen], free: set[int]) -> Found:
        """What there is of the component, no longer in the planner."""
        planner = self.planner
        planner.grower.reach.release(self.nodes)
        fused = {k for c in chosen for k in c.nodes}
        alone = (k for k in self.nodes if k not in fused and planner.launches[k])
        total = sum(c.figures.after.time_us for c in chosen) + sum(planner.cost(k).time_us for k in alone)
        reasons = {k: planner.reasons.pop(k) for k in self.nodes if k in planner.reasons}
        beyond = {k: planner.beyond.pop(k) for k in self.nodes if k in planner.beyond}
        return Found(tuple(chosen), frozenset(free), reasons, beyond, total)
