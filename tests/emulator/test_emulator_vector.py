"""Vector calls against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from emulator_case import Library

Array = npt.NDArray[Any]
NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
INTEGRAL: dict[int, Callable[[Array], Array]] = {
    NONE: np.rint,
    RINT: np.rint,
    FLOOR: np.floor,
    CEIL: np.ceil,
    ROUND: lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    TRUNC: np.trunc,
}
FLOATS = np.concatenate(
    [
        np.array(
            [0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1e-7, 3e-8, 5.9e-8, 6.1e-5, 65504, 127.5, 254.7, 3e9], np.float32
        ),
        np.random.default_rng(0).normal(0, 100, 500).astype(np.float32),
        np.random.default_rng(1).normal(0, 1e-6, 300).astype(np.float32),
    ]
)


def to_bf16(x: Array) -> Array:
    """Bits of the nearest bfloat16, ties to even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def of_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def directed(x: Array, mode: int) -> Array:
    """x as float16 by a mode: of the two neighbours, the one that the mode asks for."""
    wide = x.astype(np.float64)
    near = wide.astype(np.float16)
    down = np.where(near.astype(np.float64) > wide, np.nextafter(near, np.float16(-np.inf)), near)
    up = np.where(near.astype(np.float64) < wide, np.nextafter(near, np.float16(np.inf)), near)
    exact = down == up
    if mode == FLOOR:
        return down
    if mode == CEIL:
        return up
    if mode == TRUNC:
        return np.where(wide < 0, up, down)
    if mode == ODD:
        return np.where(exact, near, np.where(down.view(np.uint16) % 2 == 1, down, up))
    low, high = down.astype(np.float64), up.astype(np.float64)
    tie = ~exact & (wide - low == high - wide)
    return np.where(tie, np.where(wide < 0, down, up), near)


@pytest.mark.parametrize("mode", [NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD])
def test_float_to_half(library: Library, mode: int) -> None:
    x = FLOATS[np.abs(FLOATS) < 65504]
    y = np.zeros(x.size, np.float16)
    assert library.run("cast", [x], [y], [0, x.size, mode]).fault == ""
    want = x.astype(np.float16) if mode in (NONE, RINT) else directed(x, mode)
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(("kept", "want"), [(0, [65504, -65504, 0, 65504]), (1, [np.inf, -np.inf, np.nan, np.inf])])
def test_saturation(library: Library, kept: int, want: list[float]) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 70000], np.float32)
    y = np.zeros(4, np.float16)
    assert library.run("cast", [x], [y], [0, 4, NONE, kept]).fault == ""
    np.testing.assert_array_equal(y, np.array(want, np.float16))


def test_every_half_there_and_back(library: Library) -> None:
    bits = np.arange(0x7C00, dtype=np.uint16)
    for part in np.array_split(np.concatenate([bits, bits | 0x8000]), 16):
        x, y, z = part.view(np.float16), np.zeros(part.size, np.float32), np.zeros(part.size, np.float16)
        assert library.run("cast", [x], [y], [2, part.size, NONE]).fault == ""
        np.testing.assert_array_equal(y.view(np.uint32), x.astype(np.float32).view(np.uint32))
        assert library.run("cast", [y], [z], [0, part.size, RINT]).fault == ""
        np.testing.assert_array_equal(z.view(np.uint16), part)


def test_bfloat16(library: Library) -> None:
    y, z = np.zeros(FLOATS.size, np.uint16), np.zeros(FLOATS.size, np.float32)
    assert library.run("cast", [FLOATS], [y], [1, FLOATS.size, RINT]).fault == ""
    np.testing.assert_array_equal(y, to_bf16(FLOATS))
    assert library.run("cast", [y], [z], [3, FLOATS.size, NONE]).fault == ""
    np.testing.assert_array_equal(z, of_bf16(y))


