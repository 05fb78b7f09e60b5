"""Building the regions of a saved plan again, each whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ascend_fuse.reason import Miss
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step
from ascend_fuse.seed import precedence, seed_of

if TYPE_CHECKING:
    from ascend_fuse.planning import Planner


def take(planner: Planner, nodes: frozenset[int]) -> None:
    """Build and judge one region of a saved plan: grown as always, with nothing else free to join."""
    wanted = list(dict.fromkeys(planner.grower.steps[n] for n in sorted(nodes) if n in planner.grower.steps))
    free = planner.grower.free
    if not free.issuperset(nodes) or any(n.index not in nodes for s in wanted for n in s.nodes):
        _lack(planner, wanted, {}, "a node of it is in no step or in another region")
        return
    failed: tuple[Mapping[int, Miss], str] | None = None
    for seed in _seeds(planner, wanted, nodes):
        planner.grower.free = set(nodes)
        growth = planner.grower.grow(seed, wanted)
        closed = planner.grower.close(growth.steps, growth.refused)
        planner.grower.free = free
        if not isinstance(closed, Miss) and len(closed[0]) == len(wanted):
            planner.judge(*closed, ignored=False)
            return
        failed = failed or (growth.refused, closed.message if isinstance(closed, Miss) else "")
    if failed is not None:  # else each step has its own reason
        _lack(planner, wanted, *failed)


def _seeds(planner: Planner, steps: Sequence[Step], nodes: frozenset[int]) -> list[Step]:
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
