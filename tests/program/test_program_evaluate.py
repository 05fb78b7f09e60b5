"""The numpy reference against values worked out by hand, operator by operator."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from ascend_fuse.error import UsageError
from ascend_fuse.program.evaluate import dtype_of, evaluate, operators
from ascend_fuse.program.op import table
from ascend_fuse.program.text import parse_program

INF, NAN = math.inf, math.nan
Row = Sequence[object]

# operator: its operands (one row each, a scalar is a literal) and the row that it gives.
BY_HAND: dict[str, tuple[Sequence[Row], Row]] = {
    "add": (([1.5, -2.0, INF], [0.25, 2.0, 1.0]), [1.75, 0.0, INF]),
    "sub": (([1.5, -2.0, 0.0], [0.25, 2.0, INF]), [1.25, -4.0, -INF]),
    "mul": (([1.5, -2.0, 0.0], [0.5, 3.0, 7.0]), [0.75, -6.0, 0.0]),
    "div": (([1.0, -6.0, 1.0], [4.0, 3.0, 0.0]), [0.25, -2.0, INF]),
    "pow": (([2.0, 9.0, 0.5], [10.0, 0.5, -1.0]), [1024.0, 3.0, 2.0]),
    "mod": (([5.5, -5.5, 1.0], [2.0, 2.0, 0.0]), [1.5, -1.5, NAN]),
    "max": (([1.0, -6.0, 0.0], [4.0, -7.0, NAN]), [4.0, -6.0, NAN]),
    "min": (([1.0, -6.0, 0.0], [4.0, -7.0, NAN]), [1.0, -7.0, NAN]),
    "and": (([True, True, False], [True, False, False]), [True, False, False]),
    "or": (([True, True, False], [True, False, False]), [True, True, False]),
    "xor": (([True, True, False], [True, False, False]), [False, True, False]),
    "eq": (([1.0, -0.0, NAN], [1.0, 0.0, NAN]), [True, True, False]),
    "lt": (([1.0, 2.0, NAN], [2.0, 2.0, 1.0]), [True, False, False]),
    "le": (([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), [True, True, False]),
    "gt": (([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), [False, False, True]),
    "ge": (([1.0, 2.0, NAN], [2.0, 2.0, 1.0]), [False, True, False]),
    "where": (([True, False, True], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), [1.0, 5.0, 3.0]),
    "not": (([True, False, True],), [False, True, False]),
    "neg": (([1.0, -2.0, 0.0],), [-1.0, 2.0, -0.0]),
    "abs": (([1.0, -2.0, -0.0],), [1.0, 2.0, 0.0]),
    "sqrt": (([4.0, 0.25, -1.0],), [2.0, 0.5, NAN]),
    "rsqrt": (([4.0, 0.25, 0.0],), [0.5, 2.0, INF]),
    "recip": (([4.0, -0.5, 0.0],), [0.25, -2.0, INF]),
    "exp": (([0.0, 1.0, -INF],), [1.0, math.e, 0.0]),
    "log": (([1.0, math.e, 0.0],), [0.0, 1.0, -INF]),
    "sin": (([0.0, math.pi / 6, math.pi / 2],), [0.0, 0.5, 1.0]),
    "cos": (([0.0, math.pi / 3, math.pi],), [1.0, 0.5, -1.0]),
    "tanh": (([0.0, math.log(2), INF],), [0.0, 0.6, 1.0]),  # (4 - 1) / (4 + 1)
    "sigmoid": (([0.0, math.log(3), -200.0],), [0.5, 0.75, 1.3838965267367376e-87]),
    "erf": (([0.0, 0.5, INF],), [0.0, 0.5204998778130465, 1.0]),
    "relu": (([1.0, -2.0, NAN],), [1.0, 0.0, NAN]),
    "floor": (([1.5, -1.5, 2.0],), [1.0, -2.0, 2.0]),
    "ceil": (([1.5, -1.5, 2.0],), [2.0, -1.0, 2.0]),
    "round": (([0.5, 1.5, -2.5],), [0.0, 2.0, -2.0]),  # halves to even, as ONNX has it
    "sign": (([3.0, -0.5, 0.0],), [1.0, -1.0, 0.0]),
    "gelu": (([1.0, -1.0, 0.0],), [0.8413447460685429, -0.15865525393145707, 0.0]),  # x times the normal distribution
    "gelu_tanh": (([1.0, -1.0, 0.0],), [0.8411919906082768, -0.15880800939172324, 0.0]),
    "silu": (([math.log(3), -math.log(3), 0.0],), [0.75 * math.log(3), -0.25 * math.log(3), 0.0]),
    "sinh": (([0.0, math.log(2), -INF],), [0.0, 0.75, -INF]),  # (2 - 1/2) / 2
    "cosh": (([0.0, math.log(2), -INF],), [1.0, 1.25, INF]),
    "asin": (([0.5, -1.0, 1.5],), [math.pi / 6, -math.pi / 2, NAN]),
    "acos": (([0.5, -1.0, 1.5],), [math.pi / 3, math.pi, NAN]),
    "atan": (([1.0, -INF, 0.0],), [math.pi / 4, -math.pi / 2, 0.0]),
    "asinh": (([0.75, -0.75, INF],), [math.log(2), -math.log(2), INF]),
    "acosh": (([1.25, 1.0, 0.5],), [math.log(2), 0.0, NAN]),
    "atanh": (([0.6, -1.0, 1.5],), [math.log(2), -INF, NAN]),
    "bit_and": (([12, -1, 7], [10, 5, -8]), [8, 5, 0]),
    "bit_or": (([12, -1, 7], [10, 5, -8]), [14, -1, -1]),
    "bit_xor": (([12, -1, 7], [10, 5, -8]), [6, -6, -1]),
    "bit_not": (([0, -1, 7],), [-1, 0, -8]),
    "index": ((), [0.0, 1.0, 2.0]),
    "reduce_prod": (([1.0, -2.0, 4.5],), [-9.0]),
    "cast": (([1.5, -2.5, 0.0],), [1, -2, 0]),  # towards zero
    "reduce_sum": (([1.0, 2.0, 4.5],), [7.5]),
    "reduce_mean": (([1.0, 2.0, 4.5],), [2.5]),
    "reduce_max": (([1.0, -2.0, 4.5],), [4.5]),
    "reduce_min": (([1.0, -2.0, 4.5],), [-2.0]),
    "slice": (([1.0, 2.0, 3.0],), [2.0, 3.0]),
    "concat": (([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "broadcast": (([7.0],), [7.0, 7.0, 7.0]),
    "copy": (([7.0, -8.0, np.nan],), [7.0, -8.0, np.nan]),
    "random_keep": ((), [True, False, True]),
    "random_uniform": ((), [0.25, 0.0, 0.5]),
}
ATTRIBUTES = {"slice": " {start=1, stop=3}", "random_keep": " {ratio=0.5, seed=3}"}


def dtype_name(row: Row) -> str:
    return "bool" if isinstance(row[0], bool) else "i32" if isinstance(row[0], int) else "f32"


def program_text(op: str) -> str:
    operands, wanted = BY_HAND[op]
    lines = [f"x{k}: {dtype_name(row)}[d0 | {len(row)}] = in" for k, row in enumerate(operands)]
    lines = lines or ["x0: f32[d0 | 3] = in"]
    names = ", ".join(f"x{k}" for k in range(len(operands)))
    width = max([len(wanted), *(len(row) for row in operands)])
    body = f"v0: {dtype_name(wanted)}[d0 | {len(wanted)}] = {op}{' ' * bool(names)}{names}{ATTRIBUTES.get(op, '')}"
    return "\n".join([f"rowwise 1 [d0 | {width}]", *lines, body, "out v0"])


def test_no_operator_is_missing() -> None:
    assert operators() == {*table(), "matmul"}  # tests/program/test_program_product.py
    assert set(BY_HAND) == set(table())


@pytest.mark.parametrize("op", sorted(table()))
def test_by_hand(op: str) -> None:
    operands, wanted = BY_HAND[op]
    rows = [np.asarray([row, row], dtype_of(dtype_name(row))) for row in operands]
    masks = {"v0": np.asarray([wanted, wanted])} if table()[op].kind == "random" else None
    (got,) = evaluate(parse_program(program_text(op)), rows or [np.zeros((2, 3), np.float32)], masks)
    kind = dtype_of(dtype_name(wanted))
    assert got.dtype == kind
    assert got.shape == (2, len(wanted))
    np.testing.assert_allclose(
        got[1].astype(np.float64), np.asarray(wanted, kind).astype(np.float64), rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize(
    "op", [o.name for o in table().values() if "i" in o.types and o.kind == "map" and o.arity == 2]
)
def test_integers_wrap(op: str) -> None:
    text = f"elementwise 1 [d0]\nx0: i16[d0] = in\nx1: i16[d0] = in\nv0: {{}}[d0] = {op} x0, x1\nout v0"
    a, b = np.asarray([32767, -32768, 7], np.int16), np.asarray([1, 1, -3], np.int16)
    wanted = {
        "add": [-32768, -32767, 4], "sub": [32766, 32767, 10], "mul": [32767, -32768, -21], "max": [32767, 1, 7],
        "min": [1, -32768, -3], "eq": [False, False, False],
        "bit_and": [1, 0, 5], "bit_or": [32767, -32767, -1], "bit_xor": [32766, -32767, -6],
    }[op]  # fmt: skip
    (got,) = evaluate(parse_program(text.format("bool" if op == "eq" else "i16")), [a, b])
    assert got.tolist() == wanted


def run(text: str, *arrays: np.ndarray) -> np.ndarray:
    return np.asarray(evaluate(parse_program(text), arrays)[0])


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_rounds_once_per_instruction(dtype: str) -> None:
    """A sum that the half type cannot hold is rounded before the next instruction reads it."""
    kind = dtype_of(dtype)
    big = 2048.0 if dtype == "f16" else 256.0  # there the spacing is 2: + 1 is lost, halves to even
    text = f"elementwise 1 [d0]\nx0: {dtype}[d0] = in\nv0: {dtype}[d0] = add x0, 1.0\n"
    text += f"v1: {dtype}[d0] = add v0, 1.0\nout v1"
    assert run(text, np.asarray([big], kind)).astype(np.float64).tolist() == [big]
    once = f"elementwise 1 [d0]\nx0: {dtype}[d0] = in\nv0: {dtype}[d0] = add x0, 2.0\nout v0"
    assert run(once, np.asarray([big], kind)).astype(np.float64).tolist() == [big + 2]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_mean"])
def test_half_reductions_accumulate_wider(dtype: str, op: str) -> None:
    """4096 times 1 is 4096; an accumulator of the half type would stop at 2048, or at 256."""
    kind = dtype_of(dtype)
    text = f"rowwise 1 [d0 | d1]\nx0: {dtype}[d0 | d1] = in\nv0: {dtype}[d0 | 1] = {op} x0\nout v0"
    got = run(text, np.ones((1, 4096), kind)).astype(np.float64)
    assert got.tolist() == [[4096.0 if op == "reduce_sum" else 1.0]]


def test_a_composite_rounds_once() -> None:
    """gelu is one instruction: its inner values are not rounded to f16."""
    text = "elementwise 1 [d0]\nx0: f16[d0] = in\nv0: f16[d0] = gelu x0\nout v0"
    x = np.linspace(-4, 4, 997).astype(np.float16)
    exact = np.asarray([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(np.float64)])
    assert (run(text, x) == exact.astype(np.float16)).all()


def test_literals_have_the_type_of_the_other_operands() -> None:
    """0.1 beside f16 is the f16 next to 0.1."""
    text = "elementwise 1 [d0]\nx0: f16[d0] = in\nv0: f16[d0] = mul x0, 0.1\nv1: f32[d0] = cast v0\nout v1"
    assert run(text, np.asarray([1.0], np.float16)).tolist() == [float(np.float16(0.1))]


def test_broadcast_axes_and_own_shapes() -> None:
    text = """\
