"""Tensors in orders of their own: tiles, the price of turning, and what is refused."""

import pytest
from engine_program import CHANNELS_LAST, MOVE, TURNED
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_fuse import _engine

SOCS = ("Ascend910A", "Ascend310P3", "Ascend910B3", "Ascend950PR_9599")
BOUNDS = _engine.Bounds()
CHIP = _engine.soc("Ascend910B3")
SPACE = "[d0, 64 | d1, d2]"


def move(into: str, out: str, dtype: str = "f32") -> _engine.Program:
    """A movement of one tensor, from one order to another."""
    return _engine.Program(
        f"transform 1 {SPACE}\nx0: {dtype}{SPACE} = in{into}\nv0: {dtype}{SPACE} = copy x0\nout v0{out}"
    )


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([_engine.Program(text) for text in TURNED]),
    st.sampled_from(SOCS),
    st.lists(st.integers(1, 2000), min_size=3, max_size=3),
)
def test_tiles_cover_the_space_and_fit(program: _engine.Program, name: str, sizes: list[int]) -> None:
    t = _engine.solve(program, sizes, _engine.soc(name), BOUNDS)
    assert t.rows * t.cols == 64 * sizes[0] * sizes[1] * sizes[2]
    assert 0 < t.tile_rows <= t.rows and 0 < t.tile_cols <= t.cols
    assert t.tasks >= -(-t.rows // t.tile_rows)
    assert t.block_dim * t.tasks_per_core >= t.tasks > (t.block_dim - 1) * t.tasks_per_core
    assert t.ub_bytes <= t.ub_budget


def test_turning_costs_what_moving_does_not() -> None:
    sizes = [8, 56, 56]
    turned, straight = (_engine.estimate(move("", o), sizes, CHIP, BOUNDS) for o in (" <0 2 3 1>", " <1 0 2 3>"))
    assert turned.hbm_bytes == straight.hbm_bytes == 2 * 4 * 8 * 64 * 56 * 56
    assert turned.vector_us > 3 * straight.vector_us
    assert turned.total_us > straight.total_us


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8", "i64"])
def test_a_wider_element_costs_no_less(dtype: str) -> None:
    sizes, order = [8, 56, 56], " <0 2 3 1>"
    cost = _engine.estimate(move("", order, dtype), sizes, CHIP, BOUNDS)
    assert cost.vector_us >= _engine.estimate(move("", order, "f16"), sizes, CHIP, BOUNDS).vector_us
    assert cost.assumed_share < 1


def test_a_transpose_a_cast_and_a_transpose_pay_as_one() -> None:
    sizes = [8, 56, 56]
    cast = "elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nv0: f16[d0, d1] = cast x0\nout v0"
    fused = f"transform 1 {SPACE}\nx0: f32{SPACE} = in\nv0: f16{SPACE} = cast x0\nout v0 <0 2 3 1>"
    parts = [(move("", " <0 2 3 1>"), sizes), (_engine.Program(cast), [8 * 56 * 56, 64])]
    verdict = _engine.judge(_engine.Program(fused), sizes, parts, CHIP, BOUNDS)
    assert verdict.fuse
    assert (verdict.before_bytes, verdict.after_bytes) == (
        (4 + 4 + 4 + 2) * 64 * sizes[0] * 56 * 56,
        6 * 64 * 8 * 56 * 56,
    )


@pytest.mark.parametrize("text", [MOVE, CHANNELS_LAST])
def test_a_program_gains_nothing_over_itself(text: str) -> None:
    program = _engine.Program(text)
    verdict = _engine.judge(program, [2, 7, 9], [(program, [2, 7, 9])], CHIP, BOUNDS)
    assert (verdict.fuse, verdict.code) == (False, "no-gain")


@pytest.mark.parametrize("order", [" <0 1 3 2>", " <2 1 3 0>"])
def test_another_bar_serves_where_the_programs_own_does_not(order: str) -> None:
    """Innermost in memory is neither the last axis of the rows nor that of the cols, as the text cuts them."""
    program = move("", order)
    for sizes in ([2, 7, 9], [1, 7, 1]):
        assert _engine.unsupported(program, sizes, CHIP) is None
        _engine.lower(program, sizes, CHIP, BOUNDS)


def test_two_orders_that_no_bar_serves_are_refused() -> None:
    """Each is another axis innermost, and neither the input's."""
    space = "f32[d0, 6 | d1, d2]"
    program = _engine.Program(
        f"transform 1 [d0, 6 | d1, d2]\nx0: {space} = in\nv0: {space} = copy x0\nv1: {space} = copy x0\n"
        "out v0 <0 2 3 1>, v1 <2 3 1 0>"
    )
    refusal = _engine.unsupported(program, [2, 7, 9], CHIP)
    assert refusal is not None and refusal[0] == "axis-not-trailing"
    assert _engine.unsupported(program, [1, 7, 9], CHIP) is None  # axes of one element aside
    with pytest.raises(ValueError, match=r"lower: v. is contiguous along neither"):
        _engine.lower(program, [2, 7, 9], CHIP, BOUNDS)
