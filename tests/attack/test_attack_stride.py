"""Transposes and views around products, and saved plans of them, that once stopped a run or came back otherwise."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from ascend_fuse import apply, optimize
from ascend_fuse.emit.inline import inline_model
from tests.equal import assert_equal, feeds_of, run

CHEAP = {"min_gain": 0.0, "launch_us": 15.0}


def model(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\ng {graph}')


def checked(proto: onnx.ModelProto) -> list[str]:
    """The programs, after what has to hold of every model."""
    result = optimize(proto, **CHEAP)
    feeds = feeds_of(proto)
    assert_equal(run(proto, feeds), run(result.model, feeds))
    again = apply(proto, result.plan).model
    assert again.SerializeToString(deterministic=True) == result.model.SerializeToString(deterministic=True)
    inline_model(result.model)
    assert list(result.model.graph.node) == list(proto.graph.node)
    return [region.program for region in result.plan.regions]


@pytest.mark.parametrize("operands", ["t, w, t", "w, t, t"])
def test_a_gemm_adds_the_transpose_that_is_its_operand(operands: str) -> None:
    """What a load moves has no line of its own, so nothing but the load may read it."""
    programs = checked(
        model(
            "(float[M,M] x, float[M,M] w) => (float[M,M] y) "
            f"{{ t = Transpose <perm = [1, 0]> (x)\n p = Gemm ({operands})\n y = Tanh (p) }}"
        )
    )
    assert len(programs) == 1
    assert "<" not in programs[0]


HEAD = (
    "(float[2,3,5,8] x, float[8,16] w, float[1,1,1,1] s) => (float[2,5,3,16,1] y) <int64[1] last = {4}> "
    "{ p = MatMul (x, w)\n q = Transpose <perm = [0, 2, 1, 3]> (p)\n"
)


def test_a_dimension_of_one_lies_on_no_axis_of_another_dimension() -> None:
    """`s` is read in two ranks: by the first, its last dimension lies on n, by the second n is the last but one."""
    programs = checked(model(f"{HEAD} a = Add (q, s)\n u = Unsqueeze (a, last)\n y = Add (s, u) }}"))
    assert len(programs) == 1
    assert programs[0].splitlines()[-1] == "out v2 <5 1 3 2 4 0> (d0, d2, d1, d3, 1)"


def test_two_gaps_between_axes_in_another_order_share_no_axis() -> None:
    """The view of `r` has dimensions of 1 in front of both of its others, which the product has in the other order."""
    (program,) = checked(
        model(
            "(float[2,6,4,4] x, float[4,4] w, float[1,4,4] c, float[1,1,2,2,1] r) => (float[2,6,2,2,4] y) "
            "<int64[5] cut = {2, 6, 2, -1, 4}> "
            "{ p = MatMul (x, w)\n a = Sub (p, c)\n b = Reshape (a, cut)\n"
            " q = Transpose <perm = [3, 1, 2, 0, 4]> (b)\n t = Tanh (q)\n"
            " v = Transpose <perm = [4, 0, 2, 3, 1]> (r)\n y = Add (v, t) }"
        )
    )
    assert program.startswith("matmul")
    assert "in <1 2 3 0 4 5> (1, 1, d2, d0, 1)" in program


def test_a_plan_whose_program_hangs_on_where_it_grew_from() -> None:
    """From the Add or from the views before it, there are more axes of size 1 or fewer."""
    checked(
        model(
            "(float[3,1,1] x, float[1,4] w) => (float[3,1,1] y, float[3,1,4] z) "
            "{ t = Transpose <perm = [1, 2, 0]> (x)\n u = Transpose <perm = [2, 0, 1]> (t)\n"
            " z = MatMul (u, w)\n y = Add (x, u) }"
        )
    )


def test_inline_finds_the_order_again() -> None:
    """The region goes on behind `e`, which reads it, and behind a constant that has nothing to do with either."""
    (program,) = checked(
        model(
            "(float[8,16] x, float[16,32] w) => (float[8,32] e, float[32,8] f) "
            "{ p = MatMul (x, w)\n s = Sigmoid (p)\n e = Hardmax <axis = 0> (s)\n"
            " c = Constant <value = int64[2] {32, 8}> ()\n g = Tanh (s)\n f = Reshape (g, c) }"
        )
    )
    assert program.endswith("out v1, v2")
