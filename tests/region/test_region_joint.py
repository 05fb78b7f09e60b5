"""Concats along another dimension than the last: results in two parts, of which the region makes one."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from equal import assert_equal, feeds_of, run
from joint_graph import drawn
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.plan import NearMiss, Plan, Region
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program

CACHE = "float[b,8,past,64]"
STEP = "float[b,8,s,64]"
HEADS = "<int64[4] heads = {0, 0, 8, 64}>"


def model(graph: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\n{graph}')


def fused(graph: str) -> Plan:
    """The plan, after the model has run like the original, at sizes that differ and with a part of length 1."""
    source = model(graph)
    result = ascend_fuse.optimize(source)
    for size in (1, 3):
        feeds = feeds_of(source, size=size)
        assert_equal(run(source, feeds), run(result.model, feeds))
    return result.plan


def region(graph: str) -> Region:
    (found,) = fused(graph).regions
    return found


def miss(graph: str, name: str) -> NearMiss:
    return next(m for m in fused(graph).misses if name in m.name)


def test_a_cache_is_written_by_what_makes_its_last_rows() -> None:
    found = region(
        f"g ({CACHE} past_k, {STEP} k, float[s,64] cos) => (float[b,8,t,64] y) {{ r = Mul (k, cos)\n"
        " a = Neg (r)\n y = Concat <axis = 2> (past_k, a) }"
    )
    assert found.program.split("\n") == [
        "elementwise 1 [d0, d1, d2, d3]",
        "x0: f32[d0, d1, d4, d3] = past",
        "x1: f32[d0, d1, d2, d3] = in",
        "x2: f32[d2, d3] = in",
        "v0: f32[d0, d1, d2, d3] = mul x1, x2",
        "v1: f32[d0, d1, d2, d3] = neg v0",
        "out v1 behind x0 @2",
    ]
    assert found.inputs == ("past_k", "k", "cos") and found.outputs == ("y",)
    assert (found.figures.before.launches, found.figures.after.launches) == (3, 1)


def test_a_row_that_is_moved_may_be_a_part() -> None:
    found = region(
        f"g ({CACHE} past_k, {STEP} k, float[s,64] sin) => (float[b,8,t,64] y) "
        "<int64[1] zero = {0}, int64[1] half = {32}, int64[1] end = {64}, int64[1] last = {3}> {\n"
        " low = Slice (k, zero, half, last)\n high = Slice (k, half, end, last)\n n = Neg (high)\n"
        " c = Concat <axis = -1> (n, low)\n m = Mul (c, sin)\n y = Concat <axis = -2> (past_k, m) }"
    )
    assert found.program.startswith("rowwise 1 [d0, d1, d2 | 64]\nx0: f32[d0, d1, d3, 64] = past\n")
    assert found.program.endswith(" behind x0 @2")


def test_a_product_writes_its_heads_behind_a_cache() -> None:
    found = region(
        f"g ({CACHE} past_v, float[b,s,512] x, float[512,512] w) => (float[b,8,t,64] y) {HEADS}"
        "{ p = MatMul (x, w)\n r = Reshape (p, heads)\n v = Transpose <perm = [0,2,1,3]> (r)\n"
        " y = Concat <axis = 2> (past_v, v) }"
    )
    assert found.program.split("\n") == [
        "matmul 1 [d0, d1 | d2, d3]",
        "x0: f32[d0, d1 | d4] = left",
        "x1: f32[d4 | d2, d3] = right (d4, d2*d3)",
        "x2: f32[d0, d2, d5, d3] = past",
        "v0: f32[d0, d1 | d2, d3] = matmul x0, x1",
        "out v0 <0 2 1 3> behind x2 @2",
    ]
    assert found.inputs == ("x", "w", "past_v")
    assert found.figures.before.launches == 3


def test_a_product_keeps_its_epilogue() -> None:
    found = region(
        "g (float[n,past,96] c, float[n,s,64] x, float[64,96] w, float[96] b) => (float[n,t,96] y) {\n"
        " p = MatMul (x, w)\n a = Add (p, b)\n y = Concat <axis = 1> (c, a) }"
    )
    assert found.program.endswith("out v1 behind x2 @1") and found.figures.before.launches == 3


def test_the_region_may_make_the_first_part() -> None:
    found = region(
        f"g ({CACHE} skip, {STEP} x) => (float[b,8,t,64] y) {{ a = Relu (x)\n y = Concat <axis = 2> (a, skip) }}"
    )
    assert found.program.endswith("out v0 before x0 @2")


def test_a_part_may_be_read_as_well() -> None:
    found = region(
        f"g ({CACHE} c, {STEP} x) => (float[b,8,t,64] y, {STEP} a) {{ a = Relu (x)\n y = Concat <axis = 2> (c, a) }}"
    )
    assert found.program.endswith("out v0, v0 behind x0 @2") and found.outputs == ("a", "y")


def test_several_results_of_one_region() -> None:
    found = region(
        f"g ({CACHE} c, {STEP} x, {CACHE} d) => (float[b,8,t,64] y, float[b,8,u,64] z) {{ a = Relu (x)\n"
        " n = Neg (a)\n y = Concat <axis = 2> (c, a)\n z = Concat <axis = 2> (n, d) }"
    )
    assert found.program.endswith("out v0 behind x0 @2, v1 before x1 @2")
    assert found.figures.before.launches == 4


def test_channels_of_images_are_joined() -> None:
    found = region(
        "g (float[n,16,h,w] skip, float[n,32,h,w] x, float[32,1,1] s) => (float[n,48,h,w] y) {\n"
        " m = Mul (x, s)\n a = Relu (m)\n y = Concat <axis = 1> (a, skip) }"
    )
    assert "\nx0: f32[d0, d4, d2, d3] = past\n" in found.program and found.program.endswith("out v1 before x0 @1")


def test_a_transpose_of_ones_is_a_launch_that_joins() -> None:
    """One token: its heads are split without moving anything, but by a node that is launched."""
    found = region(
        "g (float[1,8,past,64] c, float[1,1,512] x) => (float[1,8,t,64] y) <int64[4] heads = {1, 1, 8, 64}> {\n"
        " r = Reshape (x, heads)\n h = Transpose <perm = [0,2,1,3]> (r)\n n = Neg (h)\n"
        " y = Concat <axis = 2> (c, n) }"
    )
    assert found.figures.before.launches == 3
    assert found.program.endswith(" behind x0 @2")


REFUSED = {
    "what reads the result": (
        f"g ({CACHE} c, {STEP} x) => (float[b,8,t,64] y) {{ a = Relu (x)\n j = Concat <axis = 2> (c, a)\n"
        " n = Neg (j)\n y = Exp (n) }",
        "Neg", "", ("Relu(a)", "Concat(j)"),
    ),
    "two parts of the region": (
        f"g ({STEP} c, {STEP} x) => (float[b,8,t,64] y, {STEP} m) {{ a = Relu (x)\n n = Neg (a)\n"
        " m = Mul (n, c)\n y = Concat <axis = 2> (a, n) }",
        "Concat", "axis-not-trailing shape-mismatch", ("Relu(a)", "Neg(n)", "Mul(m)"),
    ),
    "three parts": (
        f"g ({CACHE} c, {STEP} x) => (float[b,8,t,64] y) {{ a = Relu (x)\n n = Neg (a)\n"
        " y = Concat <axis = 2> (c, n, c) }",
        "Concat", "axis-not-trailing", ("Relu(a)", "Neg(n)"),
    ),
    "a past that depends on the region": (
        f"g ({STEP} x, float[s,s] w) => (float[b,8,t,64] y) {{ a = Relu (x)\n n = Neg (a)\n c = MatMul (w, n)\n"
        " y = Concat <axis = 2> (c, n) }",
        "Concat", "not-convex shape-mismatch", ("Relu(a)", "Neg(n)"),
    ),
    "a past that the region reads": (
        f"g ({STEP} c, {STEP} x) => (float[b,8,t,64] y) {{ a = Relu (x)\n m = Mul (c, a)\n"
        " y = Concat <axis = 2> (c, m) }",
        "Concat", "shape-mismatch", ("Relu(a)", "Mul(m)"),
    ),
    "a part that is narrower than the region": (
        "g (float[n,s,64] c, float[1,s,64] x, float[n,s,64] z) => (float[t,s,64] y, float[n,s,64] m) {\n"
        " a = Relu (x)\n k = Neg (a)\n m = Mul (k, z)\n y = Concat <axis = 0> (c, a) }",
        "Concat", "shape-mismatch", ("Neg(k)", "Mul(m)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_concat_that_stays_a_launch(name: str) -> None:
    graph, node, codes, names = REFUSED[name]
    plan = fused(graph)
    assert any(r.names == names for r in plan.regions), [r.names for r in plan.regions]
    if codes:
        found = next(m for m in plan.misses if m.name.startswith(node))
        assert found.miss.code in codes.split(), found.miss


def test_a_concat_beside_no_region_keeps_its_reason() -> None:
    source = f"g ({CACHE} c, {CACHE} d, {CACHE} e) => (float[b,8,t,64] y) {{ y = Concat <axis = 2> (c, d) }}"
    found = miss(source, "Concat")
    assert (found.miss.code, found.miss.message) == ("axis-not-trailing", "Concat joins along axis 2 of 4")
    assert found.miss.figures == {"axis": 2, "rank": 4}


def test_an_empty_past_is_right() -> None:
    """The engine takes no size of 0, so a kernel does not run there: the body does."""
    graph = f"g ({CACHE} c, {STEP} x) => (float[b,8,t,64] y) {{ a = Relu (x)\n n = Neg (a)\n y = Concat <axis = 2> (c, n) }}"
    source = model(graph)
    result = ascend_fuse.optimize(source)
    feeds = feeds_of(source, size=2)
    feeds["c"] = np.zeros((2, 8, 0, 64), np.float32)
    want = run(source, feeds)
    assert_equal(want, run(result.model, feeds))
    (found,) = result.plan.regions
    assert_equal(want, evaluate(parse_program(found.program), [feeds[n] for n in found.inputs]))


def test_a_convolution_writes_its_channels_behind_others() -> None:
    found = region(
        "g (float[n,16,h,w] skip, float[n,32,h,w] x, float[24,32,1,1] k) => (float[n,40,h,w] y) {\n"
        " p = Conv (x, k)\n a = Relu (p)\n y = Concat <axis = 1> (skip, a) }"
    )
    assert found.family == "matmul" and found.program.split("\n")[-1].endswith(" behind x2 @1")


def test_random_concats_run_like_the_original() -> None:
    joined = 0
    for seed in range(40):
        source, feeds = drawn(seed)
        result = ascend_fuse.optimize(source)
        assert_equal(run(source, feeds), run(result.model, feeds), str(seed))
        joined += sum(" behind " in r.program or " before " in r.program for r in result.plan.regions)
    assert joined >= 8
