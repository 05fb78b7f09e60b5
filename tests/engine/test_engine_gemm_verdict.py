"""Fuse a product or not: what pays, every kind of no with its reason, and what each chip's path makes of it."""

from __future__ import annotations

import random

import pytest
from engine_gemm import SOCS, cases, chip, solve
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_fuse import _engine
from bench.product_case import EPILOGUES, Case, Part, judge

B1 = "Ascend910B1"
LARGE = Case(1, 4096, 4096, 4096, EPILOGUES["gelu"], shared=True)


@pytest.mark.parametrize("name", SOCS)
@pytest.mark.parametrize("epilogue", ["relu", "gelu", "sigmoid", "tanh", "bias", "residual"])
def test_large_products_fuse(name: str, epilogue: str) -> None:
    v = judge(Case(1, 4096, 4096, 4096, EPILOGUES[epilogue], shared=True), name)
    assert v.fuse and v.code == ""
    assert v.gain_us == pytest.approx(v.before_us - v.after_us)
    terms = v.gain.launch_us, v.gain.head_us, v.gain.product_us, v.gain.epilogue_us
    assert v.gain_us == pytest.approx(sum(terms)) and v.gain.overlap_us == 0
    assert v.gain.launch_us == 10 and v.decides == ["launch", "heads", "product", "epilogue"][terms.index(max(terms))]
    assert v.after_bytes < v.before_bytes and v.after_us == v.cost.total_us


def test_before_is_the_sum_of_the_launches() -> None:
    v = judge(LARGE, B1)
    (product, sizes), *steps = LARGE.parts()
    soc, bounds = _engine.soc(B1), _engine.Bounds()
    alone = _engine.solve_gemm(product, sizes, soc, bounds)[1].total_us
    assert alone == v.alone_cost.total_us
    assert v.before_us == pytest.approx(alone + sum(_engine.estimate(p, s, soc, bounds).total_us for p, s in steps))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(SOCS), st.sampled_from((1.0, 10.0)))
def test_a_verdict_does_not_depend_on_the_order_of_parts(draw: st.DataObject, name: str, launch: float) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    parts: list[Part] = case.parts()
    first = _engine.judge_gemm(case.program(), case.sizes, parts, soc, _engine.Bounds(launch_us=launch))
    random.Random(case.m).shuffle(parts)
    second = _engine.judge_gemm(case.program(), case.sizes, parts, soc, _engine.Bounds(launch_us=launch))
    assert (first.fuse, first.code, first.decides) == (second.fuse, second.code, second.decides)
    assert first.before_us == pytest.approx(second.before_us) and first.after_us == second.after_us
    assert first.fuse == (first.gain_us >= max(0.03 * first.before_us, 1.0) and not first.code)


def test_a_verdict_does_not_depend_on_the_order_of_inputs() -> None:
    case = Case(1, 512, 768, 768, ("add bias", "gelu", "add full"), shared=True)
    lines = case.text().split("\n")
    at = [i for i, line in enumerate(lines) if line.endswith(" = in")]
    lines[at[0]], lines[at[1]] = lines[at[1]], lines[at[0]]
    swapped = _engine.Program("\n".join(lines))
    for name in SOCS:
        soc, bounds = _engine.soc(name), _engine.Bounds()
        v = [_engine.judge_gemm(p, case.sizes, case.parts(), soc, bounds) for p in (case.program(), swapped)]
        assert v[0].after_us == v[1].after_us and v[0].tiling.buffers == v[1].tiling.buffers


# What each path does with the product


def after(case: Case, name: str) -> tuple[float, str]:
    t, cost = solve(case, _engine.soc(name))
    return cost.total_us, t.ride


@pytest.mark.parametrize("name", [B1, "Ascend950PR_9599"])
def test_bias_relu_and_cast_ride_on_fixpipe(name: str) -> None:
    plain = Case(1, 1024, 1024, 1024, (), "f16", "f32")
    us, ride = after(Case(1, 1024, 1024, 1024, ("add bias", "relu", "cast f16"), "f16", "f32"), name)
    assert ride == "bias relu cast"
    assert us <= after(plain, name)[0] + 0.1  # f16 leaves instead of f32; the bias has to come
    t, _ = solve(Case(1, 1024, 1024, 1024, ("relu", "add bias"), "f16"), _engine.soc(name))
    assert t.ride == "relu" and t.ub_rows > 0


