"""Turned tensors through the kernels on the emulator, against the reference: orders, dtypes, tiles and chips."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.emulated import SATURATING, Tile, check
from tests.kernels.random_turn import DTYPES, RandomTurn

CHIPS = ("Ascend910B3", "Ascend950PR_9599", "Ascend310P3", "Ascend910A", "Ascend310B1")
TILES: tuple[Tile, ...] = ((0, 0, 0), (0, 0, 0), (16, 0, 1), (20, 32, 2), (64, 64, 1), (1, 96, 2))


def dtypes_of(soc: str) -> tuple[str, ...]:
    return tuple(d for d in DTYPES if d != "bf16" or soc not in SATURATING)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("first", [0, 20, 40])
def test_random_programs_in_random_tiles(soc: str, first: int) -> None:
    run = 0
    for seed in range(first, first + 20):
        case = RandomTurn(seed, dtypes_of(soc), most=12_000)
        try:
            check(case.text, case.arrays, soc, TILES[seed % len(TILES)])
            run += 1
        except ValueError as error:
            assert "lower: no tile of" in str(error) or "lower: the tile does not fit" in str(error), error
    assert run >= 10


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("channels", [3, 16, 40, 64])
def test_channels_last_and_back(soc: str, channels: int) -> None:
    space = f"[d0, {channels} | d1, d2]"
    for dtype in dtypes_of(soc):
        head = f"transform 1 {space}\nx0: {dtype}{space} = in"
        shape = (2, channels, 9, 7)
        x = RandomTurn(1, (dtype,)).draw(list(shape))
        for own, order in (("", " <0 2 3 1>"), (" <0 2 3 1>", "")):
            array = x.transpose(0, 2, 3, 1).copy() if own else x
            ran = check(f"{head}{own}\nv0: {dtype}{space} = copy x0\nout v0{order}", [array], soc)
            np.testing.assert_array_equal(ran.outputs[0], x if own else x.transpose(0, 2, 3, 1))
            assert ran.counters.distinct_loaded_bytes == ran.counters.distinct_stored_bytes == x.nbytes


@pytest.mark.parametrize("soc", CHIPS)
def test_a_norm_over_channels_reads_them_where_they_lie(soc: str) -> None:
    """NCHW in, the mean of all channels of a place taken off, NCHW out: no tensor is written twice."""
    space, row = "[d0, d1, d2 | 24]", "[d0, d1, d2 | 1]"
    text = (
        f"rowwise 1 {space}\nx0: f16{space} = in <0 3 1 2>\nx1: f16[1, 1, 1 | 24] = in (24)\n"
        f"v0: f16{row} = reduce_mean x0\nv1: f16{space} = sub x0, v0\nv2: f16{space} = mul v1, x1\nout v2 <0 3 1 2>"
    )
    rng = np.random.default_rng(4)
    x, gain = (rng.standard_normal(shape).astype(np.float16) for shape in ((2, 24, 10, 6), (24,)))
    ran = check(text, [x, gain], soc)
    assert ran.counters.distinct_loaded_bytes == x.nbytes + gain.nbytes


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend310P3"])
def test_long_turned_rows_are_streamed(soc: str) -> None:
    space, row = "[d0 | d1]", "[d0 | 1]"
    text = (
        f"rowwise 1 {space}\nx0: f32{space} = in <1 0>\nv0: f32{row} = reduce_max x0\nv1: f32{space} = sub x0, v0\n"
        f"v2: f32{space} = exp v1\nv3: f32{row} = reduce_sum v2\nv4: f32{space} = div v2, v3\nout v4 <1 0>"
    )
    x = np.random.default_rng(2).standard_normal((5003, 20)).astype(np.float32)
    ran = check(text, [x], soc, (16, 256, 2))
    assert ran.counters.loaded_bytes > 2 * ran.counters.distinct_loaded_bytes