@pytest.mark.parametrize("mode", [RINT, FLOOR, CEIL, ROUND, TRUNC])
@pytest.mark.parametrize(
    ("index", "source", "target"),
    [
        (4, np.float32, np.int32),
        (5, np.float32, np.int16),
        (6, np.float32, np.int64),
        (7, np.float16, np.int32),
        (8, np.float16, np.int8),
        (9, np.float16, np.uint8),
        (15, np.float32, np.float32),
    ],
)
def test_float_to_integer(library: Library, index: int, source: type, target: type, mode: int) -> None:
    """Rounded by the mode, then to the nearest value that the target has."""
    x = FLOATS[np.abs(FLOATS) <= 65504].astype(source)
    y = np.zeros(x.size, target)
    assert library.run("cast", [x], [y], [index, x.size, mode]).fault == ""
    want = INTEGRAL[mode](x.astype(np.float64))
    if target is not np.float32:
        limits = np.iinfo(target)
        want = np.clip(want, limits.min, limits.max)
    np.testing.assert_array_equal(y, want.astype(target))


@pytest.mark.parametrize(
    ("index", "source", "target", "mode"),
    [
        (10, np.uint8, np.float16, NONE),
        (11, np.int32, np.float32, NONE),
        (12, np.int64, np.float32, RINT),
        (13, np.int64, np.int32, NONE),
        (14, np.int32, np.int16, NONE),
    ],
)
def test_from_integer(library: Library, index: int, source: type, target: type, mode: int) -> None:
    limits = np.iinfo(source)
    x = np.random.default_rng(3).integers(limits.min, limits.max, 300, source, endpoint=True)
    y = np.zeros(x.size, target)
    assert library.run("cast", [x], [y], [index, x.size, mode]).fault == ""
    if np.issubdtype(target, np.integer):
        x = np.clip(x, np.iinfo(target).min, np.iinfo(target).max)
    np.testing.assert_array_equal(y, x.astype(target))


@pytest.mark.parametrize("op", range(6))
@pytest.mark.parametrize(("index", "dtype"), [(0, np.float32), (1, np.float16), (2, np.int32), (3, np.int16)])
def test_binary(library: Library, index: int, dtype: type, op: int) -> None:
    """Integers wrap; a float is rounded to its own dtype, once."""
    rng = np.random.default_rng(op)
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        x, y = (rng.integers(limits.min, limits.max, 333, dtype) for _ in range(2))
    else:
        x, y = (rng.normal(0, 10, 333).astype(dtype) for _ in range(2))
    z = np.zeros(333, dtype)
    outcome = library.run("binary", [x, y], [z], [index, op, 333])
    if op == 5 and np.issubdtype(dtype, np.integer):
        assert outcome.fault.startswith("unsupported-dtype: Div")
        return
    assert outcome.fault == ""
    want = (np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.divide)[op](x, y)
    np.testing.assert_array_equal(z, want)


@pytest.mark.parametrize(
    ("op", "want"),
    list(
        enumerate(
            [
                np.exp,
                np.log,
                np.sqrt,
                lambda x: 1 / np.sqrt(x),
                np.reciprocal,
                np.abs,
                lambda x: np.maximum(x, 0),
                lambda x: x + 2.5,
                lambda x: x * 2.5,
                lambda x: np.maximum(x, 0.5),
                lambda x: np.minimum(x, 0.5),
            ]
        )
    ),
)
def test_unary(library: Library, op: int, want: Callable[[Array], Array]) -> None:
    x = np.random.default_rng(op).uniform(0.01, 9, 301).astype(np.float32) * (1 if op < 5 else -1)
    y = np.zeros(301, np.float32)
    assert library.run("unary", [x], [y], [op, 301]).fault == ""
    np.testing.assert_allclose(y, want(x.astype(np.float64)), rtol=3e-7)


def test_bits(library: Library) -> None:
    x = np.random.default_rng(0).integers(0, 2**32, 64, np.uint32)
    short = x.view(np.uint16)
    wants = (
        x << 3,
        x >> 3,
        (x.view(np.int32) >> 3).view(np.uint32),
        short[:64] & short[64:],
        short[:64] | short[64:],
        ~short,
    )
    for op, want in enumerate(wants):
        y = np.zeros(want.view(np.uint32).size, np.uint32)
        assert library.run("bits", [x], [y], [op]).fault == ""
        np.testing.assert_array_equal(y.view(want.dtype), want)


