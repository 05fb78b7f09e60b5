"""The report of `bisect`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ascend_fuse.plan import cleanup_json, region_json
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.bisection import Bisection, Blamed
    from ascend_fuse.plan import Region
    from ascend_fuse.search import Answer

SCHEMA = "ascend-fuse/bisect/1"
SHOWN = 40  # nodes of a region that are listed


def bisection_json(b: Bisection) -> dict[str, object]:
    """The search as `ascend-fuse/bisect/1`."""
    ignoring = b.ignoring
    return {
        "schema": SCHEMA,
        "model": b.model,
        "soc": b.plan.soc,
        "broken": b.is_broken,
        "complete": b.is_complete,
        "regions": len(b.plan.regions),
        "cleanups": len(b.plan.cleanups),
        "unfused": b.unfused,
        "culprits": [
            {"rules": list(c.rules), "minimal": c.is_minimal, "why": c.why,
             "regions": [region_json(r) for r in c.regions], "cleanups": [cleanup_json(x) for x in c.cleanups]}
            for c in b.blamed
        ],
        "ignoring": None if ignoring is None else
            {"rules": list(b.ignored), "answer": str(ignoring.answer), "why": ignoring.why},
        "tried": [
            {"regions": t.regions, "cleanups": t.cleanups, "answer": str(t.answer), "why": t.why} for t in b.tried
        ],
    }  # fmt: skip


def _culprit(b: Bisection, c: Blamed, number: int) -> Section:
    names = b.plan.rule_names
    parts = [*(f"{', '.join(r.rules)} {r.name}" for r in c.regions), *(f"{x.rule} {x.node}" for x in c.cleanups)]
    several = len(parts) > 1
    lines = [f"{'Together' if several else 'By itself'}: {c.why}."]
    if several and not c.is_minimal:
        lines.append("Fewer of them may do: some models could not be judged.")
    rows = [
        (r.name, ", ".join(f"{code} {names.get(code, '')}".strip() for code in r.rules), r.graph, _nodes(r))
        for r in c.regions
    ]
    rows += [(x.node, f"{x.rule} {names.get(x.rule, '')}".strip(), x.graph, x.what) for x in c.cleanups]
    columns = ("fused node", "rules", "graph", "nodes") if c.regions else ("node", "rule", "graph", "what")
    return Section(f"Culprit {number}", tuple(lines), Table(columns, tuple(rows)))


def _nodes(region: Region) -> str:
    """The names of the region's nodes; operator and position beside one that several of them have."""
    counted = Counter(region.names)
    names = tuple(
        name if counted[name] == 1 else f"{name} ({op} #{k})"
        for name, op, k in zip(region.names, region.ops, region.nodes, strict=True)
    )
    more = f", … and {quantity.count(len(names) - SHOWN)} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _onwards(b: Bisection, written: str) -> Section:
    """How to go on."""
    lines: list[str] = []
    if b.ignoring is not None:
        flags = " ".join(f"--ignore {rule}" for rule in b.ignored)
        found = _judged(b.ignoring.answer, b.ignoring.why)
        lines.append(f"`{flags}` was planned and judged: {found}.")
    without = "nothing is left that breaks it" if b.is_complete else "there is more that breaks it"
    plan = (
        f"`ascend-fuse apply {b.model} {written}` fuses without them"
        if written
        else "-o FILE writes a plan without them"
    )
    lines.append(f"Without these, {without}; {plan}.")
    return Section("What to do", tuple(lines))


def _judged(answer: Answer, why: str) -> str:
    return f"{answer} ({why})" if why else str(answer)


def _tried(b: Bisection) -> Section:
    rows = tuple((quantity.count(t.regions), quantity.count(t.cleanups), str(t.answer), t.why) for t in b.tried)
    columns = ("fusions", "cleanups", "answer", "why")
    return Section("Tried", (), Table(columns, rows, frozenset(columns[:2])), in_text=False)


def _verdict(b: Bisection) -> Iterable[str]:
    parts = f"{quantity.counted(len(b.plan.regions), 'fusion')}, {quantity.counted(len(b.plan.cleanups), 'cleanup')}"
    tried = f"{quantity.counted(len(b.tried), 'model')} judged"
    yield f"{b.model}, planned for {b.plan.soc}: {parts}; {tried}."
    if b.unfused:
        yield f"The model is broken as soon as it is written, with nothing fused or cleaned: {b.unfused}."
        yield "No fusion is to blame. Compare both files with `ascend-fuse diff`, or give the model a newer IR version."
    elif not b.blamed:
        yield "Nothing breaks: the fused model is good."
    else:
        rules = ", ".join(dict.fromkeys(rule for c in b.blamed for rule in c.rules))
        more = "" if b.is_complete else ", and there are more"
        yield f"{quantity.counted(len(b.blamed), 'culprit')}{more}: {rules}."


def bisection_page(b: Bisection, written: str = "") -> Page:
    """What breaks the model, how to go on, what was tried; `written`: the file with the plan that is left."""
    sections = [Section("", tuple(_verdict(b)))]
    sections += [_culprit(b, c, k) for k, c in enumerate(b.blamed, start=1)]
    if b.blamed:
        sections.append(_onwards(b, written))
    sections.append(_tried(b))
    return Page("ascend-fuse: bisect", tuple(sections), bisection_json(b))
