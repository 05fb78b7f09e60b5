"""The verdict on one candidate in words, and what its gain is made of."""

from __future__ import annotations

from ascend_fuse.detail import Detail, Explained
from ascend_fuse.plan import ProductTiling, Tiling
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Section, Table
from ascend_fuse.turning import MOST, Turning, Turns

TERMS = {
    "launch": "launch cost", "heads": "heads", "product": "product", "epilogue": "epilogue", "pipes": "pipes",
    "overlap": "overlap", "cores": "cores at work", "casts": "conversions", "min_gain": "the least gain", "row": "row",
    "dtype": "type", "quantised": "quantised operands",
}  # fmt: skip


def tiling_line(t: Tiling | ProductTiling) -> str:
    """The tiling in a sentence."""
    if isinstance(t, Tiling):
        tiles, l1 = f"{t.tile_rows} by {t.tile_cols}", ""
    else:
        tiles = f"{t.tile_m} by {t.tile_n} by {t.tile_k} (m, n, k)"
        l1 = f"{quantity.size(t.l1_bytes)} of {quantity.size(t.l1_budget)} L1, "
    return (
        f"Tiling: {t.block_dim} cores, tiles of {tiles} elements, {t.buffer_num} buffers, {l1}"
        f"{quantity.size(t.ub_bytes)} of {quantity.size(t.ub_budget)} unified buffer."
    )


def verdict_section(e: Explained, spanned: str) -> Section:
    """The verdict on the candidate shown; `spanned` are its nodes."""
    d = e.details[e.shown]
    lines = [f"Candidate {e.shown + 1}: {spanned}."]
    if e.reason:
        lines.append(f"The node stays {'all the same' if d.fuse else 'for another reason'}, {e.reason}.")
    lines += _decided(d)
    if d.turning is not None:
        lines += _rests(d, d.turning)
    rows = tuple((TERMS[term], f"{us:,.2f} µs", quantity.portion(_of(us, d.gain_us))) for term, us in d.gain.items())
    rows += (("gain", f"{d.gain_us:,.2f} µs", ""),)
    table = Table(("term", "gain", "of the gain"), rows, frozenset({"gain", "of the gain"}))
    return Section(f"{e.subject}: verdict", tuple(lines), table if d.gain else None)


def _of(part: float, whole: float) -> float:
    return round(part / whole, 2) + 0.0 if whole else 0.0  # no -0 %


def _decided(d: Detail) -> list[str]:
    """Yes or no, by which term, with which figures."""
    decides = TERMS.get(d.decides, d.decides)
    if d.fused is None:
        return [f"Stays apart, {d.code}: {d.message}. Decides: {decides}."]
    share = quantity.portion(_of(d.gain_us, d.before_us))
    figures = f"{d.before_us:,.2f} µs before, {d.after_us:,.2f} µs after, {d.gain_us:,.2f} µs ({share}) gained, "
    figures += f"at least {d.wanted_us:,.2f} µs wanted"
    verdict = f"Fuses: {figures}." if d.fuse else f"Stays apart, {d.code}: {figures}."
    lines = [f"{verdict} Decides: {decides}."]
    if d.without_us:
        lines.append(f"But for that it would take {d.without_us:,.2f} µs, and fuse.")
    lines.append(f"Vector cores at work: {d.cores_before} before, {d.cores_after} after.")
    return lines


def _rests(d: Detail, t: Turning) -> list[str]:
    """What the verdict rests on, and how far that may be off."""
    before, after = t.assumed_us
    lines = [
        f"{quantity.portion(d.assumed_share)} of the estimate rests on assumed figures: {before:,.2f} of "
        f"{d.before_us:,.2f} µs before, {after:,.2f} of {d.after_us:,.2f} µs after."
    ]
    if before or after:
        most = f"no factor up to {MOST:g}"
        lines.append(
            f"While the same pipes stay the slowest, the verdict turns with all assumed figures at "
            f"{_turns(t.both, ' times', most)}, with those of the fused launch alone at "
            f"{_turns(t.after, ' times', most)}."
        )
    if any(x is not None for x in t.launch_us):
        lines.append(f"It turns at a launch cost of {_turns(t.launch_us, ' µs', '')}.")
    else:
        lines.append("No launch cost turns it.")
    return lines


def _turns(turns: Turns, unit: str, none: str) -> str:
    return " or ".join(f"{x:.3g}{unit}" for x in turns if x is not None) or none
