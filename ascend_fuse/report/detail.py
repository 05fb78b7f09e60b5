"""What was judged with one node: candidates, verdict, launches and pipes before and after, buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import cast

from ascend_fuse.detail import Buffer, Detail, Explained, Launch
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Section, Table
from ascend_fuse.report.picture import Bar, Picture, Segment
from ascend_fuse.report.verdict import tiling_line, verdict_section

CANDIDATES_SHOWN = 16
# The engine's names of the pipes, in the order that data takes, and the field's.
PIPES = {
    "mte2": "MTE2", "mte1": "MTE1", "cube": "cube", "fixpipe": "FixPipe", "aiv_mte2": "vector MTE2",
    "vector": "vector", "mte3": "MTE3", "flag": "flags", "apart": "tiles apart", "hbm": "GM",
}  # fmt: skip


def detail_json(e: Explained) -> dict[str, object]:
    """What was judged with one node; times to the nanosecond, as in a plan."""
    return {
        "node": e.subject, "shown": e.shown, "reason": e.reason, "candidates": [_candidate_json(d) for d in e.details],
        "alone": None if e.alone is None else _candidate_json(e.alone),
    }  # fmt: skip


def _candidate_json(d: Detail) -> dict[str, object]:
    c = d.candidate
    return {
        "graph": c.graph, "nodes": list(c.nodes), "names": list(c.names), "program": c.fused[0],
        "verdict": {
            "fuse": d.fuse, "code": d.code, "message": d.message, "decides": d.decides,
            "before_us": round(d.before_us, 3), "after_us": round(d.after_us, 3), "gain_us": round(d.gain_us, 3),
            "wanted_us": round(d.wanted_us, 3), "without_us": round(d.without_us, 3),
            "assumed_share": round(d.assumed_share, 4), "cores_before": d.cores_before, "cores_after": d.cores_after,
        },
        "gain": _plain(d.gain), "tiling": None if d.tiling is None else asdict(d.tiling),
        "launches": [_plain(asdict(x)) for x in d.launches],
        "fused": None if d.fused is None else _plain(asdict(d.fused)),
        "buffers": [{**asdict(b), "reserve_bytes": b.reserve_bytes} for b in d.buffers],
        "turning": None if d.turning is None else _plain(asdict(d.turning)),
    }  # fmt: skip


def _plain(value: object) -> object:
    """The value with times to the nanosecond."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in cast("Mapping[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in cast("Sequence[object]", value)]
    return value


def detail_sections(e: Explained) -> list[Section]:
    """All that is to be said of one node."""
    found = [_considered(e)]
    d = e.details[e.shown] if e.shown >= 0 else e.alone
    if d is None:
        return found
    if d is not e.alone:
        found.append(verdict_section(e, _spanned(d)))
    found += [_times(e.subject, d), _pipes(e.subject, d)]
    if d.buffers:
        found.append(_buffers(e.subject, d))
    return found


def _spanned(d: Detail) -> str:
    names = d.candidate.names
    return f"{names[0]} … {names[-1]} ({quantity.counted(len(names), 'node')})"


