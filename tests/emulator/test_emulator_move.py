"""Transfers, queues and cores: what arrives, and what is counted."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_case import Library


@pytest.mark.parametrize(
    ("rows", "cols", "pitch", "left", "right", "gap"),
    [(1, 16, 16, 0, 0, 0), (3, 5, 7, 2, 3, 0), (4, 5, 5, 0, 11, 2), (2, 16, 20, 0, 0, 1), (5, 33, 40, 1, 14, 1)],
)
def test_pad(library: Library, rows: int, cols: int, pitch: int, left: int, right: int, gap: int) -> None:
    """Each row lies behind its left padding, in whole blocks of 32 B, `gap` blocks before the next."""
    x = np.random.default_rng(0).normal(0, 1, (rows, pitch)).astype(np.float16)
    width = ((left + cols + right + 15) // 16 + gap) * 16
    want = np.full((rows, width), -1, np.float16)
    want[:, : width - gap * 16] = 7
    want[:, left : left + cols] = x[:, :cols]
    y = np.zeros_like(want)
    outcome = library.run("pad", [x], [y], [rows, cols, pitch, left, right, gap])
    assert outcome.fault == ""
    np.testing.assert_array_equal(y, want)
    assert outcome.loaded == rows * cols * 2


def test_store_rows(library: Library) -> None:
    x, y = np.random.default_rng(0).normal(0, 1, (6, 48)).astype(np.float16), np.zeros((6, 25), np.float16)
    outcome = library.run("store_rows", [x], [y], [6, 19, 25])
    assert outcome.fault == ""
    np.testing.assert_array_equal(y[:, :19], x[:, :19])
    assert not y[:, 19:].any()
    assert outcome.traffic[1] == (0, 6 * 19 * 2, 0, 6 * 19 * 2)


@pytest.mark.parametrize("count", [1, 7, 4096, 100_003])
@pytest.mark.parametrize("cores", [1, 40])
def test_add_through_queues(library: Library, count: int, cores: int) -> None:
    x, y = np.arange(count, dtype=np.float32), np.full(count, 2, np.float32)
    z = np.zeros(count, np.float32)
    outcome = library.run("add_through_queues", [x, y], [z], [count, 1024], cores=cores)
    assert outcome.fault == ""
    np.testing.assert_array_equal(z, x + 2)
    assert outcome.traffic[:3] == (
        (count * 4, 0, count * 4, 0),
        (count * 4, 0, count * 4, 0),
        (0, count * 4, 0, count * 4),
    )
    assert outcome.ub_peak == 2 * 1024 * 12
    share = -(-count // cores)
    tiles = sum(-(-max(0, min(count, (core + 1) * share) - core * share) // 1024) for core in range(cores))
    assert outcome.vector_calls == tiles


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend310P3", "Ascend910B1"])
def test_scalar_tail(library: Library, chip: str) -> None:
    x, y = np.random.default_rng(0).normal(0, 1, 29).astype(np.float32), np.zeros(29, np.float32)
    assert library.run("scalar_tail", [x], [y], [29], chip=chip).fault == ""
    np.testing.assert_array_equal(y, x)


def test_neighbours(library: Library) -> None:
    y, work = np.zeros((16, 8), np.float32), np.zeros((16, 8), np.float32)
    outcome = library.run("neighbours", [], [y, work], cores=8, mixed=True)
    assert outcome.fault == ""
    np.testing.assert_array_equal(y[:, 0], (np.arange(16) + 1) % 16)


def test_hand_over(library: Library) -> None:
    y, work = np.zeros((64, 8), np.float32), np.zeros((128, 8), np.float32)
    assert library.run("hand_over", [], [y, work], cores=8, mixed=True).fault == ""
    np.testing.assert_array_equal(y[:16, 3], (np.arange(16) ^ 1) + 100)


@pytest.mark.parametrize(("case", "dtype", "lanes"), [("turn_halves", np.float16, 16), ("turn_words", np.int32, 8)])
@pytest.mark.parametrize(("repeats", "skip"), [(1, 0), (1, 2), (2, 0), (9, 0)])
def test_turned_rows(library: Library, case: str, dtype: type, lanes: int, repeats: int, skip: int) -> None:
    """A single repeat begins a stride behind its lists, the first of several at them."""
    x = np.arange(16 * (repeats + skip) * lanes).astype(dtype).reshape(16, -1)
    y = np.zeros((repeats * lanes, 16), dtype)
    assert library.run(case, [x], [y], [repeats, skip]).fault == ""
    np.testing.assert_array_equal(y, x[:, skip * lanes :].T)
