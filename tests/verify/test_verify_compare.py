"""Arrays, element by element: ulps, NaN, infinities, wide integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_fuse.verify.difference import compare_arrays, compare_values


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(steps=st.integers(1, 40), start=st.floats(-2, 2, width=16))
def test_ulps_count_the_floats_between(dtype: type[np.floating], steps: int, start: float) -> None:
    a = np.array([start], dtype)
    b = a.copy()
    for _ in range(steps):
        b = np.nextafter(b, dtype(np.inf))
    found = compare_arrays("y", a, b)
    # Both zeros are one place: nextafter steps over them as over one float.
    assert found.max_ulp == steps
    assert not found.equal
    assert compare_arrays("y", b, a).max_ulp == steps


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ulps_across_zero(dtype: type[np.floating]) -> None:
    """From the largest negative float over both zeros, one place, to the smallest positive: two steps."""
    least = np.nextafter(dtype(0), dtype(1))
    a, b = np.array([-least, -1, -2], dtype), np.array([least, 1, -1], dtype)
    assert compare_arrays("y", a[:1], b[:1]).max_ulp == 2
    one = int(np.array(1, dtype).view(f"u{a.itemsize}"))
    assert compare_arrays("y", a[1:2], b[1:2]).max_ulp == 2 * one
    assert compare_arrays("y", a[2:], b[2:]).max_ulp == 2 ** np.finfo(dtype).nmant


@given(st.lists(st.floats(width=32), max_size=20))
def test_equals_itself_whatever_it_holds(values: list[float]) -> None:
    a = np.array(values, np.float32)
    found = compare_arrays("y", a, a.copy())
    assert found.equal
    assert found.unequal == 0


def test_nan_payloads_do_not_count() -> None:
    a = np.array([0x7FC00000, 0x7F800001], np.uint32).view(np.float32)
    b = np.array([0xFFC00123, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert compare_arrays("y", a, b).equal


def test_nan_and_infinity_are_told_apart() -> None:
    a = np.array([np.nan, np.inf, np.inf, 1.0, np.inf], np.float32)
    b = np.array([1.0, np.nan, -np.inf, 1.0, np.inf], np.float32)
    found = compare_arrays("y", a, b)
    assert (found.unequal, found.nan_mismatches, found.inf_mismatches) == (3, 2, 1)
    assert (found.max_abs, found.max_ulp) == (0.0, 0)


def test_wide_integers_do_not_overflow() -> None:
    a = np.array([2**63 - 1, 5], np.int64)
    b = np.array([-(2**63), 5], np.int64)
    found = compare_arrays("y", a, b)
    assert found.unequal == 1
    assert found.max_abs == float(2**64 - 1)


def test_shape_and_dtype_are_part_of_equality() -> None:
    a = np.zeros((2, 1), np.float32)
    assert "[2, 1]" in compare_arrays("y", a, np.zeros(2, np.float32)).note
    assert not compare_arrays("y", a, a.astype(np.float16)).equal


def test_scalars_empty_arrays_strings_and_booleans() -> None:
    assert compare_arrays("y", np.array(1.0), np.array(1.0)).equal
    assert compare_arrays("y", np.zeros((0, 3), np.float16), np.zeros((0, 3), np.float16)).equal
    words = np.array(["a", "b"], np.object_)
    assert compare_arrays("y", words, words.copy()).equal
    assert compare_arrays("y", words, words[::-1]).unequal == 2
    assert compare_arrays("y", np.array([True, False]), np.array([True, True])).max_abs == 1.0


def test_sequences_are_compared_element_by_element() -> None:
    a, b = [np.ones(2), np.ones(3)], [np.ones(2), np.zeros(3)]
    assert [(found.name, found.equal) for found in compare_values("y", a, b)] == [
        ("y[0]", True),
        ("y[1]", False),
    ]
    assert not compare_values("y", a, a[:1])[0].equal
    assert compare_values("y", [{1: 0.5}], [{1: 0.5}])[0].equal
