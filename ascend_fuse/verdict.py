"""What the engine's verdict says, as the plan keeps it."""

from __future__ import annotations

from ascend_fuse import _engine
from ascend_fuse.plan import Tiling
from ascend_fuse.reason import Figure, Miss


def refusal(v: _engine.Verdict) -> Miss:
    """Why a verdict is against fusing, with the figures that decided; the node is the caller's to add."""
    figures: dict[str, Figure] = {
        "before_us": round(v.before_us, 3), "after_us": round(v.after_us, 3), "gain_us": round(v.gain_us, 3)
    }  # fmt: skip
    if v.code == "ub-overflow":
        figures = {"need_bytes": int(v.need_bytes), "ub_bytes": int(v.ub_budget)}
    elif v.code == "parallelism-lost":
        figures |= {"cores_before": v.cores_before, "cores_after": v.cores_after}
    elif v.code == "conversion-cost":
        figures |= {"cast_us": round(v.cost.cast_us, 3)}
    elif v.code == "dtype-unsupported":
        figures = {"dtype": v.message.partition(" ")[0]}
    return Miss(v.code, v.message, -1, figures)


def tiling(v: _engine.Verdict) -> Tiling:
    """The tiling that the verdict is about."""
    t = v.tiling
    return Tiling(
        int(t.block_dim), int(t.buffer_num), int(t.tile_rows), int(t.tile_cols), int(t.ub_bytes), int(t.ub_budget),
        int(t.l1_budget),
    )  # fmt: skip
