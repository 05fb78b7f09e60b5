"""Programs whose tensors lie in orders of their own: what numpy makes of them."""

import numpy as np
import pytest

from ascend_fuse import _engine
from ascend_fuse.error import UsageError
from ascend_fuse.program.bound import bounds
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program, print_program

STEPS = """transform 1 [d0, 6 | d1, d2]
x0: f32[d0, 6 | d1, d2] = in <0 2 3 1>
x1: f32[6 | 1, 1] = in (6)
v0: f32[d0, 6 | d1, d2] = mul x0, x1
v1: f16[d0, 6 | d1, d2] = cast v0
v2: f32[d0, 6 | d1, d2] = copy x0
out v1, v0 <0 2 3 1> (d0, d1*d2, 6), v2 <3 1 0 2>"""
NORM = """rowwise 1 [d0, d1 | 6]
x0: f32[d0, d1 | 6] = in <0 2 1>
v0: f32[d0, d1 | 1] = reduce_max x0
v1: f32[d0, d1 | 6] = sub x0, v0
out v1 <0 2 1>, v0"""


@pytest.mark.parametrize("text", [STEPS, NORM])
def test_python_and_engine_print_the_same_bytes(text: str) -> None:
    assert print_program(parse_program(text)) == _engine.Program(text).text() == text


def test_steps_between_two_orders() -> None:
    rng = np.random.default_rng(1)
    x, gain = rng.standard_normal((2, 5, 3, 6)).astype(np.float32), rng.standard_normal(6).astype(np.float32)
    cast, product, moved = evaluate(parse_program(STEPS), [x, gain])
    np.testing.assert_array_equal(product, (x * gain).reshape(2, 15, 6))
    np.testing.assert_array_equal(cast, (x * gain).transpose(0, 3, 1, 2).astype(np.float16))
    np.testing.assert_array_equal(moved, x.transpose(0, 3, 1, 2).transpose(3, 1, 0, 2))


def test_a_row_that_lies_turned_is_reduced() -> None:
    x = np.random.default_rng(2).standard_normal((2, 6, 7)).astype(np.float32)
    centred, most = evaluate(parse_program(NORM), [x])
    np.testing.assert_array_equal(most, x.max(axis=1)[..., None])
    np.testing.assert_array_equal(centred, x - x.max(axis=1, keepdims=True))


def test_the_bound_of_a_movement_is_none() -> None:
    x, gain = np.ones((2, 5, 3, 6), np.float32), np.full(6, 1.1, np.float32)
    (_, rounded), (value, error), (_, exact) = bounds(parse_program(STEPS), [x, gain])
    assert not exact.any()
    assert value.shape == error.shape == (2, 15, 6)
    assert (rounded > 0).all()


def test_a_tensor_in_the_order_of_the_space_is_refused() -> None:
    with pytest.raises(UsageError, match="x0 has shape"):
        evaluate(parse_program(STEPS), [np.ones((2, 6, 5, 3), np.float32), np.ones(6, np.float32)])
