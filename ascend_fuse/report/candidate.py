"""One fused candidate, or several that differ in their nodes alone: nodes, tiling, figures, program."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_fuse.plan import Region
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Section, Table
from ascend_fuse.report.verdict import tiling_line

NAMES_SHOWN = 12  # of the nodes of one region, and of the fused nodes that share one


def _listed(names: Sequence[str]) -> str:
    more = f" and {quantity.count(len(names) - NAMES_SHOWN)} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _spanned(r: Region) -> str:
    """The fused node with the first and last that it replaces: which of several it is."""
    return f"{r.name} ({r.names[0]} … {r.names[-1]})" if r.names else r.name


def alike(regions: Sequence[Region]) -> list[list[Region]]:
    """The regions that differ in their nodes alone, in the order of the first."""
    found: dict[tuple[object, ...], list[Region]] = {}
    for r in regions:
        key = (r.graph, r.op_type, r.rules, r.program, tuple(r.sizes.items()), r.tiling, r.figures)
        found.setdefault(key, []).append(r)
    return list(found.values())


def candidate(number: int, regions: Sequence[Region]) -> Section:
    """One candidate; equal ones (of several layers, say) share the section."""
    r = regions[0]
    f = r.figures
    times = f", {quantity.count(len(regions))} times" if len(regions) > 1 else ""
    where = f" in {r.graph}" if r.graph else ""
    lines = [
        f"Nodes: {_listed(r.names)}.",
        f"Fused: {_listed([_spanned(q) if len(regions) > 1 else q.name for q in regions])}; {r.op_type}.",
        f"Bound by {'launch and heads' if f.bound == 'launch' else f.bound}; "
        f"{quantity.portion(f.assumed_share)} of the estimate rests on assumed figures.",
        tiling_line(r.tiling),
    ]
    if r.sizes:
        lines.append(f"Sizes: {', '.join(f'{name}={n}' for name, n in r.sizes.items())}.")
    b, a = f.before, f.after
    rows = (
        ("launches", quantity.count(b.launches), quantity.count(a.launches)),
        ("HBM traffic", quantity.size(b.hbm_bytes), quantity.size(a.hbm_bytes)),
        ("estimated time", quantity.spent(b), quantity.time(a.time_us)),
        *((("measured", quantity.measured(b), ""),) if b.measured else ()),
    )
    table = Table(("of one", "before", "after"), rows, frozenset({"before", "after"}))
    title = f"{number}. {r.label} by {', '.join(r.rules)}, {r.family}{where}{times}"
    return Section(title, tuple(lines), table, r.program)
