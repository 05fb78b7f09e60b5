"""The report of `explain MODEL --sweep`: where verdicts flip as one size changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby

from ascend_fuse import __version__
from ascend_fuse.plan import ProductTiling
from ascend_fuse.report import quantity
from ascend_fuse.report.fusion import ESTIMATE
from ascend_fuse.report.page import Page, Section, Table, located
from ascend_fuse.survey import Answer, Sample, Sweep, Swept

SCHEMA = "ascend-fuse/sweep/1"
SHARED = "fused otherwise"


def sweep_page(model: str, sweeps: Sequence[Sweep], wanted: Callable[[Swept], bool] = lambda _: True) -> Page:
    """For each sweep the whole plan at each value, and the regions, of those wanted, whose verdicts flip."""
    first = sweeps[0]
    notes = tuple(dict.fromkeys(note for s in sweeps for note in s.notes))
    bounds = f"Bounds: {quantity.figures(first.bounds)}."
    sections = [Section("", (f"{model}: planned for {first.soc}.", bounds, ESTIMATE, *notes))]
    for s in sweeps:
        sections += [_samples(s), _flips(s, [r for r in s.regions if wanted(r)])]
    document = {
        "schema": SCHEMA, "tool": __version__, "model": model, "soc": first.soc, "bounds": dict(first.bounds),
        "sweeps": [_json(s, [r for r in s.regions if wanted(r)]) for s in sweeps], "notes": list(notes),
    }  # fmt: skip
    return Page("ascend-fuse: sweep", tuple(sections), document)


def _samples(s: Sweep) -> Section:
    rows = tuple(_sampled(p) for p in s.samples)
    columns = (s.size, "fusions", "launches", "estimated time", "change")
    lines = (*_others(s), "Before: after the cleanups, which no size changes.")
    return Section(f"Size {s.size}", lines, Table(columns, rows, frozenset(columns)))


def _sampled(p: Sample) -> tuple[str, ...]:
    before, after = p.before, p.after
    launches = f"{quantity.count(before.launches)} → {quantity.count(after.launches)}"
    return (
        str(p.value), quantity.count(p.regions), launches,
        f"{before.time_us:,.1f} → {quantity.time(after.time_us)}",
        quantity.share(before.time_us - after.time_us, before.time_us),
    )  # fmt: skip


def _others(s: Sweep) -> tuple[str, ...]:
    """The sizes that stay as they are."""
    if not s.dims:
        return ()
    sizes = (f"{name}={n}{' (assumed)' if name in s.assumed_dims else ''}" for name, n in s.dims.items())
    return (f"Other sizes: {', '.join(sizes)}.",)


def _flips(s: Sweep, regions: Sequence[Swept]) -> Section:
    """Equal regions (of several layers, say) share their rows; a row is a run of values with one verdict."""
    flipping = _alike([r for r in regions if r.flips])
    same = quantity.counted(sum(not r.flips for r in regions), "fusion")
    title = f"Where verdicts flip with {s.size}"
    ends = f"{s.samples[0].value} to {s.samples[-1].value}"
    if not flipping:
        return Section(title, (f"Nowhere from {ends}: {same} at every value.",))
    lines = [f"{same} at every value from {ends}."]
    lines.append(
        "Each row goes from its first planned value to its last, and so do its times; the tiling is the first's."
    )
    if not s.exact:
        lines.append("Between the values that are named, nothing was planned.")
    rows = [row for k, group in enumerate(flipping, start=1) for row in _rows(k, group)]
    columns = ("#", "fusion", "rules", "nodes", s.size, "verdict", "before", "after", "tiling", "because")
    return Section(title, tuple(lines), Table(columns, tuple(rows), frozenset({"#", "before", "after"})))


def _alike(regions: Sequence[Swept]) -> list[list[Swept]]:
    found: dict[tuple[object, ...], list[Swept]] = {}
    for r in regions:
        answers = tuple((a.value, a.fuse, a.code, a.figures) for a in r.answers)
        found.setdefault((r.graph, r.label, r.rules, r.program, answers), []).append(r)
    return list(found.values())


def _rows(number: int, group: Sequence[Swept]) -> list[tuple[str, ...]]:
    r = group[0]
    more = f" and {quantity.count(len(group) - 1)} more" if len(group) > 1 else ""
    head = (str(number), located(r.graph, r.label), ", ".join(r.rules), f"{r.names[0]} … {r.names[-1]}{more}")
    rows: list[tuple[str, ...]] = []
    for _, run in groupby(r.answers, key=lambda a: (a.fuse, a.code)):
        answers = list(run)
        first, last = answers[0], answers[-1]
        values = str(first.value) if first is last else f"{first.value} … {last.value}"
        times = (_between(first.figures.before.time_us, last.figures.before.time_us), _after(first, last))
        rows.append((*head, values, _verdict(first), *times, _tiling(first), first.message))
        head = ("", "", "", "")
    return rows


def _verdict(a: Answer) -> str:
    return "fuse" if a.fuse else a.code or SHARED


def _after(first: Answer, last: Answer) -> str:
    """Nothing where no tile fits."""
    low, high = first.figures.after.time_us, last.figures.after.time_us
    return _between(low, high) if low else ""


def _between(low: float, high: float) -> str:
    return quantity.time(low) if round(low, 1) == round(high, 1) else f"{low:,.1f} … {quantity.time(high)}"


def _tiling(a: Answer) -> str:
    t = a.tiling
    if not a.fuse:
        return ""
    tiles = (
        f"{t.tile_m} by {t.tile_n} by {t.tile_k}" if isinstance(t, ProductTiling) else f"{t.tile_rows} by {t.tile_cols}"
    )
    return f"{quantity.counted(t.block_dim, 'core')}, {tiles}"


def _json(s: Sweep, regions: Sequence[Swept]) -> dict[str, object]:
    return {
        "size": s.size, "exact": s.exact, "dims": dict(s.dims), "assumed_dims": list(s.assumed_dims),
        "samples": [_sample(p) for p in s.samples], "regions": [_region(r) for r in regions],
    }  # fmt: skip


def _region(r: Swept) -> dict[str, object]:
    return {
        "graph": r.graph, "label": r.label, "family": r.family, "rules": list(r.rules), "nodes": list(r.nodes),
        "names": list(r.names), "program": r.program, "flips": r.flips, "answers": [_answer(a) for a in r.answers],
    }  # fmt: skip


def _sample(p: Sample) -> dict[str, object]:
    return {
        "value": p.value, "regions": p.regions, "launches_before": p.before.launches,
        "launches_after": p.after.launches, "before_us": round(p.before.time_us, 3),
        "after_us": round(p.after.time_us, 3),
    }  # fmt: skip


def _answer(a: Answer) -> dict[str, object]:
    f = a.figures
    return {
        "value": a.value, "fuse": a.fuse, "code": a.code, "message": a.message,
        "before_us": round(f.before.time_us, 3), "after_us": round(f.after.time_us, 3), "tiling": asdict(a.tiling),
    }  # fmt: skip
