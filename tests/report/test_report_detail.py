"""What is shown of one candidate is what the engine says, on every chip, fused or not; where the verdict turns."""

from __future__ import annotations

import pytest

from ascend_fuse import _engine
from ascend_fuse.candidate import Candidate
from ascend_fuse.detail import Detail, Explained, detail
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.report.detail import buffer_picture, detail_json, detail_sections, pipe_times, time_picture
from ascend_fuse.report.page import Format, Page, Section
from ascend_fuse.report.render import render_page
from ascend_fuse.turning import turning

ADD = "elementwise 1 [d0]\nx0: f16[d0] = in\nx1: f16[d0] = in\nv0: f16[d0] = add x0, x1\nout v0"
EXP = "elementwise 1 [d0]\nx0: f16[d0] = in\nv0: f16[d0] = exp x0\nout v0"
BOTH = ADD.replace("out v0", "v1: f16[d0] = exp v0\nout v1")
LEFT = "matmul 1 [d0 | d1]\nx0: f16[d0 | d2] = left\nx1: f16[d2 | d1] = right\nv0: f16[d0 | d1] = matmul x0, x1\n"
PRODUCT = f"{LEFT}out v0"
FUSED = f"{LEFT}v1: f16[d0 | d1] = sigmoid v0\nout v1"
SIGMOID = "elementwise 1 [d0, d1]\nx0: f16[d0, d1] = in\nv0: f16[d0, d1] = sigmoid x0\nout v0"
ROW = 200_000
LONG = (
    "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | d1] = exp x0\n"
    f"v1: f32[d0 | {ROW // 2}] = slice v0 {{start=0, stop={ROW // 2}}}\nout v1"
)
CHIPS = ("Ascend910A", "Ascend310P3", "Ascend910B3", "Ascend910_9391")


def vector(n: int) -> Candidate:
    return Candidate("", (0, 1), ("/Add", "/Exp"), (BOTH, (n,)), (("/Add", (ADD, (n,))), ("/Exp", (EXP, (n,)))))


def product(m: int, n: int, k: int) -> Candidate:
    parts = (("/MatMul", (PRODUCT, (m, n, k))), ("/Sigmoid", (SIGMOID, (m, n))))
    return Candidate("", (0, 1), ("/MatMul", "/Sigmoid"), (FUSED, (m, n, k)), parts)


def engine(soc: str = "Ascend910B3", **limits: float) -> Engine:
    return Engine(load_soc(soc), bounds(**limits))


def checked(soc: str, candidate: Candidate, **limits: float) -> Detail:
    """The detail, whose launches sum to the verdict's time before, and its terms to the gain."""
    d = detail(engine(soc, **limits), candidate)
    assert sum(x.total_us for x in d.launches) == pytest.approx(d.before_us)
    for x in (*d.launches, *filter(None, (d.fused,))):
        assert x.launch_us + x.head_us + x.product_us + x.work_us == pytest.approx(x.total_us)
    if d.fused is not None:
        assert d.fused.total_us == d.after_us
        assert sum(d.gain.values()) == pytest.approx(d.gain_us)
        assumed = sum(x.assumed_us for x in (*d.launches, d.fused))
        assert assumed == pytest.approx(d.assumed_share * (d.before_us + d.after_us))
    return d


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("candidate", [vector(4096), vector(1 << 24), product(128, 4096, 11008), product(64, 64, 64)])
def test_figures_are_the_engines(soc: str, candidate: Candidate) -> None:
    d = checked(soc, candidate)
    own = engine(soc)
    parts = [p for _, p in candidate.launches]
    v = own.judge_product(candidate.fused, parts) if candidate.fused[0] == FUSED else own.judge(candidate.fused, parts)
    assert (d.fuse, d.code, d.message, d.before_us, d.after_us) == (v.fuse, v.code, v.message, v.before_us, v.after_us)
    assert d.fused is not None
    if isinstance(v, _engine.GemmVerdict):
        wanted = [(name, *pair) for name, pair in v.tiling.buffers]
        assert d.decides == v.decides
        assert {**d.fused.pipes, "launch": d.fused.launch_us, "head": d.fused.head_us} == v.cost.pipes
    else:
        wanted = [("UB", v.tiling.ub_bytes, v.tiling.ub_budget)]
        assert d.fused.pipes == {
            "aiv_mte2": v.cost.mte2_us, "vector": v.cost.vector_us, "mte3": v.cost.mte3_us, "hbm": v.cost.hbm_us
        }  # fmt: skip
    capacity = {
        "L1": own.soc.l1_size, "L0A": own.soc.l0_a_size, "L0B": own.soc.l0_b_size, "L0C": own.soc.l0_c_size,
        "BT": own.soc.bt_size, "UB": own.soc.ub_size,
    }  # fmt: skip
    assert [(b.name, b.used_bytes, b.budget_bytes) for b in d.buffers] == [w for w in wanted if capacity[w[0]]]
    assert all(b.capacity_bytes == capacity[b.name] for b in d.buffers)


