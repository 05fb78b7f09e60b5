"""Outputs in two parts: their text, what it refuses, and what the copied part costs."""

from __future__ import annotations

import pytest
from engine_program import CACHE, MERGED

from ascend_fuse import _engine

CHIPS = ("Ascend910A", "Ascend910B3", "Ascend950PR_9599")
HEADS = """\
matmul 1 [d0, d1 | 8, 64]
x0: f16[d0, d1 | d2] = left
x1: f16[d2 | 8, 64] = right (d2, 8*64)
x2: f16[d0, 8, d3, 64] = past
v0: f16[d0, d1 | 8, 64] = matmul x0, x1
out v0 <0 2 1 3> behind x2 @2"""
BIASED = HEADS.replace("out v0", "v1: f16[d0, d1 | 8, 64] = tanh v0\nout v1")
ONE = """\
rowwise 1 [d0, 8, d1 | 64]
x0: f16[d0, 8, d2, 64] = past
x1: f16[d0, 8, d1 | 64] = in
v0: f16[d0, 8, d1 | 64] = mul x1, 0.5
out v0 behind x0 @2"""
Case = tuple[str, list[int]]
VECTOR: list[Case] = [(ONE, [1, 1, 127]), (ONE, [4, 128, 1024]), (MERGED, [2, 1, 300]), (CACHE, [2, 1, 127, 33])]


def plain(text: str) -> str:
    """The program without the second parts: inputs and symbols of its own."""
    lines = [line for line in text.split("\n") if "= past" not in line]
    outs = dict.fromkeys(o.split(" behind ")[0].split(" before ")[0] for o in lines[-1][4:].split(", v"))
    names = [o if o.startswith("v") else f"v{o}" for o in outs]
    return "\n".join([*lines[:-1], "out " + ", ".join(dict.fromkeys(names))])


@pytest.mark.parametrize("text", [HEADS, BIASED, ONE])
def test_printing_gives_the_same_bytes(text: str) -> None:
    assert _engine.Program(text).text() == text


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (" @2", " @3", "line 5: (d0, 8, d2, 64) and (d0, 8, d1, 64) cannot be joined along axis 3"),
        (" @2", " @4", "line 5: x0 and v0 have no axis 4"),
        (" @2", "", "line 5: wanted the name of a past and an axis"),
        (" @2", " @x", "line 5: wanted the name of a past and an axis"),
        ("behind x0", "behind x1", "line 5: x1 is no past"),
        ("behind x0", "behind x9", "line 5: no value 'x9'"),
        ("behind x0", "beside x0", "line 5: "),
        (" behind x0 @2", "", "line 5: x0 is a past that no output has"),
        ("out v0", "out v0 behind x0 @2, v0", "line 5: x0 is in two outputs"),
        ("out v0", "out v0, v0, v0", "line 5: v0 is an output twice"),
        ("out v0", "out x0, v0", "line 5: x0 is a past"),
        ("mul x1, 0.5", "mul x1, x0", "line 4: x0 is a past; no instruction reads it"),
        ("x0: f16[", "x0: f32[", "line 5: x0 is f32, v0 f16"),
        ("d2, 64] = past", "d2 | 64] = past", "line 2: the type of past has no |"),
        ("= past", "= past <0 1 3 2>", "line 2: a past has no order"),
        ("f16[d0, 8, d2, 64] = past", "f16[d0, 4, d2, 64] = past", "line 5: (d0, 4, d2, 64) and"),
        ("f16[d0, 8, d2, 64] = past", "f16[d0, d2, 64] = past", "line 5: x0 and v0 have no axis 2"),
    ],
)  # fmt: skip
def test_bad_text_names_its_line(old: str, new: str, error: str) -> None:
    assert old in ONE
    with pytest.raises(ValueError, match=r"line \d+: ") as raised:
        _engine.Program(ONE.replace(old, new, 1))
    said = str(raised.value)
    assert said.startswith(error) or (old == "f16[d0, 8, d2, 64] = past" and "stands before" in said), said


