"""Building regions of known nodes, each whole or not at all: those of a saved plan, and two that share a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ascend_fuse.plan import Plan
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Built
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step
from ascend_fuse.seed import precedence, seed_of

if TYPE_CHECKING:
    from ascend_fuse.planning import Planner


def wanted(plan: Plan, path: str, positions: Sequence[int]) -> dict[frozenset[int], str]:
    """The nodes of the plan's regions in a scope, as they are counted after the cleanup, with their programs."""
    now = {old: k for k, old in enumerate(positions)}
    return {frozenset(now[n] for n in r.nodes if n in now): r.program for r in plan.regions if r.graph == path}


def take(planner: Planner, nodes: frozenset[int], program: str) -> None:
    """Build and judge one region of a saved plan, which has that program."""
    steps = list(dict.fromkeys(planner.grower.steps[n] for n in sorted(nodes) if n in planner.grower.steps))
    if not planner.grower.free.issuperset(nodes) or any(n.index not in nodes for s in steps for n in s.nodes):
        _lack(planner, steps, {}, "a node of it is in no step or in another region")
        return
    refused: dict[int, Miss] = {}
    closed = whole(planner, steps, refused, len(steps), program)
    if isinstance(closed, Miss):
        _lack(planner, steps, refused, closed.message)
    else:
        planner.judge(*closed, ignored=False)


def whole(
    planner: Planner, steps: Sequence[Step], refused: dict[int, Miss], tries: int, program: str = ""
) -> tuple[list[Step], Built] | Miss:
    """The steps, which are in no region, as one program: grown as always, with nothing else free to join.

    So many seeds are tried; where none reaches all steps, `refused` gets the reasons of the first. Seeds may lead to
    programs that differ in axes of size 1: the first that gives `program`, else the first of all.
    """
    grower = planner.grower
    nodes = {n.index for s in steps for n in s.nodes}
    found: tuple[list[Step], Built] | None = None
    failed: Miss | None = None
    free, grower.free = grower.free, nodes
    turning, grower.turning = grower.turning, True
    for seed in _seeds(planner, steps, nodes)[:tries]:
        growth = grower.grow(seed, steps)
        closed = grower.close(growth.steps, growth.refused)
        if not isinstance(closed, Miss) and len(closed[0]) == len(steps):
            found = found or closed
            if program in ("", planner.estimate.part(closed[1])[0]):
                found = closed
                break
        elif failed is None:
            refused |= growth.refused
            failed = closed if isinstance(closed, Miss) else Miss("nothing-to-join", "")
    grower.free, grower.turning = free, turning
    return found or failed or Miss("nothing-to-join", "")


def _seeds(planner: Planner, steps: Sequence[Step], nodes: set[int]) -> list[Step]:
    """Where planning may have begun: at the product, else at an anchor or, where that reached not all, any step."""
    anchors = [seed_of(m, planner.view, planner.grower) for m in sorted(planner.inside(nodes), key=precedence)]
    products = [s for s in steps if planner.is_product(s)]
    found = dict.fromkeys(products or [*anchors, *steps])
    return [s for s in found if isinstance(planner.grower.profile(s), Profile)]


def _lack(planner: Planner, steps: Sequence[Step], refused: Mapping[int, Miss], why: str) -> None:
    """Each step of a region that cannot be built gets its own reason or that of the first that has one."""
    index, miss = min(refused.items(), default=(-1, Miss("nothing-to-join", why)))
    label = planner.view.nodes[index].label if index >= 0 else ""
    text = f"its region of the plan cannot be built: {label and label + ': '}{miss.message}"
    for step in steps:
        other = Miss("nothing-to-join", text, step.index, {"neighbour": label, "why": miss.code})
        planner.reasons.setdefault(step.index, refused.get(step.index, other))
