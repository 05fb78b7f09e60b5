"""The cube of 950, loaded as the vendor's documents say."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_case import Library


@pytest.mark.parametrize("across", ["", "_across"])
@pytest.mark.parametrize(("name", "dtype"), [("halves", np.float16), ("floats", np.float32), ("bytes", np.int8)])
def test_product_through_the_documented_loads(library: Library, name: str, dtype: type, across: str) -> None:
    """`across`: k comes first in both operands in memory, else last. Small integers, so that sums are exact."""
    rng = np.random.default_rng(1)
    left, right = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((40, 70), (70, 50)))
    want = left.astype(np.int32) @ right.astype(np.int32)
    found = np.zeros(want.shape, np.int32 if dtype is np.int8 else np.float32)
    operands = (left.T, right) if across else (left, right.T)
    inputs = [np.ascontiguousarray(operand) for operand in operands]
    outcome = library.run(f"product_of_{name}{across}", inputs, [found], chip="Ascend950PR_9599", mixed=True)
    assert outcome.fault == ""
    np.testing.assert_array_equal(found, want)


def test_rows_of_fractals_are_no_left_operand(library: Library) -> None:
    """A lies in L0A as columns of fractals: in the order that 910B wants, the rows behind its last are among others."""
    inputs, found = [np.ones((40, 70), np.float16), np.ones((50, 70), np.float16)], np.zeros((40, 50), np.float32)
    outcome = library.run("product_of_rows_of_fractals", inputs, [found], chip="Ascend950PR_9599", mixed=True)
    assert outcome.fault.startswith("unwritten-read: Mmad")
