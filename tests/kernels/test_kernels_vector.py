"""Vector programs through the kernels on the emulator, against the reference: every operator, span, dtype and chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_fuse.program.bound import bounds
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.program import Extent, Program
from ascend_fuse.program.text import parse_program
from tests.kernels.emulated import SATURATING, check, philox_words
from tests.kernels.random_rows import BINARY, COMPARE, REDUCE, UNARY, random_rows
from tests.program.program_strategy import programs

Array = npt.NDArray[Any]
CHIPS = ("Ascend910B3", "Ascend950PR_9599", "Ascend310P3", "Ascend910A", "Ascend310B1")
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-30,
    2.5,
    -2.5,
    3e9,
    -3e9,
    1e30,
    0.5,
    1e-3,
    88.0,
    -88.0,
    20.0,
)
TILES = ((0, 0, 0), (1, 0, 1), (3, 0, 2), (8, 0, 1), (1, 512, 1), (1, 256, 2))


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    kind = dtype_of(dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -9, 10, shape).astype(kind)
    return (rng.standard_normal(shape) * rng.choice([1, 1, 4])).astype(kind)


def inputs_of(program: Program, sizes: dict[str, int], seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)

    def size(extent: Extent) -> int:
        return sizes[extent] if isinstance(extent, str) else extent

    shapes = [tuple(int(np.prod([size(e) for e in f])) for f in i.tensor_shape) for i in program.inputs]
    return [values(rng, i.type.dtype, shape) for i, shape in zip(program.inputs, shapes, strict=True)]


def unlowered(error: ValueError) -> bool:
    """Whether lowering says that it does not do it, rather than a kernel doing it wrong."""
    return "lower: " in str(error) or "ub-overflow" in str(error)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_every_unary_operator_on_numbers_at_the_edge(soc: str, dtype: str) -> None:
    if dtype == "bf16" and soc in SATURATING:
        pytest.skip("the chip has no bf16")
    plain = np.random.default_rng(3).standard_normal(69 - len(SPECIAL)) * 4
    with np.errstate(over="ignore"):
        x = np.concatenate([SPECIAL, plain]).astype(dtype_of(dtype)).reshape(3, 23)
    for op in UNARY:
        text = f"elementwise 1 [d0, d1]\nx0: {dtype}[d0, d1] = in\nv0: {dtype}[d0, d1] = {op} x0\nout v0"
        finite = x if dtype == "f32" or soc not in SATURATING else np.nan_to_num(x, nan=0, posinf=1, neginf=-1)
        check(text, [finite], soc)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_every_binary_operator_on_every_pair_of_spans(soc: str, dtype: str) -> None:
    head = (
        f"rowwise 1 [d0 | d1]\nx0: {dtype}[d0 | d1] = in\nx1: {dtype}[d0 | d1] = in\nx2: {dtype}[1 | d1] = in (d1)\n"
        f"x3: {dtype}[d0 | 1] = in (d0)\nx4: {dtype}[1 | 1] = in\n"
    )
    pairs = ["x0, x1", "x0, x2", "x2, x0", "x0, x3", "x3, x0", "x0, x4", "x4, x0", "x2, x3", "x0, 2.5", "-1.5, x0"]
    rng = np.random.default_rng(5)
    arrays = [values(rng, dtype, shape) for shape in ((19, 77), (19, 77), (77,), (19,), (1, 1))]
    for op in (*BINARY, *COMPARE):
        out = "bool" if op in COMPARE else dtype
        lines = "".join(f"v{i}: {out}[d0 | d1] = {op} {pair}\n" for i, pair in enumerate(pairs[:7]))
        check(head + lines + "out v0, v1, v2, v3, v4, v5, v6", arrays, soc)
        lines = "".join(f"v{i}: {out}[d0 | d1] = {op} {pair}\n" for i, pair in enumerate(pairs[7:]))
        check(head + lines + "out v0, v1, v2", arrays, soc)


@pytest.mark.parametrize("soc", CHIPS)
def test_reductions_of_rows_of_any_length(soc: str) -> None:
    for dtype in ("f32", "f16"):
        for rows, cols in ((1, 2), (5, 7), (300, 3), (9, 64), (4, 65), (3, 4097), (2, 9000)):
            lines = "".join(f"v{i}: {dtype}[d0 | 1] = {op} x0\n" for i, op in enumerate(REDUCE))
            text = f"rowwise 1 [d0 | d1]\nx0: {dtype}[d0 | d1] = in\n{lines}out v0, v1, v2, v3, v4"
            check(text, inputs_of(parse_program(text), {"d0": rows, "d1": cols}, rows), soc)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("op", ["asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"])
def test_inverse_and_hyperbolic_functions_over_their_whole_range(soc: str, op: str) -> None:
    """Where they cancel, meet the ends of their range, or overflow; the bound is a few units of the result."""
    sizes = np.float32(2.0) ** np.arange(-40, 128)
    ends = [1.0, 1 + 2**-23, 1 - 2**-24, 0.0, 3.4e38, 88.5, 89.2, 89.6]
    x = np.concatenate([sizes, sizes * np.float32(1.37), ends, np.linspace(0, 3, 97)])
    both = np.concatenate([x, -x]).astype(np.float32)[None]
    text = f"elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nv0: f32[d0, d1] = {op} x0\nout v0"
    ((value, bound),) = bounds(parse_program(text), [both])
    finite = np.isfinite(value) & (np.abs(value) > 1e-30)
    assert (bound[finite] <= 3e-6 * np.abs(value[finite])).all()
    check(text, [both], soc)


@pytest.mark.parametrize("soc", CHIPS)
def test_remainders_are_exact(soc: str) -> None:
    """Also where the quotient in f32 is a whole number and the true one is just below: 0.3 by 0.1."""
    text = "elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nx1: f32[d0, d1] = in\nv0: f32[d0, d1] = mod x0, x1\nout v0"
    rng = np.random.default_rng(8)
    b = (rng.uniform(1, 2, (5, 200)) * 2.0 ** rng.integers(-80, 60, (5, 200))).astype(np.float32)
    a = (b * rng.integers(0, 2**28, b.shape) * rng.choice([1, 1.1, 2.0**-20], b.shape)).astype(np.float32)
    signs = rng.choice([-1, 1], (2, *b.shape)).astype(np.float32)
    a[0, :4], b[0, :4] = [0.3, 5.5, 1.0, 7.0], [0.1, 2.0, np.inf, 7.0]
    (got,) = check(text, [a * signs[0], b * signs[1]], soc).outputs
    assert (got[:, 3:] == np.fmod(a * signs[0], b * signs[1])[:, 3:]).all()
    assert np.float32(0.3) % np.float32(0.1) == abs(got[0, 0])


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("dtype", ["i32", "i16"])
def test_logic_on_bits(soc: str, dtype: str) -> None:
    text = (
        f"rowwise 1 [d0 | d1]\nx0: {dtype}[d0 | d1] = in\nx1: {dtype}[1 | d1] = in (d1)\nx2: {dtype}[d0 | 1] = in (d0)\n"
        f"v0: {dtype}[d0 | d1] = bit_and x0, x1\nv1: {dtype}[d0 | d1] = bit_or x0, x2\n"
        f"v2: {dtype}[d0 | d1] = bit_xor v0, v1\nv3: {dtype}[d0 | d1] = bit_not v2\n"
        f"v4: {dtype}[d0 | d1] = bit_and v3, 12345\nv5: {dtype}[d0 | d1] = bit_xor -7, x0\nout v0, v1, v2, v3, v4, v5"
    )
    rng, kind = np.random.default_rng(4), np.iinfo(dtype_of(dtype))
    arrays = [rng.integers(kind.min, kind.max, shape).astype(kind.dtype) for shape in ((9, 45), (45,), (9,))]
    check(text, arrays, soc)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 77), (5, 33), (2, 9001)])
def test_the_first_of_the_greatest(soc: str, shape: tuple[int, int]) -> None:
    text = (
        "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[1 | d1] = index\nv1: f32[d0 | 1] = reduce_max x0\n"
        "v2: bool[d0 | d1] = eq x0, v1\nv3: f32[d0 | d1] = where v2, v0, inf\nv4: f32[d0 | 1] = reduce_min v3\n"
        "v5: bool[d0 | d1] = eq v0, v4\nv6: f32[d0 | d1] = cast v5\nout v6, v4"
    )
    x = np.random.default_rng(6).integers(0, 4, shape).astype(np.float32)
    check(text, [x], soc)
    check(text, [x], soc, (1, 512 if shape[1] > 512 else 0, 1))


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_random_programs_over_rows_in_random_tiles(seed: int) -> None:
    run = 0
    for k in range(seed, seed + 40):
        rng = np.random.default_rng(k)
        program = random_rows(k)
        cols = int(rng.choice([1, 2, 7, 8, 16, 31, 33, 63, 64, 65, 129, 255, 700, 1500, 5000]))
        rows = int(rng.choice([1, 2, 3, 8, 9, 33, 65] if cols > 300 else [1, 3, 7, 8, 33, 65, 300]))
        tile = TILES[int(rng.integers(len(TILES)))]
        if cols <= tile[1]:
            tile = (0, 0, 0)
        try:
            check(program, inputs_of(program, {"d0": rows, "d1": cols}, k), CHIPS[k % len(CHIPS)], tile)
            run += 1
        except ValueError as error:
            assert unlowered(error), error
    assert run > 20


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from([1, 3, 16, 33]), st.sampled_from([1, 5, 31, 64, 257]), st.integers(0, 99))
def test_random_programs_over_the_whole_table(program: Program, rows: int, cols: int, seed: int) -> None:
    soc = CHIPS[seed % len(CHIPS)]
    sizes = {f"d{k}": 3 for k in range(2, 9)} | {"d0": rows, "d1": cols if program.family == "elementwise" else 2}
    masks = {line.name: np.zeros(()) for line in program.instrs if line.op.startswith("random_")}
    if masks:
        return  # drawn below
    try:
        check(program, inputs_of(program, sizes, seed), soc)
    except ValueError as error:
        assert unlowered(error), error


@pytest.mark.parametrize("soc", CHIPS)
def test_elements_of_any_number(soc: str) -> None:
    text = "elementwise 1 [d0]\nx0: f32[d0] = in\nx1: f32[d0] = in\nv0: f32[d0] = add x0, x1\nv1: f32[d0] = mul v0, 0.5\nout v0, v1"
    for count in (1, 31, 1000, 99991, *([1000003] if soc == "Ascend910B3" else [])):
        ran = check(text, inputs_of(parse_program(text), {"d0": count}, count), soc)
        assert ran.counters.loaded_bytes == ran.counters.distinct_loaded_bytes == 8 * count  # compulsory: inputs once


@pytest.mark.parametrize("soc", CHIPS)
def test_long_rows_are_streamed(soc: str) -> None:
    text = (
        "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nx1: f32[d1] = in\nv0: f32[d0 | 1] = reduce_max x0\n"
        "v1: f32[d0 | d1] = sub x0, v0\nv2: f32[d0 | d1] = exp v1\nv3: f32[d0 | 1] = reduce_sum v2\n"
        "v4: f32[d0 | d1] = div v2, v3\nv5: f32[d0 | d1] = mul v4, x1\nout v5, v3"
    )
    ran = check(text, inputs_of(parse_program(text), {"d0": 2, "d1": 150001}, 1), soc)
    assert ran.counters.loaded_bytes > 2 * ran.counters.distinct_loaded_bytes


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("half", [8, 5, 64])
def test_rotary_embedding_slices_and_joins_rows(soc: str, half: int) -> None:
    full = 2 * half
    text = (
        f"rowwise 1 [d0, d1 | {full}]\nx0: f16[d0, d1 | {full}] = in\nx1: f16[1, d1 | {full}] = in (d1, {full})\n"
        f"x2: f16[1, d1 | {full}] = in (d1, {full})\n"
        f"v0: f16[d0, d1 | {half}] = slice x0 {{start=0, stop={half}}}\n"
        f"v1: f16[d0, d1 | {half}] = slice x0 {{start={half}, stop={full}}}\nv2: f16[d0, d1 | {half}] = neg v1\n"
        f"v3: f16[d0, d1 | {full}] = concat v2, v0\nv4: f16[d0, d1 | {full}] = mul x0, x1\n"
        f"v5: f16[d0, d1 | {full}] = mul v3, x2\nv6: f16[d0, d1 | {full}] = add v4, v5\nout v6"
    )
    check(text, inputs_of(parse_program(text), {"d0": 3, "d1": 7}, half), soc)


@pytest.mark.parametrize("soc", CHIPS)
def test_a_value_that_repeats_inside_of_the_row(soc: str) -> None:
    text = (
        "rowwise 1 [d0 | 4, d1]\nx0: f32[d0 | 4, d1] = in\nx1: f32[1 | 4, 1] = in (4)\nv0: f32[d0 | 1, 1] = reduce_mean x0\n"
        "v1: f32[d0 | 4, d1] = sub x0, v0\nv2: f32[d0 | 4, d1] = mul v1, x1\nout v2"
    )
    for cols in (16, 33, 20001):
        check(text, inputs_of(parse_program(text), {"d0": 3, "d1": cols}, cols), soc)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("side", ["behind", "before"])
def test_an_output_grows_a_past(soc: str, side: str) -> None:
    text = (
        "elementwise 1 [d0, 2, d1, 8]\nx0: f16[d0, 2, d1, 8] = in\nx1: f16[d0, 2, d2, 8] = past\n"
        f"v0: f16[d0, 2, d1, 8] = mul x0, 2.0\nout v0 {side} x1 @2"
    )
    for past in (1, 6, 700):
        check(text, inputs_of(parse_program(text), {"d0": 3, "d1": 5, "d2": past}, past), soc)


# short rows by the scalar unit; rows that begin inside of a counter; rows without padding, which are one
DRAWN = [(7, 37), (3, 1541), (5, 256), (2, 2048)]


@pytest.mark.parametrize("shape", DRAWN)
@pytest.mark.parametrize("soc", CHIPS)
def test_numbers_do_not_depend_on_tiles(soc: str, shape: tuple[int, int]) -> None:
    rows, cols = shape
    text = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | d1] = random_uniform\nv1: f32[d0 | d1] = add v0, x0\nv2: f32[d0 | 1] = reduce_max v0\nout v0, v1, v2"
    program, key, run = parse_program(text), 11 | (2**32 - 5) << 32, 9
    wanted = {"v0": (philox_words(rows * cols, key, (run, 0)) // 256 * 2.0**-24).astype(np.float32).reshape(shape)}
    for tile in ((0, 0, 0), (1, 0, 1), (3, 0, 2)):
        ran = check(program, inputs_of(program, {"d0": rows, "d1": cols}, 1), soc, tile, wanted, (key, run))
        np.testing.assert_array_equal(ran.outputs[0], wanted["v0"])


@pytest.mark.parametrize("shape", DRAWN)
@pytest.mark.parametrize("soc", CHIPS)
def test_draws_do_not_depend_on_tiles(soc: str, shape: tuple[int, int]) -> None:
    rows, cols = shape
    text = (
        "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: bool[d0 | d1] = random_keep {ratio=0.3}\n"
        "v1: f32[d0 | d1] = where v0, x0, 0\nv2: bool[d0 | d1] = random_keep {ratio=0.5, seed=7}\nout v1, v0, v2"
    )
    program, count = parse_program(text), rows * cols
    key, run = 11 | (2**32 - 5) << 32, (9, 1)
    wanted = {
        "v0": philox_words(count, key, run) >= np.ceil(float(np.float32(0.3)) * 2**32),
        "v2": philox_words(count, 7, run) >= 2**31,
    }
    masks = {name: mask.reshape(shape) for name, mask in wanted.items()}
    for tile in ((0, 0, 0), (1, 0, 1), (3, 0, 2)):
        check(program, inputs_of(program, {"d0": rows, "d1": cols}, 1), soc, tile, masks, (key, run[0] | run[1] << 32))
    assert 0.6 < masks["v0"].mean() < 0.8