def test_nothing_rides_that_is_read_twice_or_on_coupled_chips() -> None:
    case = Case(1, 1024, 1024, 1024, EPILOGUES["bias, relu"])
    assert after(case, "Ascend910A")[1] == ""
    twice = _engine.Program(case.text(outputs=("v1",)))
    t, _ = _engine.solve_gemm(twice, case.sizes, _engine.soc(B1), _engine.Bounds())
    assert t.ride == "bias" and t.ub_rows > 0  # the sum leaves FixPipe and is an output as well
    product = _engine.Program(case.text(outputs=("v0",)))
    t, cost = _engine.solve_gemm(product, case.sizes, _engine.soc(B1), _engine.Bounds())
    assert t.ride == ""
    assert cost.hbm_bytes == solve(case, _engine.soc(B1))[1].hbm_bytes + 2 * 1024 * 1024


def test_a_wide_bias_is_left_to_the_vector_unit_when_its_table_is_too_small() -> None:
    case = Case(1, 4096, 4096, 4096, EPILOGUES["bias"], shared=True)
    small = solve(case, chip(bt_size=0))[0]
    assert small.ride == "" and small.ub_rows > 0
    assert solve(case, chip())[0].ride == "bias"


def test_paths_use_the_pipes_that_they_have() -> None:
    def used(name: str) -> set[str]:
        pipes = solve(Case(1, 2048, 2048, 512, EPILOGUES["residual"]), _engine.soc(name))[1].pipes
        return {pipe for pipe in ("fixpipe", "aiv_mte2", "vector", "mte3", "flag") if pipes[pipe] > 0}

    assert used("Ascend910A") == {"aiv_mte2", "vector", "mte3"}  # its loads are on the one MTE2
    assert used(B1) == used("Ascend950PR_9599") == {"fixpipe", "aiv_mte2", "vector", "mte3", "flag"}

    def loaded(epilogue: str, name: str) -> float:
        return solve(Case(1, 2048, 2048, 512, EPILOGUES[epilogue]), _engine.soc(name))[1].pipes["aiv_mte2"]

    assert loaded("tanh", B1) > 0 and loaded("tanh", "Ascend950PR_9599") > 0  # both read the product back
    assert loaded("tanh", "Ascend310P3") == 0


# Every no


def test_quantised_products_stay_apart() -> None:
    v = judge(Case(1, 512, 512, 512, ("cast f32", "relu"), "i8", "i32"), B1)
    assert (v.fuse, v.code, v.decides) == (False, "quantised", "quantised") and "i8" in v.message


@pytest.mark.parametrize(("dtype", "name", "ok"), [
    ("f32", "Ascend910A", False), ("f32", "Ascend310P3", False), ("f32", B1, True), ("f32", "Ascend950PR_9599", True),
    ("bf16", "Ascend910A", False), ("bf16", B1, True), ("f64", B1, False),
])  # fmt: skip
def test_dtypes_are_a_matter_of_the_chip(dtype: str, name: str, ok: bool) -> None:
    v = judge(Case(1, 2048, 2048, 2048, EPILOGUES["relu"], dtype, dtype), name)
    assert v.code == ("" if ok else "dtype-unsupported") and v.before_us > 10
    if not ok:
        assert v.message.startswith(dtype) and name in v.message


REDUCED = """\
matmul 1 [d0, d1 | d2]
x0: f16[d0, d1 | d3] = left
x1: f16[d0, d3 | d2] = right
v0: f16[d0, d1 | d2] = matmul x0, x1
v1: f16[d0, d1 | 1] = reduce_max v0
v2: f16[d0, d1 | d2] = sub v0, v1
out v2"""