@pytest.mark.parametrize(("index", "dtype"), [(0, np.float32), (1, np.float16)])
@pytest.mark.parametrize(
    ("mode", "holds"),
    list(enumerate([np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal])),
)
def test_compare(library: Library, index: int, dtype: type, mode: int, holds: Callable[..., Array]) -> None:
    """Bit i is lane i, from the lowest bit on; a set bit chooses the first operand."""
    rng = np.random.default_rng(mode)
    x, y = (rng.integers(-3, 3, 384).astype(dtype) for _ in range(2))
    x[5] = np.nan
    bits, chosen = np.zeros(48, np.uint8), np.zeros(384, dtype)
    assert library.run("compare", [x, y], [bits, chosen], [index, mode, 384]).fault == ""
    want = holds(x, y)
    np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little").astype(bool), want)
    np.testing.assert_array_equal(chosen, np.where(want, x, y))


def test_select_of_a_tail(library: Library) -> None:
    x, y = np.array([3, -2, 5], np.float32), np.zeros(3, np.float32)
    assert library.run("select_of_a_tail", [x], [y]).fault == ""
    np.testing.assert_array_equal(y, [3, -1, 5])


@pytest.mark.parametrize(("rows", "mask", "stride"), [(1, 64, 8), (5, 64, 8), (5, 40, 8), (7, 13, 2), (3, 64, 9)])
def test_whole_reduce(library: Library, rows: int, mask: int, stride: int) -> None:
    x = np.random.default_rng(rows).normal(0, 1, (rows, stride * 8)).astype(np.float32)
    flat = np.concatenate([x.reshape(-1), np.zeros(64, np.float32)])
    part = np.stack([flat[r * stride * 8 :][:mask] for r in range(rows)])
    for op, reduce in enumerate((np.sum, np.max, np.min)):
        y = np.zeros(rows, np.float32)
        assert library.run("whole_reduce", [flat], [y], [op, rows, mask, stride]).fault == ""
        np.testing.assert_allclose(y, reduce(part.astype(np.float64), axis=1), rtol=1e-5, atol=1e-6)
    pairs = np.zeros((rows, 2), np.float32)
    assert library.run("whole_reduce", [flat], [pairs], [3, rows, mask, stride]).fault == ""
    np.testing.assert_array_equal(pairs[:, 0], part.max(axis=1))
    np.testing.assert_array_equal(pairs[:, 1].view(np.uint32), part.argmax(axis=1))


def test_broadcast_rows(library: Library) -> None:
    x, column = np.random.default_rng(0).normal(0, 1, (13, 64)).astype(np.float32), np.arange(16, dtype=np.float32)
    y = np.zeros((13, 64), np.float32)
    assert library.run("broadcast_rows", [x, column], [y], [13]).fault == ""
    np.testing.assert_array_equal(y, x + column[:13, None])


def test_accumulate_rows(library: Library) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (20, 64)).astype(np.float32)
    y = np.zeros(64, np.float32)
    assert library.run("accumulate_rows", [x], [y], [20]).fault == ""
    np.testing.assert_array_equal(y, x.sum(axis=0))


def test_mask_of_bits(library: Library) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    assert library.run("mask_of_bits", [x], [y]).fault == ""
    np.testing.assert_array_equal(y, np.where(np.arange(128) % 2 == 0, x + 1, 0))


def test_gather_and_copy(library: Library) -> None:
    x, order = np.arange(128, dtype=np.float32), np.random.default_rng(0).permutation(64).astype(np.uint32)
    y, z = np.zeros(64, np.float32), np.zeros(128, np.float32)
    assert library.run("gather", [x[:64], order * 4], [y]).fault == ""
    np.testing.assert_array_equal(y, x[order])
    assert library.run("copy_lanes", [x], [z]).fault == ""
    np.testing.assert_array_equal(z, np.tile(x[:64], 2))
