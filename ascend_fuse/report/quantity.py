"""Figures as people read them: bytes in binary units, µs, shares."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_fuse.plan import Totals
from ascend_fuse.reason import Figure


def count(n: int) -> str:
    """An integer with thousands separated by commas."""
    return f"{n:,}"


def counted(n: int, noun: str, ending: str = "s") -> str:
    """The integer with its noun: `1 node`, `2 nodes`."""
    return f"{count(n)} {noun}{ending if n != 1 else ''}"


def portion(part: float) -> str:
    """A part of one, in percent: `41 %`."""
    return f"{100 * part:.0f} %"


def size(n_bytes: int) -> str:
    """Bytes in the largest binary unit that leaves at least 1: `3.50 MiB`."""
    value = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024 or unit == "GiB":
            return f"{n_bytes} B" if unit == "B" else f"{value:,.2f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def time(us: float) -> str:
    """Microseconds with one decimal."""
    return f"{us:,.1f} µs"


def spent(cost: Totals) -> str:
    """The time, and whether it was measured."""
    how = " measured" if 0 < cost.launches == cost.measured else " partly measured" if cost.measured else ""
    return f"{time(cost.time_us)}{how}"


def measured(cost: Totals) -> str:
    """How many launches were measured, and what part of the time that is: `3 of 4, 81 %`."""
    part = f", {portion(cost.measured_us / cost.time_us)}" if cost.time_us else ""
    return f"{count(cost.measured)} of {count(cost.launches)}{part}"


def share(part: float, whole: float) -> str:
    """`-41 %` for what is saved of the whole, `0 %` under half a percent; empty when there is no whole."""
    if not whole:
        return ""
    percent = round(-100 * part / whole)
    return f"{percent:+d} %" if percent else "0 %"


def figures(values: Mapping[str, Figure]) -> str:
    """`need_bytes=1024, ub_bytes=512`; floats with four significant digits."""
    return ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in values.items())


def rate(per_s: float, unit: str) -> str:
    """A rate in the largest decimal unit that leaves at least 1: `1.15 TB/s`."""
    for prefix in ("", "k", "M", "G"):
        if abs(per_s) < 1000:
            return f"{per_s:.3g} {prefix}{unit}"
        per_s /= 1000
    return f"{per_s:,.3g} T{unit}"
