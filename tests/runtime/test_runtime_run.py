"""Programs on arrays, without ONNX Runtime: sizes, joins, empty tensors, steps, errors."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_fuse import runtime
from ascend_fuse.error import UsageError
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program
from tests.runtime.runtime_model import ADD_RELU, SOFTMAX

JOINED = """elementwise 1 [d0, d1]
x0: f32[d0, d1] = in
x1: f32[d0, d2] = past
v0: f32[d0, d1] = mul x0, 2.0
v1: f32[d0, d1] = neg v0
out v0 behind x1 @1, v0, v1"""
NORM = """rowwise 1 [d0 | d1]
x0: f32[d0 | d1] = in
x1: f32[d1] = in
x2: i64[1] = host
v0: f32[d0 | 1] = reduce_mean x0
v1: f32[d0 | d1] = sub x0, v0
v2: f32[d0 | d1] = mul v1, v1
v3: f32[d0 | 1] = reduce_mean v2
v4: f32[d0 | 1] = add v3, 1e-05
v5: f32[d0 | 1] = rsqrt v4
v6: f32[d0 | d1] = mul v1, v5
v7: f32[d0 | d1] = mul v6, x1
out v7, v1"""
CHANNELS = """transform 1 [d0, 24 | d1, d2]
x0: f32[d0, 24 | d1, d2] = in <0 2 3 1>
x1: f32[24 | 1, 1] = in (24)
v0: f32[d0, 24 | d1, d2] = mul x0, x1
v1: f16[d0, 24 | d1, d2] = cast v0
v2: f32[d0, 24 | d1, d2] = relu v0
out v2, v0 <0 2 3 1>, v1 <0 2 3 1>, x0"""
CHANNEL_NORM = """rowwise 1 [d0, d1, d2 | 40]
x0: f32[d0, d1, d2 | 40] = in <0 3 1 2>
v0: f32[d0, d1, d2 | 1] = reduce_mean x0
v1: f32[d0, d1, d2 | 40] = sub x0, v0
v2: f32[d0, d1, d2 | 40] = tanh v1
out v2, v1 <0 3 1 2>"""
PRODUCT = """matmul 1 [d0, d1 | d2]
x0: f16[d0, d1 | d3] = left
x1: f16[d3 | d2] = right
x2: f16[d2] = in
v0: f16[d0, d1 | d2] = matmul x0, x1
v1: f16[d0, d1 | d2] = add v0, x2
v2: f16[d0, d1 | d2] = relu v1
out v2"""


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize(
    ("program", "arrays"),
    [
        (ADD_RELU, (normal(33, 16), normal(16))),
        (SOFTMAX, (normal(7, 129),)),
        (JOINED, (normal(4, 8), normal(4, 24))),
        (JOINED, (normal(4, 8), normal(4, 0))),  # a cache that is still empty
        (NORM, (normal(9, 200), normal(200), np.zeros(1, np.int64))),
        (CHANNELS, (normal(2, 5, 7, 24), normal(24))),
        (CHANNELS, (normal(1, 1, 1, 24), normal(24))),
        (CHANNEL_NORM, (normal(2, 40, 9, 6),)),
        (NORM, (normal(2, 90001), normal(90001), np.zeros(1, np.int64))),
    ],
)
def test_fused_or_step_by_step_it_is_the_reference(program: str, arrays: tuple[np.ndarray, ...], fuse: bool) -> None:
    outcome = runtime.run(program, arrays, fuse=fuse)
    parsed = parse_program(program)
    for found, want in zip(outcome.outputs, evaluate(parsed, arrays), strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=3e-6, atol=3e-6)
    given = {line.name for line in parsed.inputs}
    steps = len(parsed.instrs) + sum(o.name in given for o in parsed.outputs)  # an input that comes out is copied
    assert outcome.counters.launches == (1 if fuse else steps)


def test_a_product_and_what_follows_it() -> None:
    arrays = (normal(2, 40, 72, dtype="float16"), normal(72, 56, dtype="float16"), normal(56, dtype="float16"))
    (want,) = evaluate(parse_program(PRODUCT), arrays)
    fused, apart = (runtime.run(PRODUCT, arrays, fuse=f) for f in (True, False))
    for outcome in (fused, apart):
        np.testing.assert_allclose(outcome.outputs[0], want, rtol=2e-3, atol=2e-2)
    assert (fused.counters.launches, apart.counters.launches) == (1, 3)


@pytest.mark.parametrize("rows", [0, 3])
def test_empty_tensors_compute_nothing(rows: int) -> None:
    outcome = runtime.run(SOFTMAX, [normal(rows, 0)])
    assert outcome.outputs[0].shape == (rows, 0)
    assert outcome.counters.launches == 0


def test_a_reduction_of_nothing_is_refused() -> None:
    program = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_sum x0\nout v0"
    with pytest.raises(UsageError, match=r"input x0 is f32\[3, 0\] where the program reduces d1, and no kernel"):
        runtime.run(program, [normal(3, 0)])


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ((normal(3, 16),), "1 inputs where the program has 2"),
        ((normal(3, 17), normal(16)), r"input x0 is f32\[3, 17\] where the program has 16 at dimension 1"),
        ((normal(16), normal(16)), r"input x0 is f32\[16\] where the program has 2 dimensions"),
        ((normal(3, 16), normal(16, dtype="float16")), r"input x1 is f16\[16\] where the program has f32"),
        ((normal(3, 16), np.zeros(16, "complex64")), "an array of dtype complex64, which programs do not have"),
    ],
)
def test_arrays_that_do_not_fit(arrays: tuple[np.ndarray, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        runtime.run(ADD_RELU, arrays)


def test_a_program_that_is_none() -> None:
    with pytest.raises(UsageError, match="program: line 1: wanted a header"):
        runtime.run("nonsense", [])
