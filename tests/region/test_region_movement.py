"""Transposes in regions without a product: those that cancel, those that stay, and what is left alone."""

from __future__ import annotations

import onnx.parser
import pytest
from equal import assert_equal, feeds_of, run
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.plan import Plan, Region

IMAGE, PLANES = "[0,3,1,2]", "[0,2,3,1]"  # to channels first, to channels last


def planned(graph: str, **options: object) -> Plan:
    """The plan, after the model has run like the original."""
    source: ModelProto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\n{graph}')
    result = ascend_fuse.optimize(source, **options)
    feeds = feeds_of(source)
    assert_equal(run(source, feeds), run(result.model, feeds))
    return result.plan


def only(graph: str) -> Region:
    (found,) = planned(graph).regions
    return found


def test_a_pair_around_elementwise_steps_cancels() -> None:
    found = only(
        f"""g (float[n,h,w,32] x, float[32,1,1] b, float[32,1,1] slope) => (float[n,h,w,32] y) {{
        t = Transpose <perm = {IMAGE}> (x)
        a = Add (t, b)
        p = PRelu (a, slope)
        y = Transpose <perm = {PLANES}> (p) }}"""
    )
    assert found.rules == ("AF501",) and found.figures.before.launches == 4
    lines = found.program.split("\n")
    assert lines[0] == "elementwise 1 [d0, d1, d2, d3]" and "<" not in found.program
    assert lines[1:3] == ["x0: f32[d0, d1, d2, d3] = in", "x1: f32[1, 1, 1, d3] = in (d3, 1, 1)"]


def test_branches_that_meet_between_transposes() -> None:
    found = only(
        f"""g (float[2,h,w,32] x, float[2,h,w,32] z, float[32,1,1] b) => (float[2,h,w,32] y, float[2,h,w,32] k) {{
        t = Transpose <perm = {IMAGE}> (x)
        u = Transpose <perm = {IMAGE}> (z)
        a = Add (t, b)
        s = Add (a, u)
        y = Transpose <perm = {PLANES}> (s)
        r = Relu (u)
        k = Transpose <perm = {PLANES}> (r) }}"""
    )
    assert found.figures.before.launches == 7 and found.family == "elementwise" and "<" not in found.program


def test_transposes_that_undo_each_other_are_one_copy() -> None:
    found = only(
        f"g (float[n,h,w,c] x) => (float[n,h,w,c] y) {{ t = Transpose <perm = {IMAGE}> (x)\n"
        f" y = Transpose <perm = {PLANES}> (t) }}"
    )
    assert found.program.split("\n")[2:] == ["v0: f32[d0, d1, d2, d3] = broadcast x0", "out v0"]


def test_views_between_transposes() -> None:
    found = only(
        """g (float[4,h,6,32] x) => (float[24,h,32] y) <int64[4] heads = {4, 6, -1, 32}, int64[3] flat = {24, -1, 32}> {
        t = Transpose <perm = [0,2,1,3]> (x)
        f = Reshape (t, flat)
        a = Relu (f)
        r = Reshape (a, heads)
        u = Transpose <perm = [0,2,1,3]> (r)
        e = Exp (u)
        v = Transpose <perm = [0,2,1,3]> (e)
        y = Reshape (v, flat) }"""
    )
    assert {"Transpose(t)", "Relu(a)", "Transpose(u)", "Exp(e)"} <= set(found.names)


def test_rows_between_transposes_of_the_axes_before_them() -> None:
    found = only(
        """g (float[b,s,8,64] x) => (float[b,s,8,64] y) {
        t = Transpose <perm = [0,2,1,3]> (x)
        r = Softmax <axis = -1> (t)
        y = Transpose <perm = [0,2,1,3]> (r) }"""
    )
    assert found.rules == ("AF301", "AF501") and found.program.startswith("rowwise 1 [d0, d1, d2 | d3]\n")
    assert "<" not in found.program


def test_a_row_does_not_follow_the_order_in_which_its_steps_joined() -> None:
    """The steps in front of the Softmax are laid in the order of the channels' planes."""
    found = only(
        f"""g (float[n,16,16,32] x) => (float[n,16,16,32] y) {{
        t = Transpose <perm = {IMAGE}> (x)
        a = Exp (t)
        u = Transpose <perm = {PLANES}> (a)
        y = Softmax <axis = -1> (u) }}"""
    )
    assert found.program.startswith("rowwise 1 [d0, 16, 16 | d3]\n") or "[d0, d1, d2 | d3]" in found.program


