"""Each verdict flips when one thing changes: size, chip or bound."""

import pytest
from engine_program import against, binary, reduction, softmax, unary

from ascend_fuse import _engine

B2 = _engine.soc("Ascend910B2")
Parts = list[tuple[_engine.Program, list[int]]]


def softmax_parts(rows: int, cols: int) -> Parts:
    flat = [rows * cols]
    return [
        (_engine.Program(reduction("reduce_max")), [rows, cols]),
        (_engine.Program(against("sub")), [rows, cols]),
        (_engine.Program(unary("exp")), flat),
        (_engine.Program(reduction("reduce_sum")), [rows, cols]),
        (_engine.Program(against("div")), [rows, cols]),
    ]


def judge_softmax(rows: int, cols: int, soc: _engine.Soc = B2, **bounds: float) -> _engine.Verdict:
    limits = _engine.Bounds(**bounds)  # pyright: ignore[reportArgumentType]
    return _engine.judge(_engine.Program(softmax()), [rows, cols], softmax_parts(rows, cols), soc, limits)


def test_softmax_pays() -> None:
    v = judge_softmax(1024, 768)
    assert v.fuse and v.code == ""
    assert v.gain_us == pytest.approx(v.before_us - v.after_us)
    assert v.gain_us > 40 and v.before_bytes > 3 * v.after_bytes
    assert v.after_us == v.cost.total_us and v.cores_after == v.tiling.block_dim
    single = [_engine.estimate(p, s, B2, _engine.Bounds()).total_us for p, s in softmax_parts(1024, 768)]
    assert v.before_us == pytest.approx(sum(single))


def test_one_node_gains_nothing() -> None:
    p = _engine.Program(unary("exp"))
    v = _engine.judge(p, [4096], [(p, [4096])], B2, _engine.Bounds())
    assert (v.fuse, v.code, v.gain_us) == (False, "no-gain", 0)
    assert "wanted" in v.message


@pytest.mark.parametrize("bounds", [{"min_gain": 0.95}, {"min_gain_us": 500.0}])
def test_no_gain_is_a_matter_of_bounds(bounds: dict[str, float]) -> None:
    assert judge_softmax(1024, 768).fuse
    assert judge_softmax(1024, 768, **bounds).code == "no-gain"


def copy_parts(cols: int) -> tuple[_engine.Program, Parts]:
    half = cols // 2
    a = f"rowwise 1 [d0 | {cols}]\nx0: f32[d0 | {cols}] = in\n"
    low = f"v0: f32[d0 | {half}] = slice x0 {{start=0, stop={half}}}\n"
    fused = a + low + f"v1: f32[d0 | {half}] = exp v0\nout v1"
    exp = f"elementwise 1 [d0, {half}]\nx0: f32[d0, {half}] = in\nv0: f32[d0, {half}] = exp x0\nout v0"
    return _engine.Program(fused), [(_engine.Program(a + low + "out v0"), [64]), (_engine.Program(exp), [64])]


def test_ub_overflow_is_a_matter_of_row_chip_and_reserve() -> None:
    def code(cols: int, soc: _engine.Soc = B2, reserve: float = 0.0) -> str:
        fused, parts = copy_parts(cols)
        v = _engine.judge(fused, [64], parts, soc, _engine.Bounds(ub_reserve=reserve))
        if v.code == "ub-overflow":
            assert v.need_bytes > v.ub_budget > 0
        return v.code

    assert code(20000) == ""
    assert code(20000, reserve=0.3) == "ub-overflow"
    assert code(32000) == "ub-overflow"
    assert code(32000, soc=_engine.soc("Ascend910A")) == ""


def parallel(rows: int, soc: _engine.Soc = B2) -> _engine.Verdict:
    """A row sum behind heavy elementwise work, which alone would spread over all cores."""
    cols = 2_000_000
    lines = "".join(
        f"v{i}: f32[d0 | d1] = {op} {'x0' if i == 0 else f'v{i - 1}'}\n" for i, op in enumerate(["erf"] * 3)
    )
    text = f"rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\n{lines}v3: f32[d0 | 1] = reduce_sum v2\nout v3"
    erf = (_engine.Program(unary("erf")), [rows * cols])
    parts = [erf, erf, erf, (_engine.Program(reduction("reduce_sum")), [rows, cols])]
    return _engine.judge(_engine.Program(text), [rows, cols], parts, soc, _engine.Bounds())


