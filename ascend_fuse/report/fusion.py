"""The report of `optimize`: what a plan fuses, what it leaves and why, what it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_fuse.graph.size import OTHER
from ascend_fuse.measurement import CPU
from ascend_fuse.plan import Cleanup, Plan, Region, Totals, to_json
from ascend_fuse.program.text import parse_program
from ascend_fuse.report import quantity
from ascend_fuse.report.block import blocks_section
from ascend_fuse.report.candidate import alike, candidate
from ascend_fuse.report.drawing import drawing_json
from ascend_fuse.report.miss import costliest, misses
from ascend_fuse.report.page import Kind, Page, Section, Shown, Table, located
from ascend_fuse.report.roofline import points, roofline_section

if TYPE_CHECKING:
    from ascend_fuse.task import Drawing

ESTIMATE = (
    "Times are estimates of the cost model for this chip, not measurements; "
    "bytes count each launch reading its inputs and writing its outputs once."
)
MEASURED = (
    "Times that are not measured are estimates of the cost model for this chip, those of fused nodes always; "
    "bytes count each launch reading its inputs and writing its outputs once."
)


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
    pairs = ((before.launches, after.launches), (before.hbm_bytes, after.hbm_bytes), (before.time_us, after.time_us))
    bars = tuple((1.0, a / b if b else 1.0) for b, a in pairs)  # each on a scale of its own
    table = Table(("", "before", "after", "change"), rows, frozenset({"before", "after", "change"}), bars=bars)
    return Section("Summary", context(plan), table)


def rules(plan: Plan) -> Section:
    """What each rule saves."""
    counts = plan.counts()
    saved = plan.by_rule()
    further = Counter(code for r in plan.regions for code in r.rules[1:] if code not in saved)
    codes = (*saved, *sorted(further))
    rows = (
        *((code, plan.rule_names.get(code, ""), quantity.count(counts[code]), *_saved(t)) for code, t in saved.items()),
        *((code, plan.rule_names.get(code, ""), f"({quantity.count(further[code])})", "", "", "")
          for code in codes[len(saved):]),
    )  # fmt: skip
    columns = ("rule", "name", "fusions", "launches saved", "HBM saved", "estimated time saved")
    lines = ("What cleanups save is in the summary alone.",) if plan.cleanups else ()
    if further:
        lines += ("In brackets: fusions of the rules above that the rule has a part in; their savings are there.",)
    bars = tuple(_times([r for r in plan.regions if r.rules[0] == code]) for code in codes)
    total = ("total", "", quantity.count(len(plan.regions)), *_saved(sum(saved.values(), Totals())))
    shows = tuple(Shown(code, kind=Kind.RULE) for code in codes)
    return Section("Rules", lines, Table(columns, rows, frozenset(columns[2:]), shows, bars, total))


def _saved(t: Totals) -> tuple[str, str, str]:
    return quantity.count(t.launches), quantity.size(t.hbm_bytes), quantity.time(t.time_us)


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
    columns = ("#", "count", "fusion", "rules", "family", "nodes", "estimated gain", "assumed figures")
    line = (
        "nodes: of one fusion; estimated gain: of all in the row; assumed figures: share of the estimate that rests on "
        "figures of the chip for which nothing is published, marked in the engine's tables; not the sizes"
    )
    line += "; measured: launches before, and their share of the time before." if profiled else "."
    columns += ("measured",) if profiled else ()
    numeric = frozenset({"#", "count", "nodes", "estimated gain", "assumed figures", "measured"})
    table = Table(columns, rows, numeric, _numbered(len(found)), tuple(map(_times, found)))
    each = tuple(_gaining(candidate(k, a), a[0]) for k, g in enumerate(found, start=1) for a in alike(g))
    return Section("Fusions", (line,), table, folded=each)


def _numbered(count: int) -> tuple[Shown, ...]:
    return tuple(Shown(str(number), kind=Kind.ROW) for number in range(1, count + 1))


def _gaining(section: Section, r: Region) -> Section:
    """With what one of them gains: it tells those apart that differ in sizes."""
    gain = r.figures.before.time_us - r.figures.after.time_us
    return replace(section, title=f"{section.title}, {quantity.time(gain)} gained by one")


def _times(regions: Sequence[Region]) -> tuple[float, float]:
    return sum(r.figures.before.time_us for r in regions), sum(r.figures.after.time_us for r in regions)


def fused_nodes(plan: Plan) -> Section:
    """Each fused node by its name in the output model, with the first and last of the nodes that it replaces."""

    def row(number: int, r: Region) -> tuple[str, ...]:
        first, last = (r.names[0], r.names[-1]) if r.names else ("", "")
        before, after = _times([r])
        names = (located(r.graph, name) for name in (r.name, first, last))
        return str(number), *names, f"{before:,.1f} → {quantity.time(after)}"

    found = groups(plan.regions)
    rows = tuple(row(number, r) for number, g in enumerate(found, start=1) for r in g)
    columns = ("#", "fused node", "first source node", "last source node", "estimated time")
    line, more = "#: the row of Fusions.", "The JSON report lists all source nodes."
    shows = tuple(Shown(r.name, r.graph) for g in found for r in g)
    bars = tuple(_times([r]) for g in found for r in g)
    table = Table(columns, rows, frozenset({"#", "estimated time"}), shows, bars)
    return Section("Fused nodes", (line,), table, elsewhere=(more,))


def programs(plan: Plan) -> Section:
    """What the nodes of each row of Fusions compute, and how they read and write."""
    found = [g[0] for g in groups(plan.regions)]
    rows = tuple((str(number), *_computed(r.program)) for number, r in enumerate(found, start=1))
    line = "#: the row of Fusions. Strides: Transposes, views and Expands that became a way to load or to store."
    table = Table(("#", "computes", "strides"), rows, frozenset({"#"}), _numbered(len(found)))
    return Section("Programs", (line,), table)


def _computed(text: str) -> tuple[str, str]:
    program = parse_program(text)
    counts = Counter(i.op for i in program.instrs)
    ops = ", ".join(f"{n} {op}" if n > 1 else op for op, n in counts.items())
    loads = [i.side or "input" for i in program.inputs if i.order]
    moved = [f"reads {' and '.join(dict.fromkeys(loads))}"] if loads else []
    moved += ["writes"] if any(o.order for o in program.outputs) else []
    moved += ["writes behind a cache"] if any(o.join for o in program.outputs) else []
    return ops, ", ".join(moved)


def cleanups(plan: Plan) -> Section:
    """Changes beside fusion, by rule."""
    found: dict[str, list[Cleanup]] = {}
    for c in plan.cleanups:
        found.setdefault(c.rule, []).append(c)
    rows = tuple(
        (code, plan.rule_names.get(code, ""), quantity.count(len(found[code])), _cleaned(found[code][0]))
        for code in sorted(found)
    )
    more = "A report as Markdown, HTML or JSON lists each of them."
    shows = tuple(Shown(code, kind=Kind.CLEANUP) for code in sorted(found))
    table = Table(("rule", "name", "count", "for example"), rows, frozenset({"count"}), shows)
    return Section("Cleanups", (), table, elsewhere=(more,))


def _cleaned(c: Cleanup) -> str:
    return f"{located(c.graph, c.node)}: {c.what}"


def each_cleanup(plan: Plan) -> Section:
    """Every change beside fusion."""
    rows = tuple((c.rule, located(c.graph, c.node), c.what) for c in plan.cleanups)
    shows = tuple(Shown(c.node, c.graph) for c in plan.cleanups)
    return Section("Each cleanup", (), Table(("rule", "node", "what"), rows, shows=shows), in_text=False)


def _unchanged(plan: Plan, notes: Sequence[str]) -> Section:
    """A model that was fused before: nothing was estimated, so there is nothing to compare."""
    nodes = quantity.counted(plan.nodes, "node")
    launches = quantity.counted(plan.totals_before.launches, "launch", "es")
    context = f"{nodes}, {launches}, opset {plan.opset}, planned for {plan.soc}."
    return Section("", (*notes, context))


def _sections(plan: Plan, notes: Sequence[str], drawing: Drawing | None) -> list[Section]:
    found = [summary(plan)]
    if drawing is not None:
        found.append(Section("Graph", drawn="graph"))
    if plan.regions:
        found.append(rules(plan))
    if drawing is not None:
        found.append(blocks_section(plan, drawing.before))
    found.append(fusions(plan))
    if plan.regions:
        found += [programs(plan), fused_nodes(plan)]
    if plan.regions and drawing is not None:
        found.append(roofline_section(points(groups(plan.regions)), drawing.roofs))
    found.append(misses(plan))
    if plan.misses:
        found.append(costliest(plan))
    if plan.cleanups:
        found += [cleanups(plan), each_cleanup(plan)]
    if notes:
        found.append(Section("Notes", tuple(notes)))
    return found


def fusion_page(
    plan: Plan,
    notes: Sequence[str] = (),
    verification: Mapping[str, object] | None = None,
    name: str = "",
    drawing: Drawing | None = None,
) -> Page:
    """The report of one run; `verification` is what was found when both models ran, as plain data; `name`: of the
    models that were read and written; `drawing`: the graphs, for pictures.
    """
    sections = [_unchanged(plan, notes)] if plan.already_fused else _sections(plan, notes, drawing)
    document = {**to_json(plan), "notes": list(notes), "verification": verification}
    drawn = None if drawing is None else drawing_json(plan, drawing, groups(plan.regions))
    return Page(f"ascend-fuse: fusion report{name and f', {name}'}", tuple(sections), document, drawing=drawn)
