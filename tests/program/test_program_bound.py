"""Bounds of kernels: they hold for other roundings of the same program, and are not so wide that all passes."""

import numpy as np
import pytest

from ascend_fuse.program.bound import bounds, outside
from ascend_fuse.program.text import parse_program as parse

SOFTMAX = """rowwise 1 [d0 | d1]
x0: {t}[d0 | d1] = in
x1: {t}[d1] = in
v0: {t}[d0 | d1] = add x0, x1
v1: {t}[d0 | 1] = reduce_max v0
v2: {t}[d0 | d1] = sub v0, v1
v3: {t}[d0 | d1] = exp v2
v4: {t}[d0 | 1] = reduce_sum v3
v5: {t}[d0 | d1] = div v3, v4
out v5"""


def softmax(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    y = (x + b).astype(x.dtype)
    e = np.exp((y - y.max(-1, keepdims=True)).astype(x.dtype)).astype(x.dtype)
    return (e / e.astype(np.float32).sum(-1, keepdims=True).astype(x.dtype)).astype(x.dtype)


@pytest.mark.parametrize(("name", "dtype", "eps"), [("f32", np.float32, 2.0**-23), ("f16", np.float16, 2.0**-10)])
def test_a_softmax_in_other_arithmetic_is_within_a_narrow_bound(name: str, dtype: type, eps: float) -> None:
    rng = np.random.default_rng(1)
    x, b = rng.standard_normal((5, 1000)).astype(dtype), rng.standard_normal(1000).astype(dtype)
    ((right, bound),) = bounds(parse(SOFTMAX.format(t=name)), [x, b])
    found = softmax(x, b)
    assert not outside(found, right, bound).any()
    ratio = bound / np.abs(right.astype(np.float64))
    assert np.median(ratio) < 60 * eps
    moved = (found.astype(np.float64) * (1 + 200 * eps)).astype(dtype)
    assert outside(moved, right, bound).mean() > 0.5


def test_a_comparison_in_doubt_bounds_both_branches_and_no_other() -> None:
    text = """elementwise 1 [d0]
x0: f32[d0] = in
v0: f32[d0] = exp x0
v1: bool[d0] = lt v0, 1
v2: f32[d0] = where v1, x0, 100
out v2, v1"""
    (value, error), (bit, doubt) = bounds(parse(text), [np.array([0.0, -1.0, 2.0], np.float32)])
    assert error[0] >= 99
    assert (error[1:] < 1e-4).all()
    assert doubt.tolist() == [1, 0, 0]
    assert outside(np.array([False, False, False]), bit, doubt).tolist() == [False, True, False]
    assert not outside(np.array([100, -1, 100], np.float32), value, error).any()


def test_the_end_of_the_range_and_nan() -> None:
    text = "elementwise 1 [d0]\nx0: f16[d0] = in\nv0: f16[d0] = mul x0, 2\nv1: f16[d0] = sqrt x0\nout v0, v1"
    (_, doubled), root = bounds(parse(text), [np.array([32752.0, 1.0, -1.0], np.float16)])
    assert np.isinf(doubled[0])
    assert doubled[1] < 0.01
    assert outside(np.array([1, 1, np.nan], np.float16), *root).tolist() == [True, False, False]
    assert outside(np.array([181, 1, 0], np.float16), *root).tolist() == [False, False, True]


def test_a_product_is_bounded_by_its_terms() -> None:
    text = """matmul 1 [d0 | d2]
x0: f32[d0 | d1] = left
x1: f32[d1 | d2] = right
v0: f32[d0 | d2] = matmul x0, x1
v1: f32[d0 | d2] = relu v0
out v1"""
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((7, 300)).astype(np.float32), rng.standard_normal((300, 9)).astype(np.float32)
    (wanted,) = bounds(parse(text), [a, b])
    assert not outside(np.maximum(a @ b, 0), *wanted).any()
    assert wanted[1].max() < 1e-2
    assert outside(np.maximum(a @ b, 0) + 0.02, *wanted).all()


def test_silu_may_vanish_where_its_exponential_overflows_and_nowhere_else() -> None:
    text = "elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = silu x0\nout v0"
    x = np.array([-90.0, -88.8, -88.0, -80.0], np.float32)
    found = np.array([0.0, 0.0, 0.0, 0.0], np.float32)
    ((right, bound),) = bounds(parse(text), [x])
    assert (right != 0).all()
    assert outside(found, right, bound).tolist() == [False, False, False, True]


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_what_only_chooses_a_value_adds_no_error(dtype: str) -> None:
    text = f"""elementwise 1 [d0]
x0: {dtype}[d0] = in
v0: {dtype}[d0] = relu x0
v1: {dtype}[d0] = min v0, 2
v2: {dtype}[d0] = sqrt v1
out v1, v2"""
    numbers = np.array([-1.0, 0.0, 3.0, 1e-40], {"f16": np.float16, "f32": np.float32}[dtype])
    (chosen, error), (_, root) = bounds(parse(text), [numbers])
    assert error[:3].tolist() == [0, 0, 0]
    assert error[3] <= 2 * float(numbers[3])  # a float32 below the normal ones may become zero
    assert chosen[:3].tolist() == [0, 0, 2]
    assert np.isfinite(root[:3]).all()


def bound_of(text: str, x: np.ndarray) -> list[float]:
    """The bound of the only output, as a list."""
    ((_, bound),) = bounds(parse(text), [x])
    return bound.reshape(-1).tolist()


def test_what_no_integer_holds_may_become_any() -> None:
    x = np.asarray([np.nan, np.inf, 3e9, -3e9, 2147483520.0, -2147483648.0, -0.5], np.float32)
    free = [np.inf] * 4 + [0.0] * 3
    assert bound_of("elementwise 1 [d0]\nx0: f32[d0] = in\nv0: i32[d0] = cast x0\nout v0", x) == free


@pytest.mark.parametrize("op", ["reduce_sum", "reduce_mean"])
def test_a_sum_that_overflows_on_its_way_may_become_anything(op: str) -> None:
    x = np.asarray([[3e38, 3e38, -3e38], [1e38, 1e38, 1e38]], np.float32)
    found = bound_of(f"rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = {op} x0\nout v0", x)
    assert found[0] == np.inf
    assert found[1] < 1e34


def test_a_product_that_overflows_on_its_way_may_become_anything() -> None:
    left, right = np.asarray([[1e20, 1e20], [1, 1]], np.float32), np.asarray([[1e19], [-1e19]], np.float32)
    text = "matmul 1 [d0 | d1]\nx0: f32[d0 | d2] = left\nx1: f32[d2 | d1] = right\nv0: f32[d0 | d1] = matmul x0, x1\nout v0"
    ((_, bound),) = bounds(parse(text), [left, right])
    assert bound[0] == np.inf
    assert bound[1] < 1e16


def test_the_sign_of_a_computed_zero_decides_nothing() -> None:
    x = np.asarray([[-0.0, 0.0, -1.0], [-2.0, 1.0, 0.5]], np.float32)
    top = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_max x0\nv1: f32[d0 | 1] = recip v0\nout v1"
    zero, one = bound_of(top, x)
    assert zero == np.inf
    assert one < 1e-6
    assert max(bound_of("elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = recip x0\nout v0", x[0])) < 1e-6


def test_an_empty_row_has_a_greatest_value() -> None:
    text = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_max x0\nout v0"
    assert bound_of(text, np.zeros((0, 0), np.float32)) == []
