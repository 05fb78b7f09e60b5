"""Products in the program text and its evaluation: operands as their memory has them, sums within float32's bound."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_fuse import _engine
from ascend_fuse.error import UsageError
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.noise import Noise
from ascend_fuse.program.product import UNIT, bound_of_sums
from ascend_fuse.program.text import parse_program, print_program

PLAIN = """\
matmul 1 [d0, d1 | d2]
x0: f32[d0, d1 | d3] = left
x1: f32[d3 | d2] = right
v0: f32[d0, d1 | d2] = matmul x0, x1
out v0"""
TURNED = """\
matmul 1 [d0, d1 | 3, 4]
x0: f32[d0, d1 | d2] = left <2 0 1> (d2, d0*d1)
x1: f32[d2 | 3, 4] = right <1 2 0> (3*4, d2)
x2: f32[d0, 1 | 1, 1] = in (d0, 1, 1, 1)
x3: f32[1, d1 | 1, 1] = in (1, d1, 1, 1)
v0: f32[d0, d1 | 3, 4] = matmul x0, x1
v1: f32[d0, d1 | 3, 4] = add v0, x2
v2: f32[d0, d1 | 3, 4] = add v1, x3
out v2 <0 2 1 3>, v0 (d0*d1, 3*4)"""
GROUPED = """\
matmul 1 [d0, d1, d2 | d3]
x0: f16[d0, d1, d2 | d4] = left
x1: f16[d0, 1, d4 | d3] = right
v0: f32[d0, d1, d2 | d3] = matmul x0, x1
out v0"""


@pytest.mark.parametrize("text", [PLAIN, TURNED, GROUPED])
def test_the_text_reads_back_in_both_languages(text: str) -> None:
    assert print_program(parse_program(text)) == text
    assert _engine.Program(text).text() == text


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_operands_are_read_as_their_memory_has_them() -> None:
    left, right = drawn(5, 6), drawn(12, 5)
    rows, steps = drawn(2, 1, 1, 1), drawn(1, 3, 1, 1)
    moved, flat = evaluate(parse_program(TURNED), [left, right, rows, steps])
    wanted = left.astype(np.float64).T @ right.astype(np.float64).T
    np.testing.assert_allclose(flat, wanted, rtol=1e-6)
    whole = wanted.reshape(2, 3, 3, 4) + rows + steps
    assert moved.shape == (2, 3, 3, 4)
    np.testing.assert_allclose(moved, whole.transpose(0, 2, 1, 3), rtol=1e-5, atol=1e-6)


def test_a_shared_lead_axis_is_repeated() -> None:
    left, right = drawn(2, 4, 3, 5).astype(np.float16), drawn(2, 1, 5, 6).astype(np.float16)
    (got,) = evaluate(parse_program(GROUPED), [left, right])
    wanted = np.matmul(left.astype(np.float64), right.astype(np.float64))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, wanted.astype(np.float32))


def test_k_axes_of_other_lengths_do_not_bind() -> None:
    with pytest.raises(UsageError, match="x1"):
        evaluate(parse_program(PLAIN), [drawn(2, 3, 8), drawn(7, 4)])


@pytest.mark.parametrize("k", [1, 7, 64, 3000])
def test_any_order_of_float32_sums_stays_within_the_bound(k: int) -> None:
    left, right = drawn(9, k), drawn(k, 11)
    bound = bound_of_sums(left, right, 1, 1)
    exact = left.astype(np.float64) @ right.astype(np.float64)
    one_by_one = np.zeros((9, 11), np.float32)
    for i in range(k):
        one_by_one += left[:, i : i + 1] * right[i : i + 1]
    assert (np.abs(one_by_one - exact) <= bound).all()
    assert (np.abs(left @ right - exact) <= bound).all()
    assert bound.max() < 1.01 * k * UNIT * (np.abs(left) @ np.abs(right)).max() / (1 - k * UNIT)


def test_noise_moves_a_product_within_the_bound() -> None:
    left, right = drawn(3, 4, 50), drawn(50, 6)
    program = parse_program(PLAIN)
    (clean,), (moved,) = evaluate(program, [left, right]), evaluate(program, [left, right], noise=Noise(0))
    off = np.abs(moved.astype(np.float64) - clean)
    assert (off > 0).any()
    assert (off <= bound_of_sums(left, right, 1, 1) + UNIT * np.abs(clean)).all()