def _considered(e: Explained) -> Section:
    """Every candidate that was judged with the node."""
    title = f"{e.subject}: candidates"
    if not e.details:
        below = " Below is its launch as it is." if e.alone is not None else ""
        return Section(title, (f"None was judged with this node, for the reason above.{below}",))
    rows = tuple(_row(k, d, k == e.shown) for k, d in enumerate(e.details))
    first = max(0, min(e.shown - CANDIDATES_SHOWN // 2, len(rows) - CANDIDATES_SHOWN))
    shown = rows[first : first + CANDIDATES_SHOWN]
    lines = ["In the order in which they were judged; the one marked is shown below."]
    if len(shown) < len(rows):
        lines.append(f"{quantity.count(len(rows) - len(shown))} more are in the JSON report.")
    columns = ("", "candidate", "launches", "before", "after", "gain", "verdict")
    return Section(title, tuple(lines), Table(columns, shown, frozenset(columns[2:6])))


def _row(k: int, d: Detail, marked: bool) -> tuple[str, ...]:
    after, gain = (us(d.after_us), us(d.gain_us)) if d.fused is not None else ("", "")
    return (
        f"→ {k + 1}" if marked else f"{k + 1}", _spanned(d), quantity.count(len(d.launches)), us(d.before_us), after,
        gain, d.code or "fuses",
    )  # fmt: skip


def us(value: float) -> str:
    """µs as the tables of one candidate have them: the pipes of small nodes take less than a tenth."""
    return f"{value:,.2f} µs"


def _parts(d: Detail, launch: Launch) -> tuple[tuple[str, float], ...]:
    """What a launch is made of; without a product in the candidate, its work is what its pipes do."""
    own = (("launch", launch.launch_us), ("heads", launch.head_us))
    if "product" in d.gain or launch.product_us:
        return (*own, ("product", launch.product_us), ("epilogue", launch.work_us))
    return (*own, ("epilogue" if _has_product(d) else "pipes", launch.work_us))


def _has_product(d: Detail) -> bool:
    return d.candidate.fused[0].startswith("matmul ")


def _times(subject: str, d: Detail) -> Section:
    """Each launch of today and the one that would replace them, one behind the other on one scale."""
    product = _has_product(d)
    columns = ("launch", "cores", "launch cost", "heads", *(("product", "epilogue") if product else ("pipes",)))
    columns += ("total", "bytes", "bound by")
    rows = [_launch_row(d, x) for x in d.launches]
    total = tuple(us(sum(getattr(x, f) for x in d.launches)) for f in _fields(d))
    traffic = quantity.size(sum(x.hbm_bytes for x in d.launches))
    if len(rows) > 1:
        rows.append(("before", "", *total, traffic, ""))
    if d.fused is not None:
        rows.append(("after", *_launch_row(d, d.fused)[1:]))
    line = "A launch takes its cost, the heads of its pipes, then as long as the slowest of what overlaps."
    if "overlap" in d.gain:
        line += f" On two streams {us(-d.gain['overlap'])} of the launches before overlap."
    table = Table(columns, tuple(rows), frozenset(columns[1:-1]))
    return Section(f"{subject}: time", (line,), table, picture=time_picture(d))


def _fields(d: Detail) -> tuple[str, ...]:
    work = ("product_us", "work_us") if _has_product(d) else ("work_us",)
    return ("launch_us", "head_us", *work, "total_us")


def _launch_row(d: Detail, x: Launch) -> tuple[str, ...]:
    bound = "launch and heads" if x.bound == "launch" else pipe_name(d, x.bound)
    times = (us(getattr(x, f)) for f in _fields(d))
    return (x.label, quantity.count(x.cores), *times, quantity.size(x.hbm_bytes), bound)


def pipe_name(d: Detail, pipe: str) -> str:
    """The pipe as the field calls it; without a product there is one MTE2."""
    if pipe == "aiv_mte2" and not _has_product(d):
        return "MTE2"
    return PIPES.get(pipe, pipe)


def time_picture(d: Detail) -> Picture:
    """Before, one launch behind the other; below them the fused one. With two streams, cube and vector side by side."""
    bars: list[Bar] = []
    ends = {True: 0.0, False: 0.0}  # of the streams
    for x in d.launches:
        stream = "overlap" in d.gain and "cube" in x.pipes
        segments = tuple(Segment(kind, length) for kind, length in _parts(d, x))
        bars.append(Bar(x.label, segments, us(x.total_us), ends[stream]))
        ends[stream] = bars[-1].end
    if d.fused is not None:
        segments = tuple(Segment(kind, length) for kind, length in _parts(d, d.fused))
        bars.append(Bar("fused", segments, f"{us(d.fused.total_us)}, before {us(d.before_us)}"))
    after = ", and the fused one" if d.fused is not None else ""
    what = f"Launches before, one behind the other{after}, in µs to one scale."
    return Picture("Time before and after", what, tuple(bars), "µs")


def pipe_times(d: Detail) -> dict[str, tuple[float, float]]:
    """By pipe: µs of all launches before, and after; those that do nothing are left out."""
    after = d.fused.pipes if d.fused is not None else dict[str, float]()
    times = {p: (sum(x.pipes.get(p, 0.0) for x in d.launches), after.get(p, 0.0)) for p in PIPES}
    return {p: pair for p, pair in times.items() if any(pair)}


def _pipes(subject: str, d: Detail) -> Section:
    """How long each pipe of the busiest core is at work."""
    known = pipe_times(d)
    bars: list[Bar] = []
    for pipe, pair in known.items():
        for kind, length in zip(("before", "after"), pair, strict=True):
            if kind == "before" or d.fused is not None:
                bars.append(Bar(f"{pipe_name(d, pipe)}, {kind}", (Segment(kind, length),), us(length)))
    rows = [(x.label, *(us(t) if (t := x.pipes.get(p)) else "" for p in known)) for x in d.launches]
    if len(rows) > 1:
        rows.append(("before", *(us(b) for b, _ in known.values())))
    if d.fused is not None:
        rows.append(("after", *(us(after) for _, after in known.values())))
    columns = ("busy", *(pipe_name(d, p) for p in known))
    what = "Busy times of the pipes of the busiest core, and of GM by all cores, in µs to one scale; they overlap."
    picture = Picture("Pipes before and after", what, tuple(bars), "µs")
    table = Table(columns, tuple(rows), frozenset(columns[1:]))
    return Section(f"{subject}: pipes", (), table, picture=picture)


def _buffers(subject: str, d: Detail) -> Section:
    """What the tiles use of each buffer; of one that overflows, what the smallest tile needs."""
    rows = tuple(
        (b.name, quantity.size(b.used_bytes), quantity.size(b.budget_bytes), quantity.size(b.capacity_bytes),
         quantity.size(b.reserve_bytes), quantity.portion(b.used_bytes / b.budget_bytes))
        for b in d.buffers if b.budget_bytes
    )  # fmt: skip
    used = "needed" if d.code.endswith("-overflow") else "used"
    columns = ("buffer", used, "budget", "capacity", "reserve", "of budget")
    lines = [tiling_line(d.tiling)] if d.tiling is not None else []
    lines += [
        f"{quantity.size(b.system_bytes)} of {b.name} are the system's; the rest of its reserve is what you set."
        for b in d.buffers if b.system_bytes
    ]  # fmt: skip
    table = Table(columns, rows, frozenset(columns[1:]))
    return Section(f"{subject}: buffers", tuple(lines), table, picture=buffer_picture(d))


def buffer_picture(d: Detail) -> Picture:
    """Each buffer of a core: used, free, reserved, as shares of it; of one that overflows, as shares of the need."""
    what = "Each bar is the whole buffer: what the tiles use, what is free, what is reserved."
    if any(b.used_bytes > b.budget_bytes for b in d.buffers):
        what = "The bar is what the smallest tile needs: what the buffer may hold, and what is too much."
    return Picture("Buffers of one core", what, tuple(_filled(b) for b in d.buffers))


def _filled(b: Buffer) -> Bar:
    used, budget = b.used_bytes, b.budget_bytes
    lengths = {
        "used": min(used, budget), "too much": max(used - budget, 0), "free": max(budget - used, 0),
        "reserve": max(b.capacity_bytes - max(used, budget), 0),
    }  # fmt: skip
    whole = sum(lengths.values())
    said = f"{quantity.size(used)} of {quantity.size(budget)}"
    return Bar(b.name, tuple(Segment(kind, n / whole) for kind, n in lengths.items()), said)