def test_a_row_reduction_is_refused() -> None:
    case = Case(1, 512, 512, 512)
    v = _engine.judge_gemm(_engine.Program(REDUCED), case.sizes, case.parts(), _engine.soc(B1), _engine.Bounds())
    assert (v.code, v.decides) == ("crosses-reduction", "row") and "reduce_max" in v.message
    sliced = (
        REDUCED.replace("d2", "64")
        .replace("d3", "d2")
        .replace("| 1] = reduce_max v0", "| 32] = slice v0 {start=0, stop=32}")
    )
    sliced = sliced.replace("v2: f16[d0, d1 | 64] = sub v0, v1\nout v2", "out v1")
    v = _engine.judge_gemm(_engine.Program(sliced), [1, 512, 512], case.parts(), _engine.soc(B1), _engine.Bounds())
    assert v.code == "crosses-reduction" and "slice" in v.message


@pytest.mark.parametrize(("changes", "bounds", "code", "buffer"), [
    ({"l1_size": 8192}, {"min_tile_k": 256}, "l1-overflow", "L1"),
    ({}, {"l1_reserve": 0.9, "min_tile_k": 1024}, "l1-overflow", "L1"),
    ({"l0_a_size": 512}, {}, "l0-overflow", "L0A"),
    ({"l0_b_size": 512}, {}, "l0-overflow", "L0B"),
    ({"l0_c_size": 512}, {}, "l0-overflow", "L0C"),
    ({"ub_size": 8480}, {}, "ub-overflow", "UB"),
])  # fmt: skip
def test_what_does_not_fit_names_its_buffer(
    changes: dict[str, int], bounds: dict[str, float], code: str, buffer: str
) -> None:
    soc, limits = chip(**changes), _engine.Bounds(**bounds)  # pyright: ignore[reportArgumentType]
    v = _engine.judge_gemm(LARGE.program(), LARGE.sizes, LARGE.parts(), soc, limits)
    assert (v.fuse, v.code, v.decides) == (False, code, buffer)
    assert v.need_bytes > v.budget_bytes and str(v.need_bytes) in v.message and buffer in v.message
    assert judge(LARGE, B1).fuse
    with pytest.raises(ValueError, match=code):
        _engine.solve_gemm(LARGE.program(), LARGE.sizes, soc, limits)


def test_no_gain_is_a_matter_of_bounds_and_of_size() -> None:
    deep = Case(1, 4096, 4096, 262144, EPILOGUES["relu"], shared=True)
    v = judge(deep, B1)
    assert (v.fuse, v.code, v.decides) == (False, "no-gain", "min_gain") and "wanted" in v.message
    assert judge(deep, B1, min_gain=0.0).fuse and judge(LARGE, B1).fuse
    assert judge(LARGE, B1, min_gain_us=1000.0).code == "no-gain"
    nothing = judge(Case(1, 512, 512, 512), B1)
    assert nothing.code == "no-gain" and nothing.gain_us == 0


def test_parallelism_lost_is_a_matter_of_launches_and_of_shape() -> None:
    # 18 cube cores have a tile, so that 36 of the 48 vector cores add the residual.
    case = Case(4, 401, 154, 369, EPILOGUES["residual"])
    v = judge(case, B1, launch_us=1.0)
    assert (v.fuse, v.code, v.decides) == (False, "parallelism-lost", "cores")
    assert v.cores_after < v.cores_before and v.without_us < v.after_us
    assert f"{v.cores_after} vector cores work where {v.cores_before} did" in v.message
    assert judge(case, B1, launch_us=10.0).fuse
    assert judge(Case(48, 401, 154, 369, EPILOGUES["residual"]), B1, launch_us=1.0).fuse


def test_conversion_cost_is_a_matter_of_bounds() -> None:
    case = Case(1, 2048, 2048, 64, ("erf", "cast f16", "tanh"), "f16", "f32")
    free = judge(case, "Ascend910A", min_gain=0.0, min_gain_us=0.0)
    assert free.fuse and free.cost.cast_us > 0
    # A bar just above the gain: without conversions it would be reached.
    strict = judge(case, "Ascend910A", min_gain=0.0, min_gain_us=free.gain_us + 0.2 * free.cost.cast_us)
    assert strict.code == "conversion-cost" and strict.without_us < strict.after_us and strict.decides == "casts"


