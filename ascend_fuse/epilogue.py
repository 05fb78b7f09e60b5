"""What follows a product joins it where the estimate of all that is beside it becomes less (docs/design/0007).

Of what may follow it, a product takes the part whose estimate together with the rest's is least. A region of rows that
was grown before gives its part only where that saves the minimal gain: both have equally many launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as pairs
from typing import TYPE_CHECKING

from ascend_fuse.reason import Figure, Miss
from ascend_fuse.region.build import Built
from ascend_fuse.region.grow import Growth
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step, order
from ascend_fuse.verdict import Judged

if TYPE_CHECKING:
    from ascend_fuse.planning import Planner

MAX_CUTS = 16  # ends of an epilogue that are compared, the longest first


@dataclass(frozen=True, slots=True)
class Cut:
    """A product with a part of what follows it, the steps that stay outside, and the estimate of both."""

    steps: list[Step]
    built: Built
    verdict: Judged
    rest: list[Step]
    total_us: float


def attach(planner: Planner, product: Step) -> None:
    """Choose the product's region among the free steps, or say why there is none."""
    grower = planner.grower
    if not grower.free.issuperset(n.index for n in product.nodes):
        return
    profile = grower.profile(product)
    if isinstance(profile, Miss):
        planner.reasons[product.index] = profile
        return
    growth = grower.grow(product)
    assert growth.epilogue is not None
    operands = growth.epilogue.before
    followers = [s for s in growth.steps if s is not product and s not in operands]
    without_us = own_us(planner, [product, *operands]) + price(planner, followers)
    cut, miss = best(planner, product, growth, followers)
    for index, refused in growth.refused.items():
        moved = turns(planner, grower.steps[index]) and refused.figures  # without figures it is only not free
        if refused.code not in ("nothing-to-join", "own-kernel") or moved:
            planner.beyond.setdefault(index, refused)
    if cut is not None and cut.total_us < without_us:
        planner.choose(cut.steps, cut.built, cut.verdict)
        return
    if cut is not None:
        miss = dearer(without_us, cut.total_us, f"what follows {product.label} costs less as a launch of its own")
    if miss is None:
        miss = planner.alone(product, growth)
    planner.reasons.setdefault(product.index, Miss(miss.code, miss.message, product.index, miss.figures))
    for step in (*operands, *followers):
        planner.beyond.setdefault(step.index, Miss(miss.code, miss.message, step.index, miss.figures))


def take_from_row(planner: Planner, steps: Sequence[Step], whole_us: float) -> bool:
    """Whether a product before a region of rows takes a part of it; then that is chosen, and the rest if it pays."""
    found: list[tuple[float, int, Cut]] = []
    for product in _before(planner, steps):
        own = own_us(planner, [product])
        growth = _within(planner, product, steps)
        cut, miss = best(planner, product, growth, steps)
        if cut is None:
            border = miss or planner.alone(product, growth)
            planner.reasons.setdefault(product.index, Miss(border.code, border.message, product.index, border.figures))
            continue
        limits, before = planner.engine.limits, whole_us + own
        if before - cut.total_us >= max(limits.min_gain * before, limits.min_gain_us):
            found.append((cut.total_us - before, product.index, cut))
        else:
            gain = before - cut.total_us
            text = (
                f"what follows {product.label} stays in the region of {order(steps)[-1].label}: {before:.2f} us both, "
                f"{cut.total_us:.2f} us if it moved, which {'saves too little' if gain > 0 else 'costs more'}"
            )
            miss = dearer(before, cut.total_us, text)
            planner.reasons.setdefault(product.index, Miss(miss.code, miss.message, product.index, miss.figures))
    if not found:
        return False
    cut = min(found, key=lambda item: item[:2])[2]
    planner.choose(cut.steps, cut.built, cut.verdict)
    if planner.launched(cut.rest) > 1:
        closed = planner.grower.close(cut.rest, {})
        if not isinstance(closed, Miss):
            planner.judge(*closed, ignored=False)
    return True


def best(
    planner: Planner, product: Step, growth: Growth, around: Sequence[Step]
) -> tuple[Cut, None] | tuple[None, Miss | None]:
    """The cheapest part of the growth that pays, the longest of equals; else why the longest does not.

    `around`: the steps that would be launched beside the product without it.
    """
    assert growth.epilogue is not None
    behind = [s for s in order(growth.steps) if s is not product and not growth.epilogue.behind.isdisjoint(s.outputs)]
    operands = growth.epilogue.before
    found: Cut | None = None
    reason: Miss | None = None
    counts = range(len(behind), max(len(behind) - MAX_CUTS, -1), -1)
    for count, before in pairs(counts, (operands, ()) if operands else ((),)):
        steps = _with_own(planner, product, growth, behind[:count])
        closed = planner.grower.close([s for s in steps if s in before or s not in operands], {})
        if isinstance(closed, Miss):
            reason = reason or closed
            continue
        if planner.launched(closed[0]) < 2:
            continue
        steps, built = closed
        rest = [s for s in around if s not in steps and s not in operands]
        if _feeds(planner, rest, steps):
            continue
        verdict = planner.verdict(steps, built)
        if isinstance(verdict, Miss):
            reason = reason or verdict
            continue
        left = [s for s in operands if s not in steps]
        total = verdict.after_us + own_us(planner, left) + price(planner, rest)
        if found is None or total < found.total_us:
            found = Cut(steps, built, verdict, rest, total)
    return (None, reason) if found is None else (found, None)