def test_parallelism_lost_is_a_matter_of_rows() -> None:
    one, many = parallel(1), parallel(96)
    assert one.code == "parallelism-lost"
    assert one.cores_after < one.cores_before
    assert one.without_us < one.before_us < one.after_us
    assert many.fuse


def test_parallelism_lost_is_a_matter_of_the_chip() -> None:
    assert parallel(2).code == "parallelism-lost"
    one_core = _engine.soc("Ascend310B1")  # one vector core has nothing to lose
    assert one_core.vector_cores == 1 and parallel(2, one_core).fuse


CASTS = """\
elementwise 1 [d0]
x0: f16[d0] = in
v0: f32[d0] = cast x0
v1: f32[d0] = erf v0
v2: f16[d0] = cast v1
out v2"""


def test_conversion_cost_is_a_matter_of_bounds() -> None:
    half, n = _engine.Program(unary("erf", "f16")), [4_000_000]
    fused, parts = _engine.Program(CASTS), [(half, n), (_engine.Program(unary("relu", "f16")), n)]
    free = _engine.judge(fused, n, parts, B2, _engine.Bounds(min_gain_us=0.0, min_gain=0.0))
    assert free.fuse and free.cost.cast_us > 0
    # A bar between the gain with conversions and the gain without them.
    bar = free.gain_us + free.cost.cast_us / 2
    strict = _engine.judge(fused, n, parts, B2, _engine.Bounds(min_gain_us=bar, min_gain=0.0))
    assert strict.code == "conversion-cost"
    assert strict.without_us < strict.after_us
    high = _engine.judge(fused, n, parts, B2, _engine.Bounds(min_gain_us=10 * bar, min_gain=0.0))
    assert high.code == "no-gain"


def test_dtypes_are_a_matter_of_the_chip() -> None:
    def code(dtype: str, soc: str) -> str:
        p = _engine.Program(softmax(dtype))
        part = _engine.Program(unary("exp", dtype))
        return _engine.judge(p, [512, 512], [(part, [512 * 512])] * 5, _engine.soc(soc), _engine.Bounds()).code

    assert code("bf16", "Ascend910A") == "dtype-unsupported"
    assert code("bf16", "Ascend310P3") == "dtype-unsupported"
    assert code("bf16", "Ascend910B2") == ""
    assert code("f16", "Ascend910A") == ""
    assert code("f64", "Ascend910B2") == "dtype-unsupported"


def test_equal_figures_give_equal_verdicts() -> None:
    def figures(name: str) -> list[float]:
        v = judge_softmax(333, 777, _engine.soc(name))
        return [v.before_us, v.after_us, v.tiling.block_dim, v.tiling.tile_rows]

    assert figures("Ascend910B1") == figures("Ascend910_9391") != figures("Ascend910B4")


def test_assumed_share_shows_assumed_figures() -> None:
    def share(op: str, soc: _engine.Soc = B2) -> float:
        p = _engine.Program(unary(op))
        return _engine.judge(p, [10**8], [(p, [10**8])], soc, _engine.Bounds()).assumed_share

    assert share("tanh") == 0
    assert share("sin") > 0.9
    assert share("erf") == 0
    assert share("erf", _engine.soc("Ascend910A")) > 0.9


def test_a_part_with_wrong_sizes_is_named() -> None:
    p = _engine.Program(binary("add"))
    with pytest.raises(ValueError, match="part 1: the program has 1 symbols"):
        _engine.judge(p, [8], [(p, [8]), (p, [8, 8])], B2, _engine.Bounds())


def test_opaque_time_is_the_roofline() -> None:
    b = _engine.Bounds(launch_us=5.0)
    assert _engine.opaque_us(0, 0, "f16", B2, b) == 5.0
    assert _engine.opaque_us(B2.hbm_bytes_per_s, 0, "f32", B2, b) == pytest.approx(1e6 + 5)
    peak = 16 * 16 * 16 * 24 * 1800e6
    assert _engine.opaque_us(0, peak, "f16", B2, b) == pytest.approx(1e6 + 5)
    assert _engine.opaque_us(0, peak, "f32", B2, b) == pytest.approx(4e6 + 5)
    assert _engine.opaque_us(0, peak, "i8", B2, b) == pytest.approx(5e5 + 5)
    with pytest.raises(ValueError, match="unknown dtype"):
        _engine.opaque_us(0, 0, "half", B2, b)
