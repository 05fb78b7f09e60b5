"""What planning leaves behind: the chosen regions, a reason for every other launch, the totals before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_fuse.candidate import Candidate
from ascend_fuse.graph.view import Node
from ascend_fuse.moving import MOVEMENT
from ascend_fuse.plan import NearMiss, Totals
from ascend_fuse.reason import Miss
from ascend_fuse.region.joint import not_along
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step

if TYPE_CHECKING:
    from ascend_fuse.planning import Chosen, Planner


@dataclass(frozen=True, slots=True)
class Outcome:
    """What planning found in one graph; `candidates`: all that was judged, in that order, then what never was.

    `passed`: near misses of rules at nodes that fuse all the same, without those rules.
    """

    chosen: tuple[Chosen, ...]
    misses: tuple[NearMiss, ...]
    before: Totals
    after: Totals
    candidates: tuple[Candidate, ...] = ()
    passed: tuple[NearMiss, ...] = ()


def account(planner: Planner, told: Iterable[Node]) -> Outcome:
    """The outcome of a finished planner, with the misses of the nodes `told`."""
    chosen = sorted(planner.chosen, key=lambda c: c.nodes)
    fused = {n for c in chosen for n in c.nodes}
    before = after = Totals()
    costs: dict[int, Totals] = {}
    for c in chosen:
        before, after = before + c.figures.before, after + c.figures.after
    for node in planner.view.nodes:
        if node.index not in fused and planner.launches[node.index]:
            cost = costs[node.index] = planner.cost(node.index)
            before, after = before + cost, after + cost
    misses: list[NearMiss] = []
    asked: set[int] = set()
    for node in told:
        asked.add(node.index)
        step = planner.grower.steps.get(node.index)
        if step is not None and step.index == node.index and node.index in costs:
            misses.append(_told(planner, node.index, _reason(planner, step), costs))
    known = {(m.node, m.miss.code) for m in misses}
    near = [m for m in planner.near if m.node in asked and (m.node, m.code) not in known]
    misses += [_told(planner, m.node, m, costs) for m in near if m.node not in fused]
    passed = tuple(_told(planner, m.node, m, costs) for m in near if m.node in fused)
    return Outcome(
        tuple(chosen), tuple(sorted(misses, key=lambda m: m.node)), before, after,
        (*planner.candidates, *_lone(planner, misses)), passed,
    )  # fmt: skip


def _lone(planner: Planner, misses: Iterable[NearMiss]) -> Iterator[Candidate]:
    """The nodes that have a program and were judged with no other."""
    judged = {k for c in planner.candidates for k in c.nodes}
    for index in dict.fromkeys(m.node for m in misses if m.node not in judged and m.node in planner.grower.steps):
        profile = planner.profile_of(index)
        if isinstance(profile, Profile):
            node, part = planner.view.nodes[index], planner.estimate.part(profile.alone)
            times = (planner.estimate.measured_us(node),)
            yield Candidate("", (index,), (node.label,), part, ((node.label, part),), times)


def _told(planner: Planner, index: int, miss: Miss, costs: Mapping[int, Totals]) -> NearMiss:
    """The miss with what its node costs, an idiom's last node standing for all of them."""
    node = planner.view.nodes[index]
    step = planner.grower.steps.get(index)
    nodes = step.nodes if step is not None and step.index == index else (node,)
    cost = sum((costs[n.index] for n in nodes if n.index in costs), Totals())
    return NearMiss("", index, node.label, node.op, miss, cost)


def _reason(planner: Planner, step: Step) -> Miss:
    """Its own reason, the verdict of the region that it was in, or why no region took it."""
    profile = planner.grower.profile(step)
    if isinstance(profile, Miss):
        return profile
    if step.index in planner.reasons:
        return planner.reasons[step.index]
    if profile.trait.turns and not planner.movement:
        text = f"rule {MOVEMENT} was not chosen, which fuses Transposes that no product takes"
        return planner.beyond.get(step.index, Miss("rule-ignored", text, step.index, {"rule": MOVEMENT}, MOVEMENT))
    if profile.trait.joins is not None:
        rank = len(planner.view.type_of(step.outputs[0]).shape or ())
        return planner.beyond.get(step.index, not_along(step, profile.trait, rank))
    if step.index in planner.grower.free:
        return planner.alone(step, planner.grower.grow(step))
    return Miss("nothing-to-join", "no region took it", step.index, {"neighbour": "", "why": "none"})
