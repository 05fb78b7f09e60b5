"""What the engine's verdict says, as the plan keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_fuse import _engine
from ascend_fuse.candidate import Candidate
from ascend_fuse.engine import cube_dtypes, is_product
from ascend_fuse.estimate import Estimate
from ascend_fuse.plan import Figures, ProductTiling, Tiling, Totals
from ascend_fuse.reason import Figure, Miss
from ascend_fuse.region.build import Built

LACKING = {"dtype-unsupported": "dtype", "op-unsupported": "op"}  # figures of what no kernel runs
IN_CUBE = " in the cube of "  # where the engine lacks a type for products, not for what is behind them


@dataclass(frozen=True, slots=True)
class Alone:
    """A node as it is launched today: its label, its program, and its time in µs where it was measured."""

    label: str
    built: Built
    measured_us: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a region in place of `alone`. `miss`: why not to fuse, its node is the caller's to add."""

    miss: Miss | None
    tiling: Tiling | ProductTiling
    figures: Figures
    alone: tuple[Alone, ...]

    @property
    def after_us(self) -> float:
        """The estimate of the one launch."""
        return self.figures.after.time_us


def judge(estimate: Estimate, built: Built, launches: Sequence[Alone]) -> Judged:
    """Whether one launch of `built`, of any family, beats `launches`, all at the sizes of the estimate.

    Raises UsageError when the sizes exceed what the engine counts.
    """
    fused, parts = estimate.part(built), [estimate.part(one.built) for one in launches]
    times = tuple(one.measured_us for one in launches)
    ask = estimate.engine.judge_product if is_product(fused) else estimate.engine.judge
    v = ask(fused, parts, times)
    known = [us for us in times if us is not None]
    before = Totals(len(parts), int(v.before_bytes), v.before_us, len(known), sum(known))
    after = Totals(1, int(v.after_bytes), v.after_us)
    miss = None if v.fuse else _refusal(v, len(known), built)
    return Judged(miss, tiling_of(v), Figures(before, after, v.assumed_share, v.cost.bound), tuple(launches))


def candidate(
    estimate: Estimate, nodes: tuple[int, ...], names: tuple[str, ...], built: Built, launches: Sequence[Alone]
) -> Candidate:
    """What was judged there, at the sizes of the estimate."""
    parts = tuple((one.label, estimate.part(one.built)) for one in launches)
    times = tuple(one.measured_us for one in launches)
    return Candidate("", nodes, names, estimate.part(built), parts, times)


def _refusal(v: _engine.Verdict | _engine.GemmVerdict, measured: int, built: Built) -> Miss:
    """Why a verdict is against fusing, with the figures that decided; `measured`: launches before that are."""
    if v.code == "axis-not-trailing":
        return _lies_across(built, v.code, v.message)
    figures: dict[str, Figure] = {
        "before_us": round(v.before_us, 3), "after_us": round(v.after_us, 3), "gain_us": round(v.gain_us, 3)
    }  # fmt: skip
    if v.code == "ub-overflow":
        budget = v.ub_budget if isinstance(v, _engine.Verdict) else v.budget_bytes
        figures = {"need_bytes": int(v.need_bytes), "ub_bytes": int(budget)}
    elif v.code in ("l1-overflow", "l0-overflow") and isinstance(v, _engine.GemmVerdict):
        figures = {"need_bytes": int(v.need_bytes), "budget_bytes": int(v.budget_bytes), "buffer": v.decides}
    elif v.code == "parallelism-lost":
        figures |= {"cores_before": v.cores_before, "cores_after": v.cores_after}
    elif v.code == "conversion-cost":
        figures |= {"cast_us": round(v.cost.cast_us, 3)}
    elif v.code in LACKING:
        figures = _lacking(v.code, v.message)
    if measured and "before_us" in figures:
        figures |= {"measured": measured}
    return Miss(v.code, v.message, -1, figures)


def _lies_across(built: Built, code: str, message: str) -> Miss:
    """The engine begins with the line of a tensor that no transfer moves in blocks: the model's name in its place."""
    program = built.program
    names = dict(zip((i.name for i in program.inputs), built.inputs, strict=True))
    names |= dict(zip((o.name for o in program.outputs), built.outputs, strict=True))
    line, _, rest = message.partition(" ")
    name = names.get(line, line)
    return Miss(code, f"{name} {rest}", -1, {"axis": name, "rank": len(program.rows) + len(program.cols or ())})


def unsupported(estimate: Estimate, built: Built) -> Miss | None:
    """Why no kernel of the chip runs the program, whatever it costs."""
    found = estimate.engine.unsupported(estimate.part(built))
    if found is None:
        return None
    code, message = found
    figures = _lacking(code, message)
    if IN_CUBE in message:
        takes = cube_dtypes(estimate.engine.soc)
        message += f", which multiplies {' and '.join(takes)}: export in {takes[0]}" if takes else ""
    return Miss(code, message, -1, figures)


def _lacking(code: str, message: str) -> dict[str, Figure]:
    """The figure with which the engine begins a sentence about what no kernel runs."""
    return {LACKING[code]: message.partition(" ")[0]}


def tiling_of(v: _engine.Verdict | _engine.GemmVerdict) -> Tiling | ProductTiling:
    """The tiling that the verdict is about."""
    t = v.tiling
    if isinstance(t, _engine.GemmTiling):
        used = {name: size for name, (size, _) in t.buffers}
        return ProductTiling(
            int(t.block_dim), int(t.buffer_num), int(t.tile_m), int(t.tile_n), int(t.tile_k), t.fuse_tiles,
            int(used.get("UB", 0)), int(t.ub_budget), int(used.get("L1", 0)), int(t.l1_budget),
        )  # fmt: skip
    return Tiling(
        int(t.block_dim), int(t.buffer_num), int(t.tile_rows), int(t.tile_cols), int(t.ub_bytes), int(t.ub_budget),
        int(t.l1_budget),
    )  # fmt: skip