def test_a_joined_dimension_is_no_product() -> None:
    with pytest.raises(ValueError, match="cannot be joined along axis 2"):
        _engine.Program(MERGED.replace("@1", "@2"))


def test_a_past_of_a_product_has_no_order() -> None:
    with pytest.raises(ValueError, match="line 4: a past has no order"):
        _engine.Program(HEADS.replace("= past", "= past <0 2 1 3>"))


def test_an_empty_past_is_no_size() -> None:
    with pytest.raises(ValueError, match="d2 is 0"):
        _engine.estimate(_engine.Program(ONE), [1, 1, 0], _engine.soc(CHIPS[0]), _engine.Bounds())


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("text", "sizes"), VECTOR)
def test_what_is_copied_goes_through_memory_twice(text: str, sizes: list[int], chip: str) -> None:
    soc, bounds = _engine.soc(chip), _engine.Bounds()
    own = _engine.Program(plain(text))
    both = _engine.estimate(_engine.Program(text), sizes, soc, bounds)
    alone = _engine.estimate(own, sizes[: len(own.symbols)], soc, bounds)
    width, inner = (4, sizes[1]) if text == MERGED else (2, 1)
    copied = sum(2 * sizes[0] * 8 * inner * past * 64 * width for past in sizes[2:])
    again = sizes[0] * 8 * sizes[1] * 64 * width if text == CACHE else 0  # v0 is written twice
    assert both.hbm_bytes == alone.hbm_bytes + copied + again
    assert both.total_us > alone.total_us
    assert both.total_us - both.launch_us >= both.hbm_bytes / soc.hbm_bytes_per_s * 1e6


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("text", [HEADS, BIASED])
@pytest.mark.parametrize("sizes", [[1, 1, 1024, 127], [4, 128, 512, 1000]])
def test_a_product_copies_beside_its_tiles(text: str, sizes: list[int], chip: str) -> None:
    soc, bounds = _engine.soc(chip), _engine.Bounds()
    both = _engine.solve_gemm(_engine.Program(text), sizes, soc, bounds)[1]
    alone = _engine.solve_gemm(_engine.Program(plain(text)), sizes[:3], soc, bounds)[1]
    assert both.hbm_bytes - alone.hbm_bytes == 2 * sizes[0] * 8 * sizes[3] * 64 * 2
    assert both.total_us >= alone.total_us
    assert both.total_us - both.pipes["launch"] >= both.hbm_bytes / soc.hbm_bytes_per_s * 1e6


@pytest.mark.parametrize("chip", CHIPS)
def test_a_longer_past_never_costs_less(chip: str) -> None:
    soc, bounds, program = _engine.soc(chip), _engine.Bounds(), _engine.Program(ONE)
    times = [_engine.estimate(program, [1, 1, past], soc, bounds).total_us for past in (1, 16, 128, 1024, 4096, 32768)]
    assert times == sorted(times) and times[-1] > times[0]


def test_rows_of_two_images_are_no_rows_of_one_product() -> None:
    """Along the joined axis the parts of two batches lie apart."""
    text = HEADS.replace("out v0 <0 2 1 3> behind x2 @2", "out v0")
    text = text.replace("x2: f16[d0, 8, d3, 64] = past\n", "")
    apart = text.replace("v0: f16", "x2: f16[d0, d3, 8, 64] = past\nv0: f16") + " behind x2 @1"
    whole = _engine.bind_gemm(_engine.Program(text), [4, 128, 512])
    parts = _engine.bind_gemm(_engine.Program(apart), [4, 128, 512, 7])
    assert (whole.batch, whole.m) == (1, 512) and (parts.batch, parts.m) == (4, 128)


def test_a_value_that_is_two_outputs_has_one_buffer() -> None:
    soc, bounds = _engine.soc("Ascend910B3"), _engine.Bounds()
    one = _engine.solve(_engine.Program(ONE), [8, 128, 64], soc, bounds)
    two = _engine.solve(_engine.Program(ONE.replace("out v0", "out v0, v0")), [8, 128, 64], soc, bounds)
    assert one.buffer_num == two.buffer_num
    assert one.ub_bytes * two.tile_rows == two.ub_bytes * one.tile_rows
