"""The report of `optimize`: what a plan fuses, what it leaves and why, what it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ascend_fuse.graph.size import OTHER
from ascend_fuse.measurement import CPU
from ascend_fuse.plan import Cleanup, NearMiss, Plan, Region, Totals, to_json
from ascend_fuse.program.text import parse_program
from ascend_fuse.reason import CODES
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Page, Section, Table

ESTIMATE = (
    "Times are estimates of the cost model for this chip, not measurements; "
    "bytes count each launch reading its inputs and writing its outputs once."
)
MEASURED = (
    "Times that are not measured are estimates of the cost model for this chip, those of fused nodes always; "
    "bytes count each launch reading its inputs and writing its outputs once."
)
COSTLIEST = 5


def located(graph: str, name: str) -> str:
    """A name with the subgraph or function that it is in: `If_3.then_branch: Add_7`."""
    return f"{graph}: {name}" if graph else name


def context(plan: Plan) -> tuple[str, ...]:
    """What the figures rest on: model, chip, sizes."""
    lines = [f"{quantity.counted(plan.nodes, 'node')}, opset {plan.opset}, planned for {plan.soc}."]
    if plan.dims:
        sizes = ", ".join(
            f"{name}={size}{' (assumed)' if name in plan.assumed_dims else ''}" for name, size in plan.dims.items()
        )
        lines.append(f"Sizes: {sizes}.")
    if plan.assumed_dims:
        lines.append("Assumed sizes decide verdicts and tilings; give the real ones with --dim name=n.")
    if plan.undeclared_dims:
        lines.append(f"{quantity.counted(plan.undeclared_dims, 'size')} that no input declares: assumed {OTHER}.")
    lines.append(f"Bounds: {quantity.figures(plan.bounds)}.")
    if plan.profile_source:
        before, after = _measured(plan.totals_before), _measured(plan.totals_after)
        whose = " (not this chip)" if CPU in plan.profile_source else ""
        lines.append(f"Measured by {plan.profile_source}{whose}: {before} before, {after} after.")
    lines.append(MEASURED if plan.profile_source else ESTIMATE)
    return tuple(lines)


def _measured(t: Totals) -> str:
    part = quantity.portion(t.measured_us / t.time_us) if t.time_us else "none"
    return f"{quantity.count(t.measured)} of {quantity.counted(t.launches, 'launch', 'es')} and {part} of the time"


def summary(plan: Plan) -> Section:
    """The whole model before and after."""
    before, after = plan.totals_before, plan.totals_after
    saved = before - after
    rows = (
        ("launches", quantity.count(before.launches), quantity.count(after.launches),
         quantity.share(saved.launches, before.launches)),
        ("HBM traffic", quantity.size(before.hbm_bytes), quantity.size(after.hbm_bytes),
         quantity.share(saved.hbm_bytes, before.hbm_bytes)),
        ("time, partly measured" if plan.profile_source else "estimated time", quantity.time(before.time_us),
         quantity.time(after.time_us), quantity.share(saved.time_us, before.time_us)),
    )  # fmt: skip
    table = Table(("", "before", "after", "change"), rows, frozenset({"before", "after", "change"}))
    return Section("Summary", context(plan), table)


def rules(plan: Plan) -> Section:
    """What each rule saves."""
    counts = plan.counts()
    rows = tuple(
        (code, plan.rule_names.get(code, ""), quantity.count(counts[code]), quantity.count(t.launches),
         quantity.size(t.hbm_bytes), quantity.time(t.time_us))
        for code, t in plan.by_rule().items()
    )  # fmt: skip
    columns = ("rule", "name", "fusions", "launches saved", "HBM saved", "estimated time saved")
    lines = ("What cleanups save is in the summary alone.",) if plan.cleanups else ()
    return Section("Rules", lines, Table(columns, rows, frozenset(columns[2:])))


def _fusion(number: int, regions: Sequence[Region], profiled: bool) -> tuple[str, ...]:
    first = regions[0]
    before = sum((r.figures.before for r in regions), Totals())
    after = sum(r.figures.after.time_us for r in regions)
    return (
        str(number), quantity.count(len(regions)), located(first.graph, first.label), ", ".join(first.rules),
        first.family,
        quantity.count(len(first.nodes)), quantity.time(before.time_us - after),
        quantity.portion(first.figures.assumed_share), *([quantity.measured(before)] if profiled else []),
    )  # fmt: skip


def groups(regions: Sequence[Region]) -> list[list[Region]]:
    """The fusions that share a body (op type), rules and chip figures, in the order of the first."""
    found: dict[tuple[object, ...], list[Region]] = {}
    for r in regions:
        found.setdefault((r.graph, r.op_type, r.label, r.rules), []).append(r)
    return list(found.values())


def fusions(plan: Plan) -> Section:
    """Every fusion, equal ones in one row."""
    found = groups(plan.regions)
    if not found:
        return Section("Fusions", ("Nothing is fused.",))
    profiled = bool(plan.profile_source)
    rows = tuple(_fusion(number, g, profiled) for number, g in enumerate(found, start=1))
    columns = ("#", "count", "fusion", "rules", "family", "nodes", "estimated gain", "assumed")
    line = (
        "nodes: of one fusion; estimated gain: of all in the row; assumed: share of the estimate that rests "
        "on assumed figures"
    )
    line += "; measured: launches before, and their share of the time before." if profiled else "."
    columns += ("measured",) if profiled else ()
    numeric = frozenset({"#", "count", "nodes", "estimated gain", "assumed", "measured"})
    return Section("Fusions", (line,), Table(columns, rows, numeric))


def fused_nodes(plan: Plan) -> Section:
    """Each fused node by its name in the output model, with the first and last of the nodes that it replaces."""

    def row(number: int, r: Region) -> tuple[str, ...]:
        first, last = (r.names[0], r.names[-1]) if r.names else ("", "")
        return str(number), *(located(r.graph, name) for name in (r.name, first, last))

    rows = tuple(row(number, r) for number, g in enumerate(groups(plan.regions), start=1) for r in g)
    columns = ("#", "fused node", "first source node", "last source node")
    line = "#: the row of Fusions. The JSON report lists all source nodes."
    return Section("Fused nodes", (line,), Table(columns, rows, frozenset({"#"})))


def programs(plan: Plan) -> Section:
    """What the nodes of each row of Fusions compute, and how they read and write."""
    found = [g[0] for g in groups(plan.regions)]
    rows = tuple((str(number), *_computed(r.program)) for number, r in enumerate(found, start=1))
    line = "#: the row of Fusions. Strides: Transposes, views and Expands that became a way to load or to store."
    return Section("Programs", (line,), Table(("#", "computes", "strides"), rows, frozenset({"#"})))


def _computed(text: str) -> tuple[str, str]:
    program = parse_program(text)
    counts = Counter(i.op for i in program.instrs)
    ops = ", ".join(f"{n} {op}" if n > 1 else op for op, n in counts.items())
    loads = [i.side or "input" for i in program.inputs if i.order]
    moved = [f"reads {' and '.join(dict.fromkeys(loads))}"] if loads else []
    moved += ["writes"] if any(o.order for o in program.outputs) else []
    moved += ["writes behind a cache"] if any(o.join for o in program.outputs) else []
    return ops, ", ".join(moved)


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
    table = Table(columns, rows, frozenset({"nodes", "estimated time"}))
    line = (
        "A node with several reasons counts for each. `ascend-fuse explain` lists every node, and what to do about a "
        "reason."
    )
    return Section("Not fused", (line,), table)


def costliest(plan: Plan) -> Section:
    """Where to look next: the nodes left that take the longest, with why they were left."""
    first: dict[tuple[str, int], NearMiss] = {}
    for m in plan.misses:
        first.setdefault((m.graph, m.node), m)
    found = sorted(first.values(), key=lambda m: (-m.cost.time_us, m.graph, m.node))[:COSTLIEST]
    rows = tuple(
        (located(m.graph, m.name), m.op, quantity.count(m.cost.launches),
         quantity.spent(m.cost),
         f"{m.miss.code}: {m.miss.message}")
        for m in found
    )  # fmt: skip
    columns = ("node", "operator", "launches", "estimated time", "reason")
    line = "The last node of an idiom stands for all of its nodes."
    table = Table(columns, rows, frozenset({"launches", "estimated time"}))
    return Section("Most expensive of what is left", (line,), table)


def cleanups(plan: Plan) -> Section:
    """Changes beside fusion, by rule."""
    found: dict[str, list[Cleanup]] = {}
    for c in plan.cleanups:
        found.setdefault(c.rule, []).append(c)
    rows = tuple(
        (code, plan.rule_names.get(code, ""), quantity.count(len(found[code])), _cleaned(found[code][0]))
        for code in sorted(found)
    )
    line = "A report as Markdown, HTML or JSON lists each of them."
    return Section("Cleanups", (line,), Table(("rule", "name", "count", "for example"), rows, frozenset({"count"})))


def _cleaned(c: Cleanup) -> str:
    return f"{located(c.graph, c.node)}: {c.what}"


def each_cleanup(plan: Plan) -> Section:
    """Every change beside fusion."""
    rows = tuple((c.rule, located(c.graph, c.node), c.what) for c in plan.cleanups)
    return Section("Each cleanup", (), Table(("rule", "node", "what"), rows), in_text=False)


def _unchanged(plan: Plan, notes: Sequence[str]) -> Section:
    """A model that was fused before: nothing was estimated, so there is nothing to compare."""
    nodes = quantity.counted(plan.nodes, "node")
    launches = quantity.counted(plan.totals_before.launches, "launch", "es")
    context = f"{nodes}, {launches}, opset {plan.opset}, planned for {plan.soc}."
    return Section("", (*notes, context))


def _sections(plan: Plan, notes: Sequence[str]) -> list[Section]:
    found = [summary(plan)]
    if plan.regions:
        found.append(rules(plan))
    found.append(fusions(plan))
    if plan.regions:
        found += [programs(plan), fused_nodes(plan)]
    found.append(misses(plan))
    if plan.misses:
        found.append(costliest(plan))
    if plan.cleanups:
        found += [cleanups(plan), each_cleanup(plan)]
    if notes:
        found.append(Section("Notes", tuple(notes)))
    return found


def fusion_page(
    plan: Plan, notes: Sequence[str] = (), verification: Mapping[str, object] | None = None, name: str = ""
) -> Page:
    """The report of one run; `verification` is what was found when both models ran, as plain data; `name`: of the
    model that was written.
    """
    sections = [_unchanged(plan, notes)] if plan.already_fused else _sections(plan, notes)
    document = {**to_json(plan), "notes": list(notes), "verification": verification}
    return Page(f"ascend-fuse: fusion report{name and f', {name}'}", tuple(sections), document)