def price(planner: Planner, steps: Sequence[Step]) -> float:
    """The estimate of steps as one region where that can be built and pays, else of each by itself, µs."""
    joinable = [s for s in steps if not turns(planner, s)]
    if planner.launched(joinable) > 1:
        closed = planner.grower.close(joinable, {})
        if not isinstance(closed, Miss):
            verdict = planner.verdict(*closed)
            if isinstance(verdict, Judged):
                return verdict.after_us + own_us(planner, [s for s in steps if s not in closed[0]])
    return own_us(planner, steps)


def turns(planner: Planner, step: Step) -> bool:
    """Whether the step is a Transpose, which no region but a product's holds."""
    profile = planner.grower.profile(step)
    return isinstance(profile, Profile) and bool(profile.trait.turns)


def own_us(planner: Planner, steps: Sequence[Step]) -> float:
    """The estimate of each launched node by itself, µs."""
    nodes = [n for s in steps for n in s.nodes if planner.launches[n.index]]
    return sum(planner.cost(n.index).time_us for n in nodes)


def dearer(before_us: float, after_us: float, text: str) -> Miss:
    """The Miss of what would cost more, or too little less, than it does."""
    figures: dict[str, Figure] = {
        "before_us": round(before_us, 3), "after_us": round(after_us, 3), "gain_us": round(before_us - after_us, 3)
    }  # fmt: skip
    return Miss("no-gain", text, -1, figures)


def _before(planner: Planner, steps: Sequence[Step]) -> list[Step]:
    """Free products that the steps read, directly or through views, in the order of the list."""
    grower, inside = planner.grower, {n.index for s in steps for n in s.nodes}
    found: dict[int, Step] = {}
    stack = [k for i in sorted(inside) for k in grower.reach.before[i] if k not in inside]
    seen: set[int] = set()
    while stack:
        index = stack.pop()
        step = grower.steps.get(index)
        if index in seen or step is None or index not in grower.free:
            continue
        seen.add(index)
        profile = grower.profile(step)
        if isinstance(profile, Profile) and profile.trait.product:
            found[step.index] = step
        elif isinstance(profile, Profile) and profile.trait.view:
            stack += grower.reach.before[index]
    return [found[k] for k in sorted(found)]


def _within(planner: Planner, product: Step, steps: Sequence[Step]) -> Growth:
    """The product's growth into the steps, and the views between."""
    grower = planner.grower
    free = grower.free
    inside = {n.index for s in (product, *steps) for n in s.nodes}
    stack = list(grower.reach.after[product.index])
    while stack:
        index = stack.pop()
        profile = grower.profile(grower.steps[index]) if index in free and index not in inside else None
        if isinstance(profile, Profile) and profile.trait.view:
            inside.add(index)
            stack += grower.reach.after[index]
    grower.free = inside
    growth = grower.grow(product)
    grower.free = free
    return growth


def _with_own(planner: Planner, product: Step, growth: Growth, behind: Sequence[Step]) -> list[Step]:
    """The product, the steps behind it, and those beside whose every reader is among them; as they joined."""
    kept = {product.index, *(n.index for s in behind for n in s.nodes)}
    for step in reversed(order(growth.steps)):
        readers = {k for o in step.outputs for k in planner.view.readers(o)}
        if (
            step.index < max(kept)
            and readers
            and readers <= kept
            and not any(map(planner.view.is_output, step.outputs))
        ):
            kept |= {n.index for n in step.nodes}
    return [s for s in growth.steps if s.index in kept]


def _feeds(planner: Planner, rest: Sequence[Step], steps: Sequence[Step]) -> bool:
    """Whether a launch of the rest is read by the region, which would then wait for it; views are no launches."""
    outside, before = {n.index for s in rest for n in s.nodes}, planner.grower.reach.before
    stack = [k for s in steps for n in s.nodes for k in before[n.index]]
    seen: set[int] = set()
    while stack:
        index = stack.pop()
        if index not in outside or index in seen:
            continue
        if planner.launches[index]:
            return True
        seen.add(index)
        stack += before[index]
    return False
