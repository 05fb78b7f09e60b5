"""Tensors in orders of their own where an axis has the size 1, or where a row has one value."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ascend_fuse import runtime
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program
from tests.kernels.emulated import check

CHIPS = ("Ascend910B3", "Ascend310P3", "Ascend910A", "Ascend950PR_9599")
REVERSED = """transform 1 [d0, d1 | d2]
x0: f32[d0, d1 | d2] = in
v0: f32[d0, d1 | d2] = exp x0
v1: f32[d0, d1 | d2] = neg v0
out v1 <2 1 0>"""
CHANNELS = """transform 1 [d0, d1 | d2, d3]
x0: f32[d0, d1 | d2, d3] = in
x1: f32[d1 | 1, 1] = in (d1)
v0: f32[d0, d1 | d2, d3] = add x0, x1
out v0 <0 2 3 1>"""
GREATEST = """rowwise 1 [d0, d1, d2 | d3]
x0: f32[d0, d1, d2 | d3] = in
v0: f32[d0, d1, d2 | d3] = exp x0
v1: f32[d0, d1, d2 | 1] = reduce_max v0
out v1 <0 2 1 3>"""


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize(("text", "sizes"), [(REVERSED, (6, 40, 50)), (CHANNELS, (2, 24, 5, 7))])
@pytest.mark.parametrize("fuse", [True, False])
def test_any_axis_may_be_one(text: str, sizes: tuple[int, ...], fuse: bool, soc: str) -> None:
    program = parse_program(text)
    for ones in product((False, True), repeat=len(sizes)):
        shape = tuple(1 if one else size for one, size in zip(ones, sizes, strict=True))
        rng = np.random.default_rng(0)
        arrays = [rng.standard_normal(shape).astype(np.float32)]
        arrays += [rng.standard_normal(shape[1:2]).astype(np.float32)] * (len(program.inputs) - 1)
        found = runtime.run(text, arrays, fuse=fuse, soc=soc).outputs
        for got, wanted in zip(found, evaluate(program, arrays), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=3e-6)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("shape", [(4, 16, 16, 33), (1, 64, 3, 40), (3, 5, 7, 8)])
def test_a_row_value_in_another_order_is_written_by_one_core_at_a_time(shape: tuple[int, ...], soc: str) -> None:
    """Chips without DataCopyPad write elements by lines of the cache, which cores must not share."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check(GREATEST, [x], soc)