@pytest.mark.parametrize("candidate", [vector(1 << 20), product(128, 4096, 4096)])
def test_bars_are_the_figures(candidate: Candidate) -> None:
    d = checked("Ascend910B3", candidate)
    *before, after = time_picture(d).bars
    assert [b.start for b in before] == pytest.approx([0.0, d.launches[0].total_us])
    assert (before[-1].end, after.start, after.end) == pytest.approx((d.before_us, 0.0, d.after_us))
    for bar, b in zip(buffer_picture(d).bars, d.buffers, strict=True):
        lengths = {s.kind: s.length for s in bar.segments}
        assert lengths["used"] == pytest.approx(b.used_bytes / b.capacity_bytes)
        assert lengths["reserve"] == pytest.approx(b.reserve_bytes / b.capacity_bytes)
        assert sum(lengths.values()) == pytest.approx(1)
    for pipe, (us, _) in pipe_times(d).items():
        assert us == sum(x.pipes.get(pipe, 0.0) for x in d.launches)


def said(e: Explained, form: Format = Format.TEXT) -> str:
    return " ".join(render_page(Page("t", tuple(detail_sections(e)), {}), form).split())


def test_a_yes_is_told_with_its_terms() -> None:
    d = checked("Ascend910B3", product(128, 4096, 4096))
    text = said(Explained("/MatMul", (d,), 0))
    assert f"Fuses: {d.before_us:.2f} µs before, {d.after_us:.2f} µs after" in text
    assert f"launch cost {d.gain['launch']:.2f} µs" in text
    for b in d.buffers:
        assert f"{b.name} " in text
    assert "vector MTE2" in text and "FixPipe" in text
    coupled = said(Explained("/MatMul", (checked("Ascend910A", product(128, 4096, 4096)),), 0))
    assert "FixPipe" not in coupled and "BT " not in coupled


def test_an_overflow_shows_what_is_too_much() -> None:
    long = (LONG, (8, ROW))
    d = checked("Ascend910B3", Candidate("", (0, 1), ("/Exp", "/Slice"), long, (("/Exp", (EXP, (8 * ROW,))),)))
    assert (d.code, d.decides, d.fused, d.tiling, d.turning) == ("ub-overflow", "UB", None, None, None)
    (b,) = d.buffers
    assert b.used_bytes > b.budget_bytes == 188160
    (bar,) = buffer_picture(d).bars
    lengths = {s.kind: s.length for s in bar.segments}
    assert lengths["used"] / (lengths["used"] + lengths["too much"]) == pytest.approx(b.budget_bytes / b.used_bytes)
    text = said(Explained("/Slice", (d,), 0))
    assert f"Stays apart, ub-overflow: the smallest tile needs {b.used_bytes} B, UB has 188160 B. Decides: UB." in text
    assert f"{b.used_bytes / b.budget_bytes:.0%}".replace("%", " %") in text