def test_two_streams_overlap_what_uses_other_cores() -> None:
    one, two = (judge(LARGE, B1, streams=s) for s in (1, 2))
    product = one.alone_cost.total_us
    assert two.before_us == pytest.approx(max(product, one.before_us - product)) and two.before_us < one.before_us
    assert one.after_us == two.after_us and one.fuse and not two.fuse
    assert (two.code, two.decides) == ("parallelism-lost", "overlap") and "two streams" in two.message
    assert two.gain_us == pytest.approx(one.gain_us + two.gain.overlap_us)
    coupled = [judge(LARGE, "Ascend910A", streams=s).before_us for s in (1, 2)]
    assert coupled[0] == coupled[1]  # one core has both units
    with pytest.raises(ValueError, match="streams is 3"):
        _engine.Bounds(streams=3)


# Chips, and sizes at run time


def test_a_reserve_that_narrows_tile_k_is_a_matter_of_the_chip() -> None:
    # 5 % of L1 is 52 KB on 910A and 26 KB on 910B1, where the loads of so small a tile_k hold the cube up.
    case = Case(1, 4096, 4096, 4096, EPILOGUES["relu"], shared=True)
    wide, narrow = (judge(case, name, l1_reserve=0.95) for name in ("Ascend910A", B1))
    assert wide.fuse and (narrow.fuse, narrow.code, narrow.decides) == (False, "no-gain", "product")
    assert all(v.alone_tiling.tile_k > 256 and v.tiling.tile_k <= 32 for v in (wide, narrow))
    assert narrow.gain.product_us < 0 < narrow.gain.launch_us
    free = judge(case, B1)
    assert free.before_us == narrow.before_us  # the reserve binds fused nodes, not the product's own kernel


def test_a_region_fuses_on_one_chip_and_not_on_another() -> None:
    # The deeper the product, the less the sweep that ReLU saves: 3.3 % of the time on 310P3, 2.5 % on 910B4.
    case = Case(1, 4096, 4096, 20480, EPILOGUES["relu"], shared=True)
    verdicts = {
        name: judge(case, name).fuse for name in ("Ascend310P3", "Ascend950PR_9599", "Ascend910A", "Ascend910B4")
    }
    assert list(verdicts.values()) == [True, True, False, False]
    small = Case(1, 1024, 1024, 1024, EPILOGUES["relu"], dtype="f32", result="f32")
    assert judge(small, B1).fuse and judge(small, "Ascend910A").code == "dtype-unsupported"


def test_chips_with_equal_figures_give_equal_verdicts() -> None:
    one, other, less = (
        judge(Case(12, 197, 197, 64, EPILOGUES["scale"]), n) for n in (B1, "Ascend910_9391", "Ascend910B4")
    )
    assert one.after_us == other.after_us != less.after_us and one.tiling.buffers == other.tiling.buffers


def test_one_program_serves_every_size() -> None:
    case = Case(1, 1, 4096, 4096, EPILOGUES["bias, gelu"], shared=True)
    program, soc, bounds = case.program(), _engine.soc(B1), _engine.Bounds()
    seen = [_engine.judge_gemm(program, [1, m, 4096, 4096], Case(1, m, 4096, 4096, case.steps, shared=True).parts(), soc, bounds)
            for m in (1, 16, 128, 1024)]  # fmt: skip
    assert all(v.fuse for v in seen)
    assert [v.after_us for v in seen] == sorted(v.after_us for v in seen)
    assert len({(v.tiling.tile_m, v.tiling.tile_n) for v in seen}) > 1


def test_wrong_sizes_are_named() -> None:
    parts: list[Part] = [*LARGE.parts(), (LARGE.program(), [1])]
    with pytest.raises(ValueError, match="part 2: the program has 4 symbols"):
        _engine.judge_gemm(LARGE.program(), LARGE.sizes, parts, _engine.soc(B1), _engine.Bounds())
