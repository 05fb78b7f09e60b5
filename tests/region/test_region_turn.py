"""Transposes, views and Expands that a product reads or writes through strides, and those that it cannot."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from equal import assert_equal, feeds_of, run
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.plan import Plan, Region


def model(graph: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\n{graph}')


def fused(source: ModelProto) -> Plan:
    """The plan, after the model has run like the original."""
    result = ascend_fuse.optimize(source)
    feeds = feeds_of(source)
    assert_equal(run(source, feeds), run(result.model, feeds))
    return result.plan


def region(graph: str) -> Region:
    (found,) = fused(model(graph)).regions
    return found


def lines(found: Region) -> list[str]:
    return [line.split(" = ")[-1] for line in found.program.split("\n")[1:]]


HEADS = "<int64[4] heads = {0, 0, 12, 64}, int64[3] merged = {0, 0, 768}>"


def test_a_head_split_is_written_through_strides() -> None:
    found = region(
        f"g (float[b,s,768] x, float[768,768] w, float[768] c) => (float[b,12,s,64] y) {HEADS}"
        "{ p = MatMul (x, w)\n a = Add (p, c)\n r = Reshape (a, heads)\n y = Transpose <perm = [0,2,1,3]> (r) }"
    )
    assert found.program.split("\n")[0] == "matmul 1 [d0, d1 | 12, 64]"
    assert lines(found)[:3] == ["left", "right (d2, 12*64)", "in (12*64)"]
    assert found.program.endswith("out v1 <0 2 1 3>")
    assert found.figures.before.launches == 3


def test_a_head_merge_behind_a_product_is_written_through_strides() -> None:
    found = region(
        f"g (float[b,12,s,t] q, float[b,12,t,64] v) => (float[b,s,768] y) {HEADS}"
        "{ p = MatMul (q, v)\n r = Transpose <perm = [0,2,1,3]> (p)\n z = Reshape (r, merged)\n y = Identity (z) }"
    )
    assert found.program.endswith("out v0 <0 2 1 3>")
    assert found.outputs == ("r",)


def test_a_head_merge_before_a_product_is_read_through_strides() -> None:
    found = region(
        f"g (float[b,12,s,64] x, float[768,100] w) => (float[b,s,100] y) {HEADS}"
        "{ t = Transpose <perm = [0,2,1,3]> (x)\n r = Reshape (t, merged)\n y = MatMul (r, w) }"
    )
    assert found.program.split("\n")[1:3] == [
        "x0: f32[d0, d1 | d3, d4] = left <0 2 1 3>", "x1: f32[d3, d4 | d2] = right (d3*d4, d2)",
    ]  # fmt: skip
    assert found.inputs == ("x", "w")


def test_keys_are_read_transposed() -> None:
    found = region(
        f"g (float[b,12,s,64] q, float[b,t,768] k) => (float[b,12,s,t] y) {HEADS}"
        "{ r = Reshape (k, heads)\n kt = Transpose <perm = [0,2,3,1]> (r)\n y = MatMul (q, kt) }"
    )
    assert "right <0 3 1 2>" in lines(found)[1] or "right <0 2 1 3>" in found.program
    assert found.figures.before.launches == 2


def test_both_operands_and_the_result() -> None:
    found = region(
        f"g (float[b,s,12,64] q, float[b,t,12,64] k) => (float[b,s,12,t] y) {HEADS}"
        "{ qt = Transpose <perm = [0,2,1,3]> (q)\n kt = Transpose <perm = [0,2,3,1]> (k)\n p = MatMul (qt, kt)\n"
        " y = Transpose <perm = [0,2,1,3]> (p) }"
    )
    assert lines(found)[:2] == ["left <0 2 1 3>", "right <0 3 1 2>"]
    assert found.figures.before.launches == 4 and found.figures.after.launches == 1


def test_heads_that_share_keys_are_a_stride_of_zero() -> None:
    found = region(
        "g (float[b,8,s,64] q, float[b,2,64,t] k) => (float[b,8,s,t] y) "
        "<int64[1] one = {2}, int64[5] wide = {1, 1, 4, 1, 1}, int64[4] flat = {0, 8, 64, -1}>"
        "{ u = Unsqueeze (k, one)\n e = Expand (u, wide)\n r = Reshape (e, flat)\n y = MatMul (q, r) }"
    )
    assert found.program.split("\n")[1:3] == [
        "x0: f32[d0, d1, 4, d2 | d4] = left (d0, d1*4, d2, d4)", "x1: f32[d0, d1, 1, d4 | d3] = right",
    ]  # fmt: skip
    assert found.figures.before.launches == 2


def test_what_follows_a_transpose_works_on_its_elements() -> None:
    found = region(
        f"g (float[b,s,768] x, float[768,768] w, float[b,12,s,64] r) => (float[b,12,s,64] y) {HEADS[:-1]}, float c = {{0.5}}>"
        "{ p = MatMul (x, w)\n h = Reshape (p, heads)\n t = Transpose <perm = [0,2,1,3]> (h)\n m = Mul (t, c)\n"
        " y = Add (m, r) }"
    )
    assert "in <0 2 1 3>" in lines(found) and found.program.endswith("out v2 <0 2 1 3>")


def test_rows_of_a_gemm_between_views() -> None:
    """Only behind the view by which they enter are batch and sequence sizes of an input."""
    found = region(
        "g (float[b,s,64] x, float[64,96] w, float[96] c) => (float[b,s,96] y) <int64[2] flat = {-1, 64}> "
        "{ h = Shape <end = 2> (x)\n k = Constant <value_ints = [96]> ()\n sh = Concat <axis = 0> (h, k)\n"
        " r = Reshape (x, flat)\n g = Gemm (r, w, c)\n a = Reshape (g, sh)\n y = Relu (a) }"
    )
    assert found.figures.before.launches == 2 and "x0: f32[d0, d1 | d3] = left\n" in found.program


REFUSED = {
    "an output element by element": (
        "g (float[128,64] x, float[64,96] w) => (float[96,128] y) { p = MatMul (x, w)\n y = Transpose (p) }",
        "Transpose", "axis-not-trailing", "no run of elements",
    ),
    "an operand that lies along neither side": (
        "g (float[64,128,12] x, float[12,64,96] w) => (float[12,128,96] y) "
        "{ t = Transpose <perm = [2,1,0]> (x)\n y = MatMul (t, w) }",
        "Transpose", "axis-not-trailing", "no run of elements",
    ),
    "a Transpose that others read": (
        "g (float[128,64] x, float[128,96] w) => (float[64,96] y, float[64,128] z) "
        "{ t = Transpose (x)\n y = MatMul (t, w)\n z = Trilu (t) }",
        "Transpose", "value-escapes", "is read by others",
    ),
    "a tensor that the product reads in both orders": (
        "g (float[128,64] x) => (float[64,64] y) { t = Transpose (x)\n y = MatMul (t, x) }",
        "Transpose", "nothing-to-join", "reads the same tensor twice",
    ),
    "what makes the addend of a Gemm": (
        "g (float[b,s,64] x, float[64,96] w, float[96] c) => (float[b,s,96] y) <int64[2] flat = {-1, 64}> "
        "{ h = Shape <end = 2> (x)\n k = Constant <value_ints = [96]> ()\n sh = Concat <axis = 0> (h, k)\n"
        " r = Reshape (x, flat)\n n = Neg (c)\n g = Gemm (r, w, n)\n y = Reshape (g, sh) }",
        "Neg", "nothing-to-join", "operands of a product are read as they are",
    ),
    "no product": (
        "g (float[128,64] x) => (float[64,128] y) { t = Transpose (x)\n y = Trilu (t) }",
        "Transpose", "nothing-to-join", "its nearest neighbour Trilu(y) cannot join: Trilu has a kernel of its own",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_stays_a_launch_says_why(name: str) -> None:
    graph, op, code, text = REFUSED[name]
    found = fused(model(graph))
    assert not found.regions
    miss = next(m.miss for m in found.misses if m.op == op)
    assert (miss.code, text in miss.message) == (code, True), miss


def test_an_identity_transpose_is_a_view() -> None:
    """Case A08: perm = [0, 1] moves nothing, whatever a square shape suggests."""
    found = region(
        "g (float[64,64] x, float[64,64] w, float[64] b) => (float[64,64] y) "
        "{ t = Transpose <perm = [0,1]> (x)\n p = MatMul (t, w)\n y = Add (p, b) }"
    )
    assert "= left\n" in found.program


def test_random_paths_around_a_product() -> None:
    """Permuted and regrouped operands and results of all kinds run like the original, whether they fuse or not."""
    strided = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = fused(model(_path(rng)))
        strided += any(r.family == "matmul" and "<" in r.program for r in found.regions)
    assert strided >= 10


def _path(rng: np.random.Generator) -> str:
    """[2,3,4,6] by [2,3,6,5] with a random permutation and perhaps a regrouping on each side and behind."""
    size = dict(zip("bhmkn", (2, 3, 4, 6, 5), strict=True))
    body: list[str] = []
    inputs: list[str] = []
    constants: list[str] = []

    def operand(name: str, axes: str) -> str:
        perm = [int(k) for k in rng.permutation(4)]
        stored = [0] * 4
        for k, p in enumerate(perm):
            stored[p] = size[axes[k]]
        given = [stored[0] * stored[1], *stored[2:]] if rng.random() < 0.5 else stored
        inputs.append(f"float[{','.join(map(str, given))}] {name}")
        constants.append(f"int64[4] s{name} = {{{', '.join(map(str, stored))}}}")
        body.append(f"{name}r = Reshape ({name}, s{name})")
        body.append(f"{name}t = Transpose <perm = {perm}> ({name}r)")
        return f"{name}t"

    left, right = operand("x", "bhmk"), operand("w", "bhkn")
    body.append(f"p = MatMul ({left}, {right})")
    perm = [int(k) for k in rng.permutation(4)]
    shape = [(2, 3, 4, 5)[k] for k in perm]
    body.append(f"o = Transpose <perm = {perm}> (p)")
    body.append("y = Tanh (o)" if rng.random() < 0.5 else "y = Identity (o)")
    return (
        f"g ({', '.join(inputs)}) => (float[{','.join(map(str, shape))}] y) <{', '.join(constants)}> "
        f"{{ {chr(10).join(body)} }}"
    )
