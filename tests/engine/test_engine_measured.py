"""A part whose time was measured counts with that, the fused launch is estimated all the same."""

from __future__ import annotations

import math

import pytest

from ascend_fuse import _engine
from bench.product_case import EPILOGUES, Case

SOC = _engine.soc("Ascend910B1")
BOUNDS = _engine.Bounds()
PARTS = [
    (_engine.Program("elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = exp x0\nout v0"), [4096]),
    (_engine.Program("elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = neg x0\nout v0"), [4096]),
]
FUSED = _engine.Program("elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = exp x0\nv1: f32[d0] = neg v0\nout v1")


def judged(*measured: float | None) -> _engine.Verdict:
    return _engine.judge(FUSED, [4096], PARTS, SOC, BOUNDS, measured)


def test_measured_parts_count_with_their_time() -> None:
    plain, first = judged(), judged(80.0, None)
    own = [_engine.estimate(program, sizes, SOC, BOUNDS).total_us for program, sizes in PARTS]
    assert plain.before_us == pytest.approx(sum(own))
    assert first.before_us == pytest.approx(80 + own[1])
    assert judged(80.0, 20.0).before_us == 100.0
    assert judged(None, None).before_us == plain.before_us
    assert (first.after_us, first.before_bytes, first.cores_before) == (
        plain.after_us,
        plain.before_bytes,
        plain.cores_before,
    )
    assert (judged(80.0, 20.0).fuse, judged(1.0, 0.0).fuse) == (True, False)
    assert judged(1.0, 0.0).code == "no-gain"


def test_nothing_that_was_measured_is_assumed() -> None:
    """On a chip whose vector costs are scaled from another's every estimate rests on assumed figures."""
    soc = _engine.soc("Ascend910A")

    def share(*measured: float) -> float:
        v = _engine.judge(FUSED, [1 << 22], [(p, [1 << 22]) for p, _ in PARTS], soc, BOUNDS, measured)
        return v.assumed_share * (v.before_us + v.after_us)

    fused = _engine.estimate(FUSED, [1 << 22], soc, BOUNDS)
    own = fused.assumed_share * fused.total_us
    assert share(50.0, 50.0) == pytest.approx(own)
    assert share() > own > 0


def test_a_product_counts_with_its_time() -> None:
    case = Case(1, 512, 1024, 1024, EPILOGUES["tanh"], "f16", "f16", True)
    parts = case.parts()
    plain = _engine.judge_gemm(case.program(), case.sizes, parts, SOC, BOUNDS)
    for measured in ([150.0] * len(parts), [None] * (len(parts) - 1) + [2.0], [0.0] * len(parts)):
        v = _engine.judge_gemm(case.program(), case.sizes, parts, SOC, BOUNDS, measured)
        assert v.after_us == plain.after_us
        g = v.gain
        assert g.launch_us + g.head_us + g.product_us + g.epilogue_us + g.overlap_us == pytest.approx(v.gain_us)
        if None not in measured:
            assert v.before_us == pytest.approx(sum(us for us in measured if us is not None))
    assert (
        _engine.judge_gemm(case.program(), case.sizes, parts, SOC, BOUNDS, [None] * len(parts)).gain_us == plain.gain_us
    )


@pytest.mark.parametrize("us", [-1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(us: float) -> None:
    with pytest.raises(ValueError, match="part 1: measured_us is"):
        judged(1.0, us)
    case = Case(1, 64, 64, 64, EPILOGUES["tanh"], "f16", "f16", True)
    with pytest.raises(ValueError, match="part 0: measured_us is"):
        _engine.judge_gemm(case.program(), case.sizes, case.parts(), SOC, BOUNDS, [us] * len(case.parts()))


def test_every_part_has_its_place() -> None:
    with pytest.raises(ValueError, match="measured has 1 times for 2 parts"):
        judged(1.0)
