"""Where each fusion stands below the roofs of the chip, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_fuse.plan import Region, Totals
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Kind, Section, Shown, Table
from ascend_fuse.roofline import Roofs, Work, work


@dataclass(frozen=True, slots=True)
class Point:
    """One kind of fusion: its work, and the roof in operations per second that its intensity allows."""

    number: int
    count: int
    region: Region
    work: Work

    def intensity(self, cost: Totals) -> float:
        """Operations for each byte through GM."""
        return self.work.operations / cost.hbm_bytes if cost.hbm_bytes else 0.0

    def rate(self, cost: Totals) -> float:
        """Operations per second of the estimate, launches included."""
        return self.work.operations / cost.time_us * 1e6 if cost.time_us else 0.0


def points(groups: Sequence[Sequence[Region]]) -> tuple[Point, ...]:
    """One for each row of Fusions, those that only move data left out: they compute nothing."""
    found = (Point(k, len(g), g[0], work(g[0].program, g[0].sizes)) for k, g in enumerate(groups, start=1))
    return tuple(p for p in found if p.work.operations)


def top(roofs: Roofs, p: Point) -> float:
    """What the unit that does most of the work could do, were there no memory."""
    unit = roofs.cube if p.work.unit == "cube" else roofs.vector
    return unit.get(p.work.dtype) or unit["f32"]


def roof(roofs: Roofs, p: Point, cost: Totals) -> float:
    """What memory and unit allow at the intensity of the cost."""
    return min(top(roofs, p), p.intensity(cost) * roofs.hbm_bytes_per_s)


def roofline_section(found: Sequence[Point], roofs: Roofs) -> Section:
    """The picture, and its figures as a table."""
    lines = (
        "Estimates of the cost model, launches included, not measurements. Hollow: the launches before, together; "
        "filled: the fused one. To the right: fewer bytes for the same work; upwards: faster. A point far below its "
        "roof waits for its launch, not for memory or arithmetic.",
        "An operation is one element of a vector instruction; a multiply-add counts as two. Roofs: "
        f"{quantity.rate(roofs.hbm_bytes_per_s, 'B/s')} of HBM; the peaks of cube and vector unit of all cores.",
    )
    columns = ("#", "fusion", "operations", "unit", "op/B before", "after", "rate before", "rate after", "of its roof")
    shows = tuple(Shown(str(p.number), kind=Kind.ROW) for p in found)
    table = Table(columns, tuple(_row(p, roofs) for p in found), frozenset(columns) - {"fusion", "unit"}, shows)
    figures = Section("Figures", ("#: the row of Fusions; of one fusion.",), table)
    return Section("Roofline", lines, folded=(figures,), drawn="roofline")


def _row(p: Point, roofs: Roofs) -> tuple[str, ...]:
    b, a = p.region.figures.before, p.region.figures.after
    return (
        str(p.number), p.region.label, quantity.count(p.work.operations), f"{p.work.unit}, {p.work.dtype}",
        f"{p.intensity(b):.3g}", f"{p.intensity(a):.3g}", quantity.rate(p.rate(b), "op/s"),
        quantity.rate(p.rate(a), "op/s"), quantity.portion(p.rate(a) / roof(roofs, p, a)),
    )  # fmt: skip
