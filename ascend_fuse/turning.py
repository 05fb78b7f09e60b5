"""How far a figure may be off before a verdict turns."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_fuse import _engine

Turns = tuple[float | None, float | None]  # the nearest value below that turns the verdict, the nearest above
MOST = 100.0  # times: a figure that is off by more is another figure


@dataclass(frozen=True, slots=True)
class Turning:
    """Where a verdict turns, while the same pipes stay the slowest.

    `assumed_us`: what rests on assumed figures, before and after. `both`: the factor on all of them, `after`: on those
    of the fused launch alone. `launch_us`: the cost of a launch, exact because no tiling depends on it.
    """

    assumed_us: tuple[float, float]
    both: Turns
    after: Turns
    launch_us: Turns


def turning(
    times_us: tuple[float, float], assumed_us: tuple[float, float], launches: int, bounds: _engine.Bounds
) -> Turning:
    """Of a verdict on `launches` that take `times_us` before, and after as one; `assumed_us` of these are assumed."""
    before, after = assumed_us
    launch = _roots(times_us, (launches, 1), -bounds.launch_us, float("inf"), bounds)
    return Turning(
        assumed_us,
        _shifted(_roots(times_us, (before, after), -1, MOST - 1, bounds), 1),
        _shifted(_roots(times_us, (0, after), -1, MOST - 1, bounds), 1),
        _shifted(launch, bounds.launch_us),
    )


def _shifted(turns: Turns, by: float) -> Turns:
    below, above = (None if x is None else x + by for x in turns)
    return below, above


def _roots(
    times_us: tuple[float, float], slopes: tuple[float, float], least: float, most: float, bounds: _engine.Bounds
) -> Turns:
    """The x next to 0 on either side at which the gain just meets both bars, where times grow by slope · x."""
    (before, after), (more_before, more_after) = times_us, slopes
    # what is gained beyond the share that is wanted, and beyond the least µs: a + b · x
    share = (1 - bounds.min_gain) * before - after, (1 - bounds.min_gain) * more_before - more_after
    us = before - after - bounds.min_gain_us, more_before - more_after
    found: list[float] = []
    for (a, b), (c, d) in ((share, us), (us, share)):
        x = -a / b if b else 0.0
        if x and least <= x <= most and c + d * x >= -1e-9:
            found.append(x)
    return max((x for x in found if x < 0), default=None), min((x for x in found if x > 0), default=None)
