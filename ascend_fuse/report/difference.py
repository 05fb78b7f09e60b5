"""The report of `diff`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ascend_fuse.report import quantity
from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.difference import Difference, FusionChange, Side
    from ascend_fuse.graph.change import Change

SCHEMA = "ascend-fuse/difference/1"
SHOWN = 40  # rows per table; the JSON format has them all
COUNTS = ("", "a", "b", "change")
FUSED = "ai.ascendfuse::"  # bodies of fused nodes: the JSON format has them, the page has the fusions
ORDER = ("changed", "added", "removed", "rewired")  # what follows from other nodes comes last


def _change_json(c: Change) -> dict[str, str]:
    return {"kind": c.kind, "name": c.name, "before": c.before, "after": c.after}


def _changes_json(changes: Iterable[Change]) -> list[dict[str, str]]:
    return [_change_json(c) for c in changes]


def _side_json(s: Side) -> dict[str, object]:
    cost = s.cost
    return {
        "path": s.path, "nodes": s.counts.nodes, "launches": s.counts.launches, "functions": s.counts.functions,
        "initializers": s.counts.initializers, "initializer_bytes": s.counts.initializer_bytes, "fused": s.fused,
        "estimate": None if cost is None else {
            "launches": cost.totals.launches, "hbm_bytes": cost.totals.hbm_bytes,
            "time_us": round(cost.totals.time_us, 3), "sizes": dict(cost.sizes), "assumed_dims": list(cost.assumed),
            "by_body": cost.by_body,
        },
    }  # fmt: skip


def difference_json(d: Difference) -> dict[str, object]:
    """The difference as `ascend-fuse/difference/1`."""
    return {
        "schema": SCHEMA,
        "same": d.is_same,
        "a": _side_json(d.a),
        "b": _side_json(d.b),
        "interface": _changes_json(d.interface),
        "opsets": _changes_json(d.opsets),
        "operators": _changes_json(d.operators),
        "functions": _changes_json(d.functions),
        "initializers": _changes_json(d.initializers),
        "computation": _changes_json(d.computation),
        "nodes": {
            "expanded": d.is_expanded,
            "matched": d.matched,
            "changes": [
                {"graph": n.graph, "change": n.what, "operator": n.operator, "a": n.a, "b": n.b,
                 "changes": _changes_json(n.changes)}
                for n in d.nodes
            ],
        },
        "values": _changes_json(d.values),
        "fusions": {
            "rules": _changes_json(d.rules),
            "changes": [
                {"graph": f.graph, "change": f.what, "rules": list(f.rules), "a": f.a, "b": f.b,
                 "changes": _changes_json(f.changes)}
                for f in d.fusions
            ],
        },
        "soc": d.estimated_on,
        "notes": list(d.notes),
    }  # fmt: skip


def _counts(d: Difference) -> Section:
    pairs = [
        ("nodes", d.a.counts.nodes, d.b.counts.nodes),
        ("fused nodes", d.a.fused, d.b.fused),
        ("launches", d.a.counts.launches, d.b.counts.launches),
        ("functions", d.a.counts.functions, d.b.counts.functions),
        ("initializers", d.a.counts.initializers, d.b.counts.initializers),
    ]
    rows = [(name, quantity.count(a), quantity.count(b), f"{b - a:+,d}") for name, a, b in pairs if a or b]
    a_bytes, b_bytes = d.a.counts.initializer_bytes, d.b.counts.initializer_bytes
    rows.append(("their bytes", quantity.size(a_bytes), quantity.size(b_bytes), f"{b_bytes - a_bytes:+,d} B"))
    rows += _estimates(d)
    return Section("", (f"a: {d.a.path}", f"b: {d.b.path}"), Table(COUNTS, tuple(rows), frozenset(COUNTS[1:])))


def _estimates(d: Difference) -> list[tuple[str, str, str, str]]:
    """Bytes and time of a run, estimated; the change in percent."""
    a, b = (s.cost.totals if s.cost else None for s in (d.a, d.b))

    def row(name: str, x: float | None, y: float | None, tell: Callable[[float], str]) -> tuple[str, str, str, str]:
        share = "" if x is None or y is None else quantity.share(x - y, x)
        before, after = ("not estimated" if n is None else tell(n) for n in (x, y))
        return name, before, after, share

    return [
        row("HBM traffic", a and a.hbm_bytes, b and b.hbm_bytes, lambda n: quantity.size(int(n))),
        row("estimated time", a and a.time_us, b and b.time_us, quantity.time),
    ]


def _sizes(d: Difference) -> tuple[str, ...]:
    known = {n: size for s in (d.a, d.b) if s.cost for n, size in s.cost.sizes.items() if not n.startswith("?")}
    assumed = {n for s in (d.a, d.b) if s.cost for n in s.cost.assumed}
    told = [f"{n}={size}{' (assumed)' if n in assumed else ''}" for n, size in sorted(known.items())]
    return (f"Estimated on {d.estimated_on}{', ' if told else ''}{', '.join(told)}: one run, no measurement.",)


def _counted(title: str, what: str, changes: tuple[Change, ...]) -> Section:
    def number(text: str) -> int:
        return int(text) if text else 0

    rows = tuple(
        (c.name, c.before or "0", c.after or "0", f"{number(c.after) - number(c.before):+,d}") for c in changes[:SHOWN]
    )
    return Section(title, _more(changes), Table((what, *COUNTS[1:]), rows, frozenset(COUNTS[1:])))


def _more(changes: Sequence[object]) -> tuple[str, ...]:
    left = len(changes) - SHOWN
    return (f"… and {quantity.count(left)} more in the JSON format.",) if left > 0 else ()


def _changes(title: str, changes: tuple[Change, ...], line: str = "") -> Section:
    rows = tuple((c.kind, c.name, c.before or "absent", c.after or "absent") for c in changes[:SHOWN])
    lines = ((line,) if line else ()) + _more(changes)
    return Section(title, lines, Table(("what", "name", "a", "b"), rows))


def _told(c: Change) -> str:
    name = f"{c.kind} {c.name}".rstrip() if c.kind in ("operand", "operator") else c.name
    return f"{name}: {c.before or 'absent'} → {c.after or 'absent'}"


def _nodes(d: Difference) -> Section:
    count = Counter(n.what for n in d.nodes)
    parts = [f"{quantity.count(count[w])} {w}" for w in ORDER if count[w]]
    lines = [
        f"{', '.join(parts) or 'None differs'}; {quantity.count(d.matched)} have a counterpart, found by structure."
    ]
    if d.is_expanded:
        lines.append("Fused nodes are compared as the nodes that they hold.")
    if count["rewired"]:
        lines.append("Rewired: as before, but beside a node that is new or gone.")
    ordered = sorted(d.nodes, key=lambda n: ORDER.index(n.what))
    if not ordered:
        return Section("Nodes", tuple(lines))
    rows = tuple(
        (n.what, n.operator, _place(n.graph, n.a), _place(n.graph, n.b), "; ".join(map(_told, n.changes)))
        for n in ordered[:SHOWN]
    )
    return Section("Nodes", (*lines, *_more(ordered)), Table(("", "operator", "a", "b", "what changed"), rows))


def _place(graph: str, name: str) -> str:
    return f"{graph}: {name}" if graph and name else name


def _fusions(fusions: tuple[FusionChange, ...]) -> Section:
    rows = tuple(
        (f.what, ", ".join(f.rules), _place(f.graph, f.a), _place(f.graph, f.b), ", ".join(c.name for c in f.changes))
        for f in fusions[:SHOWN]
    )
    line = "Fused nodes that the other model has not around the same values, or with other contents."
    return Section("Fusions", (line, *_more(fusions)), Table(("", "rules", "a", "b", "what changed"), rows))


def difference_page(d: Difference) -> Page:
    """The report of a difference."""
    sections = [_counts(d), Section("", _sizes(d))]
    if d.is_same:
        line = "No difference in operators, interface, opsets, functions, weights, nodes or computation."
        sections.append(Section("", (line,)))
    elif not d.interface:
        sections.append(Section("Interface", ("Inputs and outputs are the same in name, order and type.",)))
    else:
        sections.append(_changes("Interface", d.interface))
    if d.operators:
        sections.append(_counted("Operators", "operator", d.operators))
    if d.rules:
        sections.append(_counted("Fused nodes by rule", "rule", d.rules))
    if d.fusions:
        sections.append(_fusions(d.fusions))
    if not d.is_same:
        sections.append(_nodes(d))
    titled = (
        ("Types of values", d.values, "Of values that have a counterpart; a size that no input declares is ?."),
        ("Opsets", d.opsets, ""),
        ("Functions", tuple(c for c in d.functions if not c.name.startswith(FUSED)), ""),
        ("Initializers", d.initializers, "By what they hold: another name alone is no difference."),
        ("Outputs computed by other nodes", d.computation,
         "Structure only: whether the values agree is for `ascend-fuse verify` to say."),
        )  # fmt: skip
    sections += [_changes(title, found, line) for title, found, line in titled if found]
    if d.notes:
        sections.append(Section("Notes", d.notes))
    return Page("ascend-fuse: difference", tuple(sections), difference_json(d))