def test_a_tensor_and_its_transpose_are_on_different_axes() -> None:
    plan = planned("g (float[6,6] x) => (float[6,6] y) { t = Transpose (x)\n a = Add (x, t)\n y = Relu (a) }")
    (found,) = plan.regions
    assert "Transpose(t)" not in found.names


def test_one_axis_is_not_two_dimensions_of_a_value() -> None:
    plan = planned(
        "g (float[1,n,6] x) => (float[6,n,6] y) { t = Transpose <perm = [2,1,0]> (x)\n m = Mul (t, x)\n y = Relu (m) }"
    )
    (found,) = plan.regions
    assert found.names == ("Mul(m)", "Relu(y)")


def test_axes_of_one_move_nothing() -> None:
    found = only(
        "g (float[1,n,1,6] x) => (float[n,1,6,1] y) { a = Exp (x)\n t = Transpose <perm = [1,0,3,2]> (a)\n y = Relu (t) }"
    )
    assert "<" not in found.program and found.figures.before.launches == 3


def test_a_transpose_that_a_product_reads_through_strides_is_the_product_s() -> None:
    plan = planned(
        """g (float[2,64,128,64] q, float[2,64,128,64] k) => (float[2,64,128,128] y) {
        t = Transpose <perm = [0,1,3,2]> (k)
        p = MatMul (q, t)
        y = Relu (p) }"""
    )
    (found,) = plan.regions
    assert found.family == "matmul" and found.names == ("Transpose(t)", "MatMul(p)", "Relu(y)")


def test_without_the_rule_nothing_moves() -> None:
    graph = (
        f"g (float[2,h,w,32] x) => (float[2,h,w,32] y) {{ t = Transpose <perm = {IMAGE}> (x)\n a = Relu (t)\n"
        f" y = Transpose <perm = {PLANES}> (a) }}"
    )
    plan = planned(graph, ignore="AF501")
    assert not plan.regions
    told = {m.name: m.miss for m in plan.misses if m.op == "Transpose"}
    assert [(m.code, m.figures) for m in told.values()] == [("rule-ignored", {"rule": "AF501"})] * 2
    assert planned(graph, ignore="AF101").regions


@pytest.mark.parametrize(
    ("source", "through", "lines"),
    [("float16", 1, ["v0: f16[d0, d1] = add x0, x0"]), ("bfloat16", 1, ["v0: bf16[d0, d1] = add x0, x0"])],
)
def test_a_wider_type_and_back_is_nothing(source: str, through: int, lines: list[str]) -> None:
    code = {"float16": 10, "bfloat16": 16}[source]
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 17]> g ({source}[n,256] x) => ({source}[n,256] y) '
        f"{{ t = Cast <to = {through}> (x)\n u = Cast <to = {code}> (t)\n y = Add (u, u) }}"
    )
    (found,) = ascend_fuse.optimize(model).plan.regions
    assert found.program.split("\n")[2:-1] == lines


@pytest.mark.parametrize(("source", "through", "back"), [("float", 10, 1), ("float", 6, 1), ("int32", 1, 6)])
def test_other_pairs_of_casts_stay(source: str, through: int, back: int) -> None:
    found = only(
        f"g ({source}[n,256] x) => ({source}[n,256] y) {{ t = Cast <to = {through}> (x)\n u = Cast <to = {back}> (t)\n"
        " y = Add (u, u) }"
    )
    assert found.program.count("= cast") == 2


def test_a_wide_value_that_is_read_too_stays() -> None:
    found = only(
        """g (float16[n,256] x) => (float16[n,256] y, float[n,256] e) {
        t = Cast <to = 1> (x)
        e = Exp (t)
        u = Cast <to = 10> (t)
        y = Add (u, u) }"""
    )
    assert found.program.count("= cast") == 1


def test_a_cast_that_nobody_reads() -> None:
    found = only("g (int32[n,256] x) => (int32[n,256] y) { t = Cast <to = 1> (x)\n a = Add (x, x)\n y = Mul (a, x) }")
    assert "Cast(t)" in found.names and "= cast" not in found.program


def test_permutations_compose_in_the_right_order() -> None:
    found = only(
        """g (float[2,3,4] x, float[2] b) => (float[3,4,2] y) {
        t = Transpose <perm = [1, 0, 2]> (x)
        u = Transpose <perm = [0, 2, 1]> (t)
        y = Add (u, b) }"""
    )
    assert found.program.split("\n") == [
        "transform 1 [d0 | d1, d2]",
        "x0: f32[d0 | d1, d2] = in",
        "x1: f32[d0 | 1, 1] = in (d0)",
        "v0: f32[d0 | d1, d2] = add x0, x1",
        "out v0 <1 2 0>",
    ]