def test_a_no_is_told_with_the_term_that_decides() -> None:
    d = checked("Ascend910B3", vector(64), min_gain=0.9)
    assert (d.fuse, d.code, d.decides) == (False, "no-gain", "min_gain")
    assert "Stays apart, no-gain:" in said(Explained("/Add", (d,), 0))
    overflow = checked("Ascend910B3", product(128, 4096, 4096), l1_reserve=0.95, min_tile_k=4096)
    assert (overflow.code, overflow.decides, [b.name for b in overflow.buffers]) == ("l1-overflow", "L1", ["L1"])


def test_another_reason_and_none() -> None:
    d = checked("Ascend910B3", vector(64))
    assert "The node stays all the same, no-gain: because." in said(Explained("/Add", (d,), 0, "no-gain: because"))
    assert "None was judged with this node, for the reason above." in said(Explained("/Add", (), -1))


def test_the_document_has_the_figures() -> None:
    d = checked("Ascend910B3", product(128, 4096, 4096))
    (found,) = detail_json(Explained("/MatMul", (d,), 0))["candidates"]  # type: ignore[misc]
    assert found["verdict"]["gain_us"] == round(d.gain_us, 3)
    assert found["fused"]["pipes"]["cube"] == round(d.fused.pipes["cube"], 3) if d.fused else False
    assert [b["reserve_bytes"] for b in found["buffers"]] == [b.reserve_bytes for b in d.buffers]
    sections: list[Section] = detail_sections(Explained("/MatMul", (d,), 0))
    again = detail_sections(Explained("/MatMul", (detail(engine(), product(128, 4096, 4096)),), 0))
    for form in (Format.TEXT, Format.MARKDOWN, Format.HTML):
        assert render_page(Page("t", tuple(sections), {}), form) == render_page(Page("t", tuple(again), {}), form)


@pytest.mark.parametrize(
    ("candidate", "share"), [(vector(1 << 24), 0.395), (product(4096, 4096, 64), 0.445), (product(64, 64, 64), 0.3)]
)
def test_a_verdict_turns_at_its_launch_cost(candidate: Candidate, share: float) -> None:
    """A hair on either side of the turning point, the engine says yes and no."""
    turned = 0
    for launch in (0.0, 1.0, 10.0):
        d = detail(engine(min_gain=share, launch_us=launch), candidate)
        assert d.turning is not None
        for at in filter(None, d.turning.launch_us):
            near = (at * (1 - 1e-6), at * (1 + 1e-6))
            found = {detail(engine(min_gain=share, launch_us=us), candidate).fuse for us in near}
            assert found == {True, False}
            turned += 1
    assert turned


def test_where_assumed_figures_turn_a_verdict() -> None:
    limits = _engine.Bounds(min_gain=0.0, min_gain_us=1.0)
    t = turning((30.0, 20.0), (0.0, 3.0), 2, limits)  # 9 µs to lose, 3 assumed
    assert t.both == t.after == (None, pytest.approx(4.0))
    assert t.launch_us == (pytest.approx(1.0), None)
    assert turning((30.0, 20.0), (2.0, 2.0), 2, limits).both == (None, None)  # they cancel
    assert turning((20.0, 20.0), (4.0, 2.0), 2, limits).both == (None, pytest.approx(1.5))
    assert turning((30.0, 29.5), (0.0, 4.0), 2, limits).after == (pytest.approx(0.875), None)


def test_streams_lie_side_by_side() -> None:
    d = detail(engine(streams=2), product(128, 4096, 4096))
    assert d.gain["overlap"] < 0 and d.turning is None
    first, second, _ = time_picture(d).bars
    assert (first.start, second.start) == (0.0, 0.0)
    assert max(first.end, second.end) == pytest.approx(d.before_us)
    assert "On two streams" in said(Explained("/MatMul", (d,), 0))


def test_every_pipe_has_a_name() -> None:
    from ascend_fuse.report.detail import PIPES

    known = set(detail(engine(), product(64, 64, 64)).launches[0].pipes)
    assert known == set(PIPES)
