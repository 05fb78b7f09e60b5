"""Norms with channels, Dropouts in inference mode, conversions by example, activations: one node each, or why not."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from region_case import Case, told

import ascend_fuse
from ascend_fuse.graph.launch import launch_counts
from ascend_fuse.plan import Plan
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program
from tests.equal import assert_equal, feeds_of, run

X = "float[N,8,H,W]"


def channels(node: str, scale: int = 8, x: str = X) -> str:
    """A step, the node and a step, over images."""
    kind = x.split("[")[0]
    return (
        f"g ({x} x, {kind}[{scale}] w, {kind}[{scale}] b) => ({x} y) "
        f"{{ a = Relu (x)\n n = {node} (a, w, b)\n y = Tanh (n) }}"
    )


def step(node: str, operands: str = "a", more: str = "") -> str:
    """A step and the node behind it."""
    return f"g (float[4,6] x{more}) => (float[4,6] y) {{ a = Neg (x)\n y = {node} ({operands}) }}"


BY_EXAMPLE = """g (float[4,6] x) => (float[4,6] y) <float two = {2.0}> {
    t = CastLike (two, x)
    r = Sqrt (t)
    d = Div (x, r)
    y = Erf (d)
}"""
MASKED = """g (float[2,5] x) => (float[2,5] y, bool[2,5] mask) <float ratio = {0.3}> {
    p = Softmax <axis = -1> (x)
    d, mask = Dropout (p, ratio)
    f = Cast <to = 1> (mask)
    y = Add (d, f)
}"""
# opset, graph, header, a line that the program has
FUSED: dict[str, tuple[int, str, str, str]] = {
    "instance": (17, channels("InstanceNormalization"), "rowwise 1 [d0, d1 | d2, d3]", "x1: f32[1, d1 | 1, 1] = in (d1)"),
    "instance-of-one-axis": (
        17, channels("InstanceNormalization", 3, "float[2,3,5]"), "rowwise 1 [d0, d1 | d2]", "x1: f32[1, d1 | 1] = in (d1)",
    ),
    "instance-f16": (
        17, channels("InstanceNormalization", 3, "float16[2,3,5]"), "rowwise 1 [d0, d1 | d2]", ": f32[d0, d1 | d2] = cast v0",
    ),
    "group-18": (
        18, channels("GroupNormalization <num_groups = 4>", 4), "rowwise 1 [d0, d1 | 2, d2, d3]",
        "x1: f32[1, d1 | 1, 1, 1] = in (d1)",
    ),
    "group-21": (
        21, channels("GroupNormalization <num_groups = 4>"), "rowwise 1 [d0, 4 | 2, d1, d2]",
        "x1: f32[1, 4 | 2, 1, 1] = in (4*2)",
    ),
    "group-f16": (
        21, channels("GroupNormalization <num_groups = 2>", 8, "float16[2,8,3,3]"), "rowwise 1 [d0, 2 | 4, d1, d2]",
        ": f32[d0, 2 | 4, d1, d2] = cast v0",
    ),
    "one-group": (21, channels("GroupNormalization <num_groups = 1>"), "rowwise 1 [d0, 1 | d1, d2, d3]", "in (d1)"),
    "a-group-each": (21, channels("GroupNormalization <num_groups = 8>"), "rowwise 1 [d0, d1 | d2, d3]", "in (d1)"),
    "mask-in-inference": (13, MASKED, "rowwise 1 [d0 | d1]", "v6: bool[d0 | d1] = or v5, true"),
    "number-by-example": (18, BY_EXAMPLE, "elementwise 1 [d0, d1]", "= div x0, 1.4142135"),
    "swish": (24, step("Swish <alpha = 1.5>"), "elementwise 1 [d0, d1]", "= mul v0, 1.5"),
    "silu": (24, step("Swish"), "elementwise 1 [d0, d1]", "= silu v0"),
    "swiglu": (28, step("SwiGLU", "a, z", ", float[4,6] z"), "elementwise 1 [d0, d1]", "= mul v1, x1"),
    "shrink": (17, step("Shrink <bias = 0.5, lambd = 0.25>"), "elementwise 1 [d0, d1]", "= lt v0, -0.25"),
    "clip": (17, step("Clip", "a, , z", ", float z"), "elementwise 1 [d0, d1]", "= min v1, x1"),
    "clip-6": (7, step("Clip <min = -0.5, max = 0.5>"), "elementwise 1 [d0, d1]", "= min v1, 0.5"),
    "log-softmax": (17, step("LogSoftmax <axis = -1>"), "rowwise 1 [d0 | d1]", "= log v4"),
    "gelu-tanh": (20, step('Gelu <approximate = "tanh">'), "elementwise 1 [d0, d1]", "= gelu_tanh v0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_one_node(name: str) -> None:
    """Bits equal through the body; the program of each is proved against it while it is planned."""
    opset, graph, head, line = FUSED[name]
    source = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {graph}')
    result = ascend_fuse.optimize(source, min_gain=0.0)
    assert launch_counts(result.model).total() == 1
    (region,) = result.plan.regions
    assert region.program.startswith(head + "\n")
    assert line in region.program
    if opset > 24:  # this ONNX Runtime has not SwiGLU yet
        return
    source = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {graph}')
    feeds = feeds_of(source)
    if "float16" in graph and "Normalization" in graph:
        return  # ONNX Runtime's CPU provider has no norm of channels on halves
    assert_equal(run(source, feeds), run(result.model, feeds), name)


def test_the_mask_of_no_number_is_true() -> None:
    program = parse_program(
        "elementwise 1 [d0]\nx0: f32[d0] = in\nv0: bool[d0] = eq x0, x0\nv1: bool[d0] = or v0, true\nout v1"
    )
    (mask,) = evaluate(program, [np.asarray([1.0, np.nan, np.inf, -0.0], np.float32)])
    assert mask.tolist() == [True] * 4


ONE_SIDED = {
    "clip-6": (7, "float", "Clip <min = -1.0> (a)", ""), "clip-6-above": (7, "float", "Clip <max = 1.0> (a)", ""),
    "clip-6-alone": (7, "float", "Clip (a)", ""), "clip": (13, "float", "Clip (a, c)", "float c = {-1}"),
    "clip-half": (13, "float16", "Clip (a, , c)", "float16 c = {48128}"), "clip-alone": (13, "float16", "Clip (a)", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_SIDED)
def test_an_absent_end_of_a_clip_is_the_greatest_number(name: str) -> None:
    opset, kind, node, held = ONE_SIDED[name]
    numbers = f" <{held}>" if held else ""
    graph = f"g ({kind}[2,4] x) => ({kind}[2,4] y){numbers} {{ a = Neg (x)\n y = {node} }}"
    source = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {graph}')
    (region,) = ascend_fuse.optimize(source, min_gain=0.0).plan.regions
    dtype = np.float32 if kind == "float" else np.float16
    x = np.asarray([[np.inf, -np.inf, 0.5, -3], [65504, -65504, 0, 7]], dtype)
    (found,) = evaluate(parse_program(region.program), [x])
    assert_equal(run(source, {"x": x}), [found], region.program)


REFUSED = (
    Case(
        "shape-mismatch", "n", "g (float[N,C,H] x, float[1] w) => (float[N,C,H] y) "
        "{ a = Relu (x)\n n = BatchNormalization (a, w, w, w, w)\n y = Tanh (n) }",
        ("float[1] w", "float[8] w"), {"shape": "[1]", "space": "[N, C, H]"}, label="one-value-for-channels",
    ),
    Case(
        "shape-mismatch", "n", channels("GroupNormalization <num_groups = 1>", 1).replace("[1]", "[S]"), ("[S] w, float[S]", "[1] w, float[1]"),
        {"shape": "[S]"}, opset=18, label="unknown-scales-for-a-group",
    ),
    Case(
        "shape-mismatch", "n", channels("InstanceNormalization", 1, "float[N,C,H]"), ("[1] w, float[1] b", "[8] w, float[8] b"),
        {"shape": "[1]"}, label="one-scale-for-channels",
    ),
    Case(
        "shape-mismatch", "n", channels("GroupNormalization <num_groups = 3>").replace("[8]", "[8]"),
        ("num_groups = 3", "num_groups = 4"), {}, opset=21, label="groups-that-do-not-divide",
    ),
    Case(
        "attribute-unsupported", "n", channels("GroupNormalization <num_groups = 4, stash_type = 10>"),
        (", stash_type = 10", ""), {"attribute": "stash_type"}, opset=21, label="half-statistics",
    ),
    Case(
        "attribute-unsupported", "d",
        "g (float[2,5] x, bool t) => (float[2,5] y) <float ratio = {0.3}> "
        "{ p = Relu (x)\n d = Dropout (p, ratio, t)\n y = Tanh (d) }",
        ("bool t) => (float[2,5] y) <", "float k) => (float[2,5] y) <bool t = {0}, "), {"attribute": "training_mode"},
        label="training-or-not",
    ),
    Case(
        "attribute-unsupported", "d",
        "g (float[2,5] x) => (float[2,5] y, float[2,5] m) { p = Relu (x)\n d, m = Dropout (p)\n y = Tanh (d) }",
        (", float[2,5] m) { p = Relu (x)\n d, m", ") { p = Relu (x)\n d"), {"attribute": "outputs"}, opset=9,
        label="a-mask-of-numbers",
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c.label)
def test_refused(case: Case) -> None:
    miss = _told(case.plan(), case)
    assert {k: miss.get(k) for k in case.figures} == dict(case.figures)
    assert case.code not in told(case.changed(), case.node)


def test_a_bound_that_is_no_number_is_refused() -> None:
    """ONNX Runtime drops it, a maximum keeps it."""
    graph = "g (float[N,4] x) => (float[N,4] y) <float low = {0}> { a = Neg (x)\n c = Clip (a, low)\n y = Tanh (c) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}')
    assert ascend_fuse.optimize(model, min_gain=0.0).plan.regions
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.float32(np.nan), "low"))
    plan = ascend_fuse.optimize(model, min_gain=0.0).plan
    assert [m.miss.message for m in plan.misses if m.miss.code == "attribute-unsupported"] == [
        "Clip with a bound that is no number"
    ]


def _told(plan: Plan, case: Case) -> dict[str, object]:
    """The figures of the miss, by any of the node's outputs."""
    found = [m.miss for m in plan.misses if m.miss.code == case.code]
    assert found
    return dict(found[0].figures)


def test_rows_that_do_not_fit_leave_their_neighbours() -> None:
    """A norm of 2^22 elements a row has its own kernel; the chain behind it is one node all the same."""
    graph = (
        "g (float[4,4194304] x, float[4194304] w) => (float[4,4194304] y) "
        "{ n = LayerNormalization (x, w)\n a = Split (n)\n y = Tanh (a) }"
    ).replace("Split (n)", "Relu (n)")
    rotated = (
        "g (float[4,65536] x) => (float[4,65536] y) { a, b = Split <axis = 1> (x)\n n = Neg (b)\n "
        "r = Concat <axis = 1> (n, a)\n p = Relu (r)\n y = Tanh (p) }"
    )
    assert len(Case("", "", graph, ("", ""), {}).plan().regions) == 1
    plan = Case("", "", rotated, ("", ""), {}, opset=13).plan()
    assert [len(r.nodes) for r in plan.regions] == [2]
    assert {m.miss.code for m in plan.misses if m.op in ("Split", "Concat")} == {"ub-overflow"}