def test_transposes_alone_are_one_copy() -> None:
    found = only(
        """g (float[n,64,h,w] x) => (float[n,w,h,64] y) {
        t = Transpose <perm = [0,2,3,1]> (x)
        y = Transpose <perm = [0,2,1,3]> (t) }"""
    )
    assert found.family == "transform" and found.rules == ("AF501",)
    assert found.program.split("\n")[2:] == ["v0: f32[d0, d1 | d2, d3] = copy x0", "out v0 <0 3 2 1>"]


def test_the_order_of_the_most_bytes_is_the_program_s() -> None:
    """Two tensors lie channels last, one channels first."""
    found = only(
        f"""g (float[2,64,64,32] x) => (float[2,64,64,32] y, float[2,32,64,64] r) {{
        t = Transpose <perm = {IMAGE}> (x)
        r = Relu (t)
        y = Transpose <perm = {PLANES}> (r) }}"""
    )
    assert found.figures.before.launches == 3 and found.program.count("<") == 1


def test_rows_over_channels_first() -> None:
    """The norm of a convolutional block: its kernel reads and writes turned tiles."""
    found = only(
        f"""g (float[2,96,32,32] x, float[96] w, float[96] b) => (float[2,96,32,32] y) {{
        t = Transpose <perm = {PLANES}> (x)
        n = LayerNormalization (t, w, b)
        y = Transpose <perm = {IMAGE}> (n) }}"""
    )
    assert found.family == "rowwise" and "AF501" in found.rules
    assert found.program.count("in <0 3 1 2>") == 1 and found.program.endswith("<0 3 1 2>")


def test_a_second_reader_of_a_transposed_value() -> None:
    """It is written as well."""
    found = only(
        f"""g (float[2,64,64,32] x) => (float[2,32,64,64] t, float[2,64,64,32] y) {{
        t = Transpose <perm = {IMAGE}> (x)
        r = Relu (t)
        y = Transpose <perm = {PLANES}> (r) }}"""
    )
    assert set(found.outputs) == {"t", "y"} and found.program.count("<") == 1


def test_a_body_that_captures_a_transposed_value() -> None:
    plan = planned(
        f"""g (float[2,16,16,32] x, bool c) => (float[2,16,16,32] y, float[2,32,16,16] z) {{
        t = Transpose <perm = {IMAGE}> (x)
        r = Relu (t)
        y = Transpose <perm = {PLANES}> (r)
        z = If (c) <then_branch = a () => (float[2,32,16,16] p) {{ p = Neg (r) }},
                    else_branch = b () => (float[2,32,16,16] q) {{ q = Abs (r) }}> }}"""
    )
    (found,) = [r for r in plan.regions if not r.graph]
    assert set(found.outputs) == {"r", "y"}


@pytest.mark.parametrize(("dtype", "op"), [("bool", "Not"), ("int32", "Neg"), ("float16", "Relu")])
def test_types_that_move(dtype: str, op: str) -> None:
    found = only(
        f"""g ({dtype}[2,64,64,32] x) => ({dtype}[2,64,64,32] y) {{
        t = Transpose <perm = {IMAGE}> (x)
        r = {op} (t)
        y = Transpose <perm = {PLANES}> (r) }}"""
    )
    assert found.family == "elementwise"


@pytest.mark.parametrize("dtype", ["double", "int64"])
def test_types_that_do_not(dtype: str) -> None:
    plan = planned(
        f"g ({dtype}[2,64,64,32] x) => ({dtype}[2,64,64,32] y) {{ t = Transpose <perm = {IMAGE}> (x)\n"
        f" y = Transpose <perm = {PLANES}> (t) }}"
    )
    assert {m.miss.code for m in plan.misses} == {"dtype-unsupported"}


def test_a_tensor_that_lies_along_neither_side() -> None:
    """The Transpose stays, with that as its reason: channels are inside of a group's row, planes outside of them."""
    plan = planned(
        """g (float[1,256,128] x, float[8] one, float[8] zero) => (float[1,8,4096] y) <int64[3] groups = {1, 8, -1}> {
        t = Transpose <perm = [0,2,1]> (x)
        g = Reshape (t, groups)
        n = InstanceNormalization (g, one, zero)
        y = Relu (n) }"""
    )
    (miss,) = [m.miss for m in plan.misses if m.op == "Transpose"]
    assert miss.code == "axis-not-trailing" and miss.message == "x is contiguous along neither the rows nor the cols"
    assert miss.figures["axis"] == "x"
