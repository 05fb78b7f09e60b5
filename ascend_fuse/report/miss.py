"""What is not fused: by reason, the most expensive, each with what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ascend_fuse.plan import NearMiss, Plan, Totals
from ascend_fuse.reason import CODES
from ascend_fuse.report import quantity
from ascend_fuse.report.advice import ADVICE
from ascend_fuse.report.page import Kind, Section, Shown, Table, located

COSTLIEST = 5


def _example(miss: NearMiss) -> str:
    where = located(miss.graph, miss.name)
    # the operator has a column of its own
    shown = quantity.figures({k: v for k, v in miss.miss.figures.items() if k != "op"})
    return f"{where} ({shown})" if shown else where


def _histogram(operators: Iterable[str]) -> str:
    return ", ".join(f"{op} {n}" for op, n in Counter(operators).most_common())


def _by_code(plan: Plan) -> Mapping[str, list[NearMiss]]:
    groups: dict[str, list[NearMiss]] = {}
    for m in plan.misses:
        groups.setdefault(m.miss.code, []).append(m)
    return dict(sorted(groups.items(), key=lambda pair: (-_time(pair[1]), -len(pair[1]), pair[0])))


def _time(found: Iterable[NearMiss]) -> float:
    """µs of the nodes, each counted once: one node may have a reason of its own and miss several idioms."""
    return sum({(m.graph, m.node): m.cost.time_us for m in found}.values())


def misses(plan: Plan) -> Section:
    """What is not fused, by reason, the most expensive first, with the operators, the first node and its figures."""
    reasons = _by_code(plan)
    if not reasons:
        return Section("Not fused", ("No node was refused.",))
    rows = tuple(
        (code, CODES[code], quantity.count(len(found)), quantity.time(_time(found)),
         _histogram(m.op for m in found), _example(found[0]))
        for code, found in reasons.items()
    )  # fmt: skip
    columns = ("reason", "meaning", "nodes", "estimated time", "operators", "for example")
    nodes = {(m.graph, m.node) for m in plan.misses}
    total = ("total", "each node once", quantity.count(len(nodes)), quantity.time(_time(plan.misses)), "", "")
    table = Table(columns, rows, frozenset({"nodes", "estimated time"}), _reasons(reasons), total=total)
    line = "A node with several reasons counts for each."
    more = "`ascend-fuse explain` lists every node, and what to do about a reason."
    each = tuple(_reason(code, found) for code, found in reasons.items())
    return Section("Not fused", (line,), table, folded=each, elsewhere=(more,))


def _reasons(codes: Iterable[str]) -> tuple[Shown, ...]:
    return tuple(Shown(code, kind=Kind.REASON) for code in codes)


def _reason(code: str, found: Sequence[NearMiss]) -> Section:
    """One reason in full: what to do, then each node."""
    whole = each_miss(sorted(found, key=lambda m: (-m.cost.time_us, m.graph, m.node)))
    nodes = quantity.counted(len(found), "node")
    return replace(whole, title=f"{code}: {nodes}, {quantity.time(_time(found))}", lines=(ADVICE[code], *whole.lines))


def costliest(plan: Plan) -> Section:
    """Where to look next: the nodes left that take the longest, equal ones as one, with why they were left."""
    first: dict[tuple[str, int], NearMiss] = {}
    for m in plan.misses:
        first.setdefault((m.graph, m.node), m)
    kinds: dict[tuple[object, ...], list[NearMiss]] = {}
    for m in first.values():
        kinds.setdefault((m.op, m.miss.code, m.cost.launches, round(m.cost.time_us, 3)), []).append(m)
    each = [(sum((m.cost for m in same), Totals()), same) for same in kinds.values()]
    each.sort(key=lambda pair: (-pair[0].time_us, pair[1][0].graph, pair[1][0].node))
    rows = tuple(
        (located(same[0].graph, same[0].name), same[0].op, quantity.count(len(same)), quantity.count(cost.launches),
         quantity.spent(cost), f"{same[0].miss.code}: {same[0].miss.message}")
        for cost, same in each[:COSTLIEST]
    )  # fmt: skip
    columns = ("first node", "operator", "count", "launches", "estimated time", "reason")
    line = (
        "Nodes of one operator, reason and time are one row, which names the first and adds them up. "
        "The last node of an idiom stands for all of its nodes."
    )
    found = [same[0] for _, same in each[:COSTLIEST]]
    shows = tuple(Shown(m.name, m.graph, Kind.ALIKE) for m in found)
    table = Table(columns, rows, frozenset({"count", "launches", "estimated time"}), shows)
    return Section("Most expensive of what is left", (line,), table, folded=(advice(found),) if found else ())


def each_miss(found: Sequence[NearMiss]) -> Section:
    """Each near miss with its figures."""
    rows = tuple(
        (located(m.graph, m.name), m.op, m.miss.code, m.miss.rule, m.miss.message, quantity.figures(m.miss.figures),
         quantity.spent(m.cost))
        for m in found
    )  # fmt: skip
    columns = ("node", "operator", "reason", "rule", "because", "figures", "estimated time")
    line = "A near miss of a rule names it; the last node of an idiom stands for all of its nodes."
    shows = tuple(Shown(m.name, m.graph) for m in found)
    return Section("Not fused", (line,), Table(columns, rows, frozenset({"estimated time"}), shows))


def advice(found: Sequence[NearMiss]) -> Section:
    """What the reasons mean, and what to do about each."""
    codes = dict.fromkeys(m.miss.code for m in found)
    rows = tuple((code, CODES[code], ADVICE[code]) for code in codes)
    return Section("What to do", (), Table(("reason", "meaning", "what to do"), rows, shows=_reasons(codes)))