rowwise 1 [d0, d1 | d2]
x0: f32[d0, d1 | d2] = in
x1: f32[d0, 1 | d2] = in (d0, d2)
x2: f32[d2] = in
v0: f32[d0, d1 | d2] = add x0, x1
v1: f32[d0, d1 | d2] = mul v0, x2
v2: f32[d0, d1 | 1] = reduce_sum v1
out v1 (d0, 1, d1, d2), v2 (d0, d1)"""
    rng = np.random.default_rng(0)
    x0, x1, x2 = (rng.integers(-9, 9, s).astype(np.float32) for s in ((2, 3, 4), (2, 4), (4,)))
    wide, total = evaluate(parse_program(text), [x0, x1, x2])
    exact = (x0 + x1[:, None]) * x2
    assert (wide == exact[:, None]).all() and wide.shape == (2, 1, 3, 4)
    assert (total == exact.sum(-1)).all() and total.shape == (2, 3)


def test_a_reduction_sees_the_whole_row_of_a_value_that_broadcasts_in_it() -> None:
    text = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nx1: f32[d0 | 1] = in\nv0: f32[d0 | d1] = broadcast x1\n"
    text += "v1: f32[d0 | 1] = reduce_sum v0\nv2: f32[d0 | d1] = add x0, v1\nout v2"
    got = run(text, np.zeros((1, 5), np.float32), np.asarray([[3.0]], np.float32))
    assert got.tolist() == [[15.0] * 5]


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((2, 3), (3, 3)), ((2, 3), (2,)), ((2, 3), (1, 3))])
def test_binding_is_strict(shapes: tuple[tuple[int, ...], ...]) -> None:
    """A size that contradicts another, a missing axis, a 1 where a symbol stands: no program for these tensors."""
    text = "elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nx1: f32[d0, d1] = in\nv0: f32[d0, d1] = add x0, x1\nout v0"
    with pytest.raises(UsageError):
        run(text, *(np.zeros(s, np.float32) for s in shapes))


def test_a_one_must_be_one() -> None:
    text = "elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nx1: f32[1, d1] = in\nv0: f32[d0, d1] = add x0, x1\nout v0"
    with pytest.raises(UsageError):
        run(text, np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))


PRODUCT = (
    "rowwise 1 [d0, 2 | d1]\nx0: f32[d0, 2 | d1] = in (2*d1)\nx1: f32[d0, 1 | d1] = in (d0, d1)\n"
    "v0: f32[d0, 2 | d1] = add x0, x1\nv1: f32[d0, 2 | 1] = reduce_sum v0\nout v1 (d0*2), v0 (d0, 2*d1)"
).replace("x0: f32[d0, 2 | d1]", "x0: f32[1, 2 | d1]")


def test_a_product_of_extents() -> None:
    """x0 of 2·3 elements and x1 of [2, 3]: the sum over the last three, for each of 2·2 rows."""
    x0, x1 = np.arange(6, dtype=np.float32), np.asarray([[0, 0, 0], [10, 20, 30]], np.float32)
    sums, whole = evaluate(parse_program(PRODUCT), [x0, x1])
    assert sums.tolist() == [3.0, 12.0, 63.0, 72.0]
    assert whole.tolist() == [[0, 1, 2, 3, 4, 5], [10, 21, 32, 13, 24, 35]]


@pytest.mark.parametrize("shapes", [((6,), (2, 4)), ((8,), (2, 3)), ((2, 3), (2, 3)), ((3,), (2, 3)), ((6,), (6,))])
def test_a_product_binds_strictly(shapes: tuple[tuple[int, ...], ...]) -> None:
    """The product of what the other tensors bind, and of the numbers, must be the real size."""
    with pytest.raises(UsageError):
        evaluate(parse_program(PRODUCT), [np.zeros(s, np.float32) for s in shapes])


def test_a_symbol_that_stands_in_products_alone_binds_nothing() -> None:
    text = "elementwise 1 [d0, 2]\nx0: f32[d0, 2] = in (d0*2)\nv0: f32[d0, 2] = neg x0\nout v0 (d0*2)"
    with pytest.raises(UsageError, match="no input binds d0"):
        evaluate(parse_program(text), [np.zeros(6, np.float32)])


def test_host_inputs_are_not_read() -> None:
    text = "elementwise 1 [d0]\nx0: f32[d0] = in\nh0: i64[2] = host\nv0: f32[d0] = neg x0\nout v0"
    got = run(text, np.ones(3, np.float32), np.asarray([5, 6, 7, 8], np.int64))
    assert got.tolist() == [-1.0] * 3


CACHE = """\
rowwise 1 [d0, 2, d1 | 3]
x0: f32[d0, 2, d2, 3] = past
x1: f32[d0, 2, d1 | 3] = in
v0: f32[d0, 2, d1 | 3] = neg x1
out v0, v0 behind x0 @2"""


@pytest.mark.parametrize("past", [0, 1, 5])
def test_an_output_in_two_parts(past: int) -> None:
    """Also where there is nothing yet to stand behind."""
    rng = np.random.default_rng(0)
    old, new = (rng.standard_normal((4, 2, length, 3)).astype(np.float32) for length in (past, 2))
    own, both = evaluate(parse_program(CACHE), [old, new])
    assert np.array_equal(own, -new)
    assert np.array_equal(both, np.concatenate((old, -new), axis=2))
    (first,) = evaluate(parse_program(CACHE.replace("out v0, v0 behind", "out v0 before")), [old, new])
    assert np.array_equal(first, np.concatenate((-new, old), axis=2))


def test_a_past_binds_strictly() -> None:
    with pytest.raises(UsageError, match="input x"):
        evaluate(parse_program(CACHE), [np.zeros((4, 2, 9, 3), np.float32), np.zeros((5, 2, 1, 3), np.float32)])


def test_an_output_of_another_order_in_two_parts() -> None:
    """Heads of a product behind those of a cache."""
    text = """\
matmul 1 [d0, d1 | 2, 3]
x0: f32[d0, d1 | d2] = left
x1: f32[d2 | 2, 3] = right (d2, 2*3)
x2: f32[d0, 2, d3, 3] = past
v0: f32[d0, d1 | 2, 3] = matmul x0, x1
out v0 <0 2 1 3> behind x2 @2"""
    rng = np.random.default_rng(0)
    x, w, past = (rng.integers(-3, 4, s).astype(np.float32) for s in ((2, 5, 4), (4, 6), (2, 2, 7, 3)))
    (got,) = evaluate(parse_program(text), [x, w, past])
    heads = (x @ w).reshape(2, 5, 2, 3).transpose(0, 2, 1, 3)
    assert np.array_equal(got, np.concatenate((past, heads), axis=2))
