"""Whether a plan keeps to the gates that are numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ascend_fuse.config import Gates
from ascend_fuse.growth import Growth
from ascend_fuse.plan import NearMiss, Plan

# Reasons of nodes that no kernel of ours runs in any company: what surrounds them does not matter.
BEYOND = frozenset({"own-kernel", "op-unsupported", "dtype-unsupported", "quantised", "function-opset", "not-provable"})
NAMED = 3  # nodes that a gate which fails names


@dataclass(frozen=True, slots=True)
class Judgement:
    """One gate and one model: what is asked, what is there; `message` says both."""

    gate: str
    limit: float | str
    value: float
    ok: bool
    message: str


def unfused(plan: Plan) -> int:
    """Launches that stay although a kernel of ours could run them, as the plan lists them: each node once.

    A node with any reason of `BEYOND` is not among them.
    """
    return sum(m.cost.launches for m in _left(plan))


def _left(plan: Plan) -> list[NearMiss]:
    beyond = {(m.graph, m.node) for m in plan.misses if m.miss.code in BEYOND}
    found = {(m.graph, m.node): m for m in plan.misses if m.cost.launches}
    return [m for place, m in found.items() if place not in beyond]


def _first(plan: Plan) -> str:
    """The first nodes of those launches, and how many nodes more."""
    names = [f"{m.graph}: {m.name}" if m.graph else m.name for m in _left(plan)]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f": {', '.join(names[:NAMED])}{more}"


def gain_percent(plan: Plan) -> float:
    """What fusion and cleanups save of the whole model's estimated time; 0 for a model that takes none."""
    before, after = plan.totals_before.time_us, plan.totals_after.time_us
    return 100 * (1 - after / before) if before else 0.0


def judge(gates: Gates, plan: Plan, growth: Growth) -> Iterator[Judgement]:
    """A judgement for each of the gates that is a number and is set."""
    fusions, launches = len(plan.regions), plan.totals_after.launches
    if (least := gates.min_fusions) is not None:
        yield _counted("min-fusions", least, fusions, "fusion", fusions >= least)
    if (most := gates.max_launches) is not None:
        yield _counted("max-launches", most, launches, "launch", launches <= most)
    if (most := gates.max_unfused) is not None:
        left = unfused(plan)
        judged = _counted("max-unfused", most, left, "unfused launch", left <= most)
        yield judged if judged.ok else replace(judged, message=judged.message + _first(plan))
    if (share := gates.max_growth) is not None:
        by, sizes = growth.percent, f"{growth.before_bytes:,} to {growth.after_bytes:,} bytes"
        yield _percent("max-growth", share, by, f"grows by {by:.4g} %, from {sizes}", by <= share)
    if (share := gates.min_gain) is not None:
        by = gain_percent(plan)
        times = f"{plan.totals_before.time_us:,.1f} to {plan.totals_after.time_us:,.1f} µs"
        yield _percent("min-gain", share, by, f"gains {by:.4g} % of the estimated time, from {times}", by >= share)


def _counted(gate: str, limit: int, value: int, noun: str, ok: bool) -> Judgement:
    plural = "" if value == 1 else "es" if noun.endswith("ch") else "s"
    return Judgement(gate, limit, value, ok, f"{value:,} {noun}{plural}, {_bound(gate)} {limit:,}")


def _percent(gate: str, limit: float, value: float, told: str, ok: bool) -> Judgement:
    return Judgement(gate, limit, value, ok, f"{told}, {_bound(gate)} {limit:g} %")


def _bound(gate: str) -> str:
    return "wanted at least" if gate.startswith("min") else "wanted at most"
