"""Transposes that no product took: what is around each is planned again with Transposes in its regions.

They cancel, or become one movement with what is between them. What is cheapest by the estimate of all of it is kept
(docs/design/0009).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_fuse.choice import ALIKE_US, MAX_NODES, Found, Trial
from ascend_fuse.epilogue import dearer, own_us, turns
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Built
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait
from ascend_fuse.verdict import Judged

if TYPE_CHECKING:
    from ascend_fuse.planning import Chosen, Planner

MOVEMENT = "AF501"
ORDERS = (("rowwise", "elementwise", "transform"), ("elementwise", "rowwise", "transform"))


def move(planner: Planner) -> None:
    """Plan again around each Transpose that is launched by itself, in the order of the list."""
    kept = {c.nodes[0]: c for c in planner.chosen}
    planner.grower.turning = True
    seen: set[int] = set()
    for index in sorted(planner.grower.free):
        if index in seen or index not in planner.grower.free or not is_movement(planner, index):
            continue
        nodes, around = _window(planner, index, list(kept.values()))
        seen.update(k for k in nodes if k in planner.grower.steps)
        trial = Trial(planner, sorted(nodes), [kept.pop(c.nodes[0]) for c in around])
        founds = [trial.first, *(trial.plan(order) for order in ORDERS)]
        if rows := {k for k in nodes if _has_row(planner, k)}:
            founds.append(trial.plan(ORDERS[0], rows))
        least = min(f.total_us for f in founds) + ALIKE_US
        best = next(f for f in founds if f.total_us <= least)
        trial.keep(best)
        if best is trial.first:
            _tell(planner, nodes, founds[1])
        kept.update((c.nodes[0], c) for c in best.chosen)
    planner.chosen = list(kept.values())


def is_movement(planner: Planner, index: int) -> bool:
    """Whether the node is a Transpose that is launched and turns its operand."""
    step = planner.grower.steps.get(index)
    return step is not None and bool(planner.launches[index]) and turns(planner, step)


def moves(planner: Planner, steps: Sequence[Step]) -> bool:
    """Whether a Transpose is in a region without a product."""
    return any(is_movement(planner, s.index) for s in steps) and not any(map(planner.is_product, steps))


def _window(planner: Planner, index: int, chosen: Sequence[Chosen]) -> tuple[set[int], list[Chosen]]:
    """The steps and regions of vector families around a node, the nearest first."""
    region = {k: c for c in chosen if c.built.program.family != "matmul" for k in c.nodes}
    reach, nodes, found = planner.grower.reach, set[int](), dict[int, "Chosen"]()
    waiting = deque([index])
    while waiting and len(nodes) < MAX_NODES:
        k = waiting.popleft()
        if k in nodes:
            continue
        if k in region:
            found[region[k].nodes[0]] = region[k]
        elif k not in planner.grower.free or not _is_vector(planner, k):
            continue
        mine = region[k].nodes if k in region else tuple(n.index for n in planner.grower.steps[k].nodes)
        nodes.update(mine)
        waiting += (j for n in mine for j in (*reach.before[n], *reach.after[n]) if j not in nodes)
    return nodes, list(found.values())


def _trait(planner: Planner, index: int) -> Trait | None:
    step = planner.grower.steps.get(index)
    profile = planner.grower.profile(step) if step is not None else None
    return profile.trait if isinstance(profile, Profile) else None


def _is_vector(planner: Planner, index: int) -> bool:
    trait = _trait(planner, index)
    return trait is not None and not trait.product


def _has_row(planner: Planner, index: int) -> bool:
    trait = _trait(planner, index)
    return trait is not None and trait.row > 0


def _tell(planner: Planner, nodes: set[int], tried: Found) -> None:
    """Give what stays by itself the reasons of the attempt: the first plan knew regions without Transposes alone.

    What a product said of a Transpose beside it stands.
    """
    for k in nodes & planner.grower.free:
        why = tried.reasons.get(k) or tried.beyond.get(k)
        if why is not None and not (k in planner.beyond and is_movement(planner, k)):
            planner.reasons[k] = why


def cheaper(
    planner: Planner, steps: Sequence[Step], built: Built, refused: dict[int, Miss]
) -> tuple[Sequence[Step], Built]:
    """The region, or what it is without the Transposes at its border that keep a tensor turned, if that costs less.

    What is left out counts as launched by itself; its reason is added to `refused`.
    """
    found = steps, built
    if not turned(built):
        return found
    whole = least = _total_us(planner, steps, built, ())
    kept, now = list(steps), built
    while border := _border(planner, kept, now):
        left = [s for s in kept if s not in border]
        closed = planner.grower.close(left, {}) if left else None
        if not isinstance(closed, tuple):
            break
        kept, now = closed
        total = _total_us(planner, kept, now, [s for s in steps if s not in kept])
        if _us(total) < _us(least):
            least, found = total, (kept, now)
    if isinstance(least, float) and found[0] is not steps:
        text = f"what is around it costs less without it: {_us(whole):.2f} us together, {least:.2f} us apart"
        why = whole if isinstance(whole, Miss) else dearer(least, whole, text)
        refused |= {s.index: Miss(why.code, why.message, s.index, why.figures) for s in steps if s not in found[0]}
    return found


def turned(built: Built) -> frozenset[str]:
    """The inputs and outputs that lie in another order than the program's."""
    ins = (n for n, line in zip(built.inputs, built.program.inputs, strict=True) if line.order and not line.side)
    outs = (n for n, line in zip(built.outputs, built.program.outputs, strict=True) if line.order)
    return frozenset((*ins, *outs))


def _border(planner: Planner, steps: Sequence[Step], built: Built) -> list[Step]:
    """The Transposes that read or make a turned tensor, and nothing else in the region."""
    names = turned(built)
    made = {o for s in steps for o in s.outputs}
    read = {i for s in steps for i in s.inputs}
    return [
        s for s in steps
        if turns(planner, s)
        and (
            (s.node.inputs[0] in names and s.node.inputs[0] not in made)
            or (s.outputs[0] in names and s.outputs[0] not in read)
        )
    ]  # fmt: skip


def _total_us(planner: Planner, steps: Sequence[Step], built: Built, left: Sequence[Step]) -> float | Miss:
    """The estimate of the region and of what is left out of it, else why there is no such region."""
    if planner.launched(steps) < 2:
        return Miss("nothing-to-join", "nothing else is launched")
    verdict = planner.verdict(steps, built)
    return verdict.after_us + own_us(planner, left) if isinstance(verdict, Judged) else verdict


def _us(total: float | Miss) -> float:
    return float("inf") if isinstance(total, Miss) else total
