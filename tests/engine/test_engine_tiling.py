"""Tiles cover the space and fit; estimates are monotone, bounded from below and repeatable."""

import pytest
from engine_program import ALL, CACHE, CHAIN, GROUP_NORM, INI, MERGED, ROTARY, SOFTMAX, TURNED, binary, softmax
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_fuse import _engine

SOCS = ("Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9599")
SIZES = st.integers(1, 5000)
PROGRAMS = st.sampled_from([_engine.Program(text) for text in ALL])
EVERY = st.sampled_from([_engine.Program(text) for text in (*ALL, *TURNED)])
BOUNDS = _engine.Bounds()


def sizes_of(program: _engine.Program, draw: st.DataObject) -> list[int]:
    return [draw.draw(SIZES, label=symbol) for symbol in program.symbols]


def chip(**changes: int) -> _engine.Soc:
    """A 910B2 with other figures."""
    text = INI
    for key, value in changes.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{key}="))
        text = text.replace(old, f"{key}={value}", 1)
    return _engine.soc_from_ini(text, "changed")


@settings(max_examples=150, deadline=None)
@given(PROGRAMS, st.sampled_from(SOCS), st.floats(0, 0.5), st.data())
def test_tiles_cover_the_space_and_fit(
    program: _engine.Program, name: str, reserve: float, draw: st.DataObject
) -> None:
    soc, sizes = _engine.soc(name), sizes_of(program, draw)
    t = _engine.solve(program, sizes, soc, _engine.Bounds(ub_reserve=reserve))
    volume = {ROTARY: 64, GROUP_NORM: 320, CACHE: 512, MERGED: 512}.get(program.text(), 1)
    joined = program.text() in (CACHE, MERGED)
    for size in sizes[:2] if joined else sizes:  # a past has sizes of its own
        volume *= size
    assert t.rows * t.cols == volume
    assert 0 < t.tile_rows <= t.rows and 0 < t.tile_cols <= t.cols
    segment = sizes[1] if program.text() == GROUP_NORM and t.tile_cols < t.cols else t.cols
    outer, inner = -(-t.rows // t.tile_rows), t.cols // segment * -(-segment // t.tile_cols)
    assert t.tile_cols <= segment
    assert t.tasks in (outer, outer * inner)
    # Every task has a core, and no core is idle: one without a task copies its share of a past.
    assert t.block_dim * t.tasks_per_core >= t.tasks
    assert joined or t.tasks > (t.block_dim - 1) * t.tasks_per_core
    assert 0 < t.block_dim <= soc.vector_cores
    assert t.ub_bytes % 32 == 0
    assert t.ub_bytes <= t.ub_budget <= (soc.ub_size - soc.ub_reserved) * (1 - reserve)
    assert t.buffer_num in (1, 2)
    assert t.tile_cols == t.cols or t.tile_cols % 8 == 0


@settings(max_examples=100, deadline=None)
@given(EVERY, st.data())
def test_more_bandwidth_and_more_ub_never_cost_more(program: _engine.Program, draw: st.DataObject) -> None:
    sizes = sizes_of(program, draw)
    rates, ubs = (4, 16, 32, 64, 200), (65536, 98304, 196608, 262144, 1048576)
    by_rate = [_engine.estimate(program, sizes, chip(ddr_rate=r), BOUNDS).total_us for r in rates]
    by_ub = [_engine.estimate(program, sizes, chip(ub_size=u), BOUNDS).total_us for u in ubs]
    assert by_rate == sorted(by_rate, reverse=True)
    assert by_ub == sorted(by_ub, reverse=True)


@settings(max_examples=150, deadline=None)
@given(EVERY, st.sampled_from(_engine.soc_names()), st.data())
def test_never_below_bytes_over_bandwidth(program: _engine.Program, name: str, draw: st.DataObject) -> None:
    soc, sizes = _engine.soc(name), sizes_of(program, draw)
    cost = _engine.estimate(program, sizes, soc, BOUNDS)
    floor = cost.hbm_bytes / soc.hbm_bytes_per_s * 1e6 + cost.launch_us
    assert cost.total_us >= floor
    busy = max(cost.mte2_us, cost.vector_us, cost.mte3_us, cost.hbm_us)
    assert cost.total_us >= cost.launch_us + cost.head_us + busy - 1e-9
    assert 0 <= cost.assumed_share <= 1
    if soc.npu_arch in (1001, 2002, 3002):
        assert cost.assumed_share > 0


@settings(max_examples=60, deadline=None)
@given(EVERY, st.sampled_from(SOCS), st.data())
def test_the_same_question_has_the_same_answer(program: _engine.Program, name: str, draw: st.DataObject) -> None:
    sizes, again = sizes_of(program, draw), _engine.Program(program.text())

    def answer(p: _engine.Program) -> list[float]:
        t, c = (f(p, sizes, _engine.soc(name), BOUNDS) for f in (_engine.solve, _engine.estimate))
        return [t.block_dim, t.buffer_num, t.tile_rows, t.tile_cols, t.ub_bytes, c.total_us, c.hbm_bytes]

    assert answer(program) == answer(again)


def test_the_space_flattens_as_far_as_broadcasting_allows() -> None:
    soc = _engine.soc("Ascend910B2")
    plain = _engine.Program("elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nv0: f32[d0, d1] = exp x0\nout v0")
    t = _engine.solve(plain, [100, 30], soc, BOUNDS)
    assert (t.rows, t.cols) == (1, 3000)
    t = _engine.solve(_engine.Program(CHAIN), [4, 6, 32], soc, BOUNDS)
    assert (t.rows, t.cols) == (24, 32)
    t = _engine.solve(_engine.Program(CHAIN), [4, 1, 32], soc, BOUNDS)  # nothing broadcasts along one element
    assert (t.rows, t.cols) == (1, 128)


def test_a_row_that_fits_is_read_once() -> None:
    program, soc = _engine.Program(SOFTMAX), _engine.soc("Ascend910B2")
    t, c = (f(program, [2, 512, 768], soc, BOUNDS) for f in (_engine.solve, _engine.estimate))
    assert (t.passes, t.tile_cols) == (1, 768)
    assert c.hbm_bytes == 4 * (3 * 2 * 512 * 768 + 768)


@pytest.mark.parametrize(
    ("text", "passes", "reads"),
    [
        (softmax(), 3, 3),
        ("rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_sum x0\nout v0", 1, 1),
        (
            "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_mean x0\n"
            "v1: f32[d0 | 1] = sqrt v0\nv2: f32[d0 | d1] = div x0, v1\nout v2",
            2,
            2,
        ),
    ],
)
def test_a_long_row_streams(text: str, passes: int, reads: int) -> None:
    program, soc, cols = _engine.Program(text), _engine.soc("Ascend910B2"), 1_000_000
    t, c = (f(program, [48, cols], soc, BOUNDS) for f in (_engine.solve, _engine.estimate))
    assert t.passes == passes and t.tile_cols < cols
    out = 48 * (cols if passes > 1 else 1)
    assert c.hbm_bytes == 4 * (48 * cols * reads + out)


def test_a_long_row_is_cut_inside_what_broadcasts_in_it() -> None:
    """A scale for each of ten planes of a row: no tile sees two of them, and each tile loads its own."""
    program, soc = _engine.Program(GROUP_NORM), _engine.soc("Ascend910B2")
    short, long = (_engine.solve(program, [2, d1], soc, BOUNDS) for d1 in (64, 4096))
    assert (short.passes, short.tile_cols) == (1, 640)
    assert (long.passes, long.cols) == (2, 40960)
    assert long.tile_cols <= 4096
    cost = _engine.estimate(program, [2, 4096], soc, BOUNDS)
    image = 4 * 2 * 32 * 40960
    assert cost.hbm_bytes == 2 * image + 2 * 320 + image + 4 * 2 * 32  # two sweeps, the scales, two outputs


def test_a_long_row_is_not_cut_where_planes_are_short_or_reduced() -> None:
    soc = _engine.soc("Ascend910B2")
    planes = GROUP_NORM.replace("10", "10000")
    with pytest.raises(ValueError, match="ub-overflow"):
        _engine.solve(_engine.Program(planes), [2, 8], soc, BOUNDS)
    assert _engine.solve(_engine.Program(planes), [2, 128], soc, BOUNDS).passes == 2
    reduced = planes.replace("reduce_mean x0", "reduce_mean v0").replace("v1: f32[d0, 32", "v1: f32[1, 32")
    with pytest.raises(ValueError, match="ub-overflow"):
        _engine.solve(_engine.Program(reduced.replace(", v1 (d0*32)", "")), [2, 128], soc, BOUNDS)


def test_a_long_row_with_slices_is_refused() -> None:
    text = ROTARY.replace("64]", "600000]").replace("32]", "300000]").replace("1, 64)", "1, 600000)")
    text = text.replace("start=32, stop=64", "start=300000, stop=600000").replace("stop=32", "stop=300000")
    program = _engine.Program(text.replace("d1, 64)", "d1, 600000)"))
    with pytest.raises(ValueError, match="ub-overflow: the smallest tile needs"):
        _engine.solve(program, [8, 16], _engine.soc("Ascend910B2"), BOUNDS)


def test_bf16_needs_room_to_compute_in_f32() -> None:
    soc, sizes = _engine.soc("Ascend910B2"), [512]
    half = _engine.solve(_engine.Program(binary("add", "f16")), sizes, soc, BOUNDS)
    brain = _engine.solve(_engine.Program(binary("add", "bf16")), sizes, soc, BOUNDS)
    assert half.tile_cols == brain.tile_cols
    # Two operands and the result once more in f32: three tiles of 4 bytes beside the queues.
    queues = half.buffer_num * 3 * half.tile_cols * 2
    assert half.ub_bytes == queues
    assert brain.ub_bytes == brain.buffer_num * 3 * brain.tile_cols * 2 + 3 * brain.tile_cols * 4
    wide = _engine.soc("Ascend950PR_9599")  # adds bf16 itself
    native = _engine.solve(_engine.Program(binary("add", "bf16")), sizes, wide, BOUNDS)
    assert native.ub_bytes == native.buffer_num * 3 * native.tile_cols * 2


def test_a_deeper_cast_costs_time() -> None:
    soc = _engine.soc("Ascend910B2")
    plain = _engine.estimate(_engine.Program(softmax("f32")), [4096, 512], soc, BOUNDS)
    brain = _engine.estimate(_engine.Program(softmax("bf16")), [4096, 512], soc, BOUNDS)
    assert plain.cast_us == 0 < brain.cast_us < brain.vector_us


def test_sizes_must_fit_the_program() -> None:
    program, soc = _engine.Program(SOFTMAX), _engine.soc("Ascend910B2")
    with pytest.raises(ValueError, match="3 symbols, found 1"):
        _engine.estimate(program, [1], soc, BOUNDS)
    with pytest.raises(ValueError, match="d1 is 0"):
        _engine.estimate(program, [1, 0, 1], soc, BOUNDS)
    with pytest.raises(ValueError, match="elements"):
        _engine.estimate(program, [2**31, 2**31, 2**31], soc, BOUNDS)
    joined = (
        "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nx1: f32[d0 | d2] = in\nv0: f32[d0 | d1] = concat x1, x1\nout v0"
    )
    _engine.estimate(_engine.Program(joined), [4, 64, 32], soc, BOUNDS)
    with pytest.raises(ValueError, match="line 4: concat of 60 elements gives no row of 64"):
        _engine.estimate(_engine.Program(joined), [4, 64, 30], soc, BOUNDS)
