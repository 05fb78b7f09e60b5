"""Convolutions that are matrix products: their programs, what joins them, and what every other one is told."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.parser
import pytest
from onnx import ModelProto
from region_case import told

import ascend_fuse
from ascend_fuse.emit.inline import inline_model
from ascend_fuse.plan import Plan, Region
from tests.equal import assert_equal, feeds_of, run

X, W, Y = "float[2,64,28,28]", "float[128,64,1,1]", "float[2,128,28,28]"


def model(graph: str, opset: int = 17) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')


def plan(graph: str, opset: int = 17, **options: Any) -> Plan:
    return ascend_fuse.optimize(model(graph, opset), **options).plan


def only(found: Plan) -> Region:
    (region,) = found.regions
    return region


def relu(attributes: str = "", x: str = X, w: str = W, y: str = Y, bias: str = "") -> str:
    """A convolution and what follows it."""
    given = f", float[{bias}] b" if bias else ""
    return (
        f"g ({x} x, {w} w{given}) => ({y} y) {{ p = Conv {attributes} (x, w{', b' if bias else ''})\n y = Relu (p) }}"
    )


def test_the_weight_is_left_and_the_images_are_right() -> None:
    graph = f"g ({X} x, {W} w, float[128] b, {Y} r) => ({Y} y) {{ p = Conv (x, w, b)\n s = Add (r, p)\n y = Relu (s) }}"
    result = ascend_fuse.optimize(model(graph))
    region = only(result.plan)
    assert region.rules == ("AF403",) and region.inputs == ("w", "x", "b", "r")
    assert region.program == "\n".join((
        "matmul 1 [d0, d1 | d2, d3]",
        "x0: f32[d1 | d4] = left (d1, d4, 1, 1)",
        "x1: f32[d0, d4 | d2, d3] = right",
        "x2: f32[1, d1 | 1, 1] = in (d1)",
        "x3: f32[d0, d1 | d2, d3] = in",
        "v0: f32[d0, d1 | d2, d3] = matmul x0, x1",
        "v1: f32[d0, d1 | d2, d3] = add v0, x2",
        "v2: f32[d0, d1 | d2, d3] = add x3, v1",
        "v3: f32[d0, d1 | d2, d3] = relu v2",
        "out v3",
    ))  # fmt: skip
    assert dict(region.sizes) == {"d0": 2, "d1": 128, "d2": 28, "d3": 28, "d4": 64}
    (body,) = result.model.functions
    assert [list(n.input) for n in body.node] == [["i1", "i0", "i2"], ["i3", "t0"], ["t1"]]


@pytest.mark.parametrize("dtype", ["float", "float16", "bfloat16"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_every_float_type_and_number_of_axes(dtype: str, axes: int) -> None:
    picture, ones = ",".join(["12"] * axes), ",".join("1" * axes)
    x, w, y = (f"{dtype}[{s}]" for s in (f"2,64,{picture}", f"128,64,{ones}", f"2,128,{picture}"))
    region = only(plan(relu(x=x, w=w, y=y), opset=22))
    letters = ", ".join(f"d{2 + k}" for k in range(axes))
    assert region.family == "matmul"
    assert f"[d0, d{2 + axes} | {letters}] = right" in region.program


@pytest.mark.parametrize(
    "attributes",
    [
        "<kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1>",
        "<dilations = [2, 3]>",
        '<auto_pad = "SAME_UPPER">',
        '<auto_pad = "SAME_LOWER">',
        '<auto_pad = "VALID", dilations = [2, 2]>',
        '<auto_pad = "NOTSET", pads = [0, 0, 0, 0]>',
    ],
)
def test_forms_that_are_the_same_product(attributes: str) -> None:
    text = model(relu(attributes, bias="128"))
    result = ascend_fuse.optimize(text)
    assert only(result.plan).rules == ("AF403",)
    feeds = feeds_of(text)
    assert_equal(run(text, feeds), run(result.model, feeds), attributes)


NOT_A_PRODUCT = {
    "its kernel is 3x3, not 1x1": ("<pads = [1, 1, 1, 1]>", X, "float[128,64,3,3]", Y),
    "its kernel is 1x3, not 1x1": ("<pads = [0, 1, 0, 1]>", X, "float[128,64,1,3]", Y),
    "its stride is 2x2": ("<strides = [2, 2]>", X, W, "float[2,128,14,14]"),
    "it has 2 groups": ("<group = 2>", X, "float[128,32,1,1]", Y),
    "its images are padded by 1, 0, 1, 0": ("<pads = [1, 0, 1, 0]>", X, W, "float[2,128,30,28]"),
    "auto_pad SAME_UPPER beside dilations": ('<auto_pad = "SAME_UPPER", dilations = [2, 2]>', X, W, Y),
    "images of 4 axes": ("", "float[2,64,4,4,4,4]", "float[128,64,1,1,1,1]", "float[2,128,4,4,4,4]"),
}


@pytest.mark.parametrize("why", NOT_A_PRODUCT)
def test_other_convolutions_say_what_stands_in_the_way(why: str) -> None:
    """What follows them is told the same."""
    attributes, x, w, y = NOT_A_PRODUCT[why]
    found = plan(relu(attributes, x, w, y))
    assert found.regions == ()
    assert told(found, "p")["own-kernel"].miss.message == f"Conv has a kernel of its own: {why}"
    beside = told(found, "y")["nothing-to-join"].miss.message
    assert beside == f"its only neighbour is a product, Conv(p): Conv has a kernel of its own: {why}"


@pytest.mark.parametrize("w", ["float[128,64,k,k]", "float"])
def test_a_kernel_that_nobody_knows(w: str) -> None:
    text = model(relu(w=w))
    if w == "float":
        text.graph.input[1].type.tensor_type.ClearField("shape")
    found = ascend_fuse.optimize(text).plan
    assert told(found, "p")["shape-unknown"].miss.figures == {"axis": "kernel"}


def test_types_that_the_cube_does_not_multiply() -> None:
    graph = relu(x="double[2,64,28,28]", w="double[128,64,1,1]", y="double[2,128,28,28]")
    assert told(plan(graph), "p")["dtype-unsupported"].miss.figures == {"dtype": "f64"}


def test_a_bias_that_is_too_short() -> None:
    found = plan(relu(bias="1"))
    assert found.regions == () and "attribute-unsupported" in told(found, "p")


def test_what_follows_another_convolution_fuses() -> None:
    graph = f"g ({X} x, float[64,64,3,3] w, {X} r) => ({X} y) {{ p = Conv <pads = [1,1,1,1]> (x, w)\n s = Add (p, r)\n y = Relu (s) }}"
    region = only(plan(graph))
    assert region.family == "elementwise" and region.inputs == ("p", "r")


BESIDE = {
    "float": "f32[] = in",
    "float[128,1,1]": "f32[d1 | 1, 1] = in",
    "float[1,128,1,1]": "f32[1, d1 | 1, 1] = in",
    "float[n,128,1,1]": "f32[d0, d1 | 1, 1] = in",
    "float[h,1]": "f32[d2, 1] = in",
    "float[n,128,h,w]": "f32[d0, d1 | d2, d3] = in",
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_sizes_that_are_known_at_run_time(beside: str, op: str) -> None:
    """Scalars, values of a channel, the gate of a squeeze-excite, a residual.

    What differs along the image's rows only broadcasts inside of a product's row, which its kernel does not do.
    """
    text = model(
        f"g (float[n,64,h,w] x, float[128,64,1,1] k, float[128] b, {beside} r) => (float[n,128,h,w] y) "
        f"{{ p = Conv (x, k, b)\n s = {op} (p, r)\n t = HardSwish (s)\n y = Add (t, p) }}"
    )
    result = ascend_fuse.optimize(text)
    region = only(result.plan)
    if beside == "float[h,1]":
        assert len(region.nodes) == 3 and told(result.plan, "p")["op-unsupported"].miss.figures == {"op": "broadcast"}
    else:
        assert len(region.nodes) == 4
    assert BESIDE[beside].replace("[d2, 1]", "[d2, 1]") in region.program
    for seed, size in enumerate((3, 5)):
        feeds = feeds_of(text, seed=seed, size=size)
        assert_equal(run(text, feeds), run(result.model, feeds), beside)


def test_inline_gives_the_convolution_back() -> None:
    text = model(relu("<dilations = [1, 1]>", bias="128"))
    result = ascend_fuse.optimize(text)
    again = ModelProto()
    again.CopyFrom(result.model)
    inline_model(again)
    assert list(again.graph.node) == list(text.graph.node)


def test_channels_that_a_view_splits() -> None:
    graph = (
        f"g ({X} x, {W} w, float[2,4,32,28,28] r) => (float[2,4,32,28,28] y) <int64[5] s = {{2,4,32,28,28}}> "
        "{ p = Conv (x, w)\n v = Reshape (p, s)\n y = Mul (v, r) }"
    )
    text = model(graph)
    result = ascend_fuse.optimize(text)
    region = only(result.plan)
    assert "x0: f32[d1, d2 | d5] = left (d1*d2, d5, 1, 1)" in region.program
    assert "x1: f32[d0, 1, d5 | d3, d4] = right (d0, d5, d3, d4)" in region.program
    feeds = feeds_of(text)
    assert_equal(run(text, feeds), run(result.model, feeds))


def test_a_convolution_alone_is_priced_as_a_product() -> None:
    """Its estimate does not depend on whether something joins it."""
    apart = plan(relu(), min_gain=0.95)
    miss = told(apart, "p")["no-gain"]
    assert (miss.cost.launches, miss.cost.hbm_bytes) == (1, 4 * (128 * 64 + 2 * (64 + 128) * 28 * 28))
    product = "g (float[128,64] w, float[2,64,784] x) => (float[2,128,784] y) { p = MatMul (w, x)\n y = Relu (p) }"
    assert miss.cost == told(plan(product, min_gain=0.95), "p")["no-gain"].cost


def test_a_reduction_behind_a_convolution() -> None:
    graph = f"g ({X} x, {W} w) => (float[2,128,1,1] y) {{ p = Conv (x, w)\n y = ReduceMean <axes = [2, 3]> (p) }}"
    assert "crosses-reduction" in told(plan(graph), "p")


TURNED = {
    "the images are stored with channels last": (
        "float[2,28,28,64] x, float[128,64,1,1] w", "t = Transpose <perm = [0,3,1,2]> (x) p = Conv (t, w, b)",
        "= right <0 2 3 1>",
    ),
    "the weight is a transposed matrix": (
        f"{X} x, float[64,128] w",
        "u = Transpose <perm = [1,0]> (w) t = Reshape (u, s) p = Conv (x, t, b)", "= left <1 0>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_an_operand_is_read_through_its_transpose(name: str) -> None:
    inputs, nodes, line = TURNED[name]
    text = model(f"g ({inputs}, float[128] b) => ({Y} y) <int64[4] s = {{128,64,1,1}}> {{ {nodes} y = Relu (p) }}")
    result = ascend_fuse.optimize(text)
    assert line in only(result.plan).program and result.plan.totals_after.launches == 1
    feeds = feeds_of(text)
    assert_equal(run(text, feeds), run(result.model, feeds), name)


def test_a_result_with_channels_last_is_transposed_apart() -> None:
    """Its rows are image positions: no block transfer stores neighbours of one as neighbours."""
    graph = (
        f"g ({X} x, {W} w) => (float[2,28,28,128] y) "
        "{ p = Conv (x, w)\n r = Relu (p)\n y = Transpose <perm = [0,2,3,1]> (r) }"
    )
    found = plan(graph)
    assert only(found).outputs == ("r",) and found.totals_after.launches == 2
