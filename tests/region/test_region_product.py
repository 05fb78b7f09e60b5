"""Regions of products: what joins, in which program, and the reason of everything that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx.parser
import pytest
from onnx import ModelProto
from region_case import told

import ascend_fuse
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.plan import Plan, ProductTiling, Region, to_json
from ascend_fuse.plan_file import from_json
from ascend_fuse.report.explanation import Filter, explanation_page
from ascend_fuse.report.render import render_page
from ascend_fuse.rule.load import load_rules
from ascend_fuse.run import Options, Run
from models import BUILDERS
from tests.engine.engine_program import INI

X, Y = "float[4,128,768]", "float[4,128,512]"
TWO_CORES = "ai_core_cnt=2\ncube_core_cnt=2\nvector_core_cnt=4"
HEAD = f"g ({X} x, float[768,512] w, float[512] b, {Y} r) => "


def model(graph: str, opset: int = 17) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')


def plan(graph: str, opset: int = 17, **options: Any) -> Plan:
    return ascend_fuse.optimize(model(graph, opset), **options).plan


def only(found: Plan) -> Region:
    (region,) = found.regions
    return region


def test_bias_activation_and_residual_in_one_launch() -> None:
    region = only(plan(HEAD + f"({Y} y) {{ p = MatMul (x, w)\n s = Add (b, p)\n t = Tanh (s)\n y = Add (t, r) }}"))
    assert region.family == "matmul" and region.rules[0] == "AF401" and region.op_type.startswith("FusedMatmul_")
    assert region.inputs == ("x", "w", "b", "r") and region.outputs == ("y",)
    assert region.program.split("\n")[1:4] == [
        "x0: f32[d0, d1 | d3] = left", "x1: f32[d3 | d2] = right", "x2: f32[d2] = in",
    ]  # fmt: skip
    assert dict(region.sizes) == {"d0": 4, "d1": 128, "d2": 512, "d3": 768}
    t = region.tiling
    assert isinstance(t, ProductTiling)
    assert t.tile_m % 16 == 0 and t.tile_n % 16 == 0 and t.tile_k > 0 and "m" in t.fuse_tiles
    assert 0 < t.l1_bytes <= t.l1_budget and t.ub_bytes <= t.ub_budget
    assert region.figures.before.launches == 4 and region.figures.after.launches == 1
    assert region.figures.after.time_us < region.figures.before.time_us


def test_the_node_has_the_attributes_of_a_product() -> None:
    result = ascend_fuse.optimize(model(HEAD + f"({Y} y) {{ p = MatMul (x, w)\n y = Add (p, b) }}"))
    (node,) = result.model.graph.node
    assert [a.name for a in node.attribute] == [
        "program", "rules", "soc", "fuse_enable", "block_dim", "buffer_num", "l1_budget", "ub_budget", "tile_m",
        "tile_n", "tile_k", "fuse_tiles", "source",
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float", "float16", "bfloat16"])
def test_every_float_type(dtype: str) -> None:
    graph = (
        f"g ({dtype}[128,768] x, {dtype}[768,512] w, {dtype}[512] b) => ({dtype}[128,512] y) "
        "{ p = MatMul (x, w)\n s = Add (p, b)\n y = Relu (s) }"
    )
    assert only(plan(graph)).family == "matmul"


C = {"": "", "float c, ": "f32[] = in", "float[512] c, ": "f32[d1] = in", "float[128,1] c, ": "f32[d0 | 1] = in",
     "float[1,512] c, ": "f32[1 | d1] = in", "float[128,512] c, ": "f32[d0 | d1] = in"}  # fmt: skip


@pytest.mark.parametrize("c", C)
@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_gemm_in_every_form(c: str, turned: tuple[int, int]) -> None:
    shapes = ("float[768,128]" if turned[0] else "float[128,768]", "float[512,768]" if turned[1] else "float[768,512]")
    graph = (
        f"g ({shapes[0]} a, {c}{shapes[1]} w) => (float[128,512] y) "
        f"{{ p = Gemm <transA = {turned[0]}, transB = {turned[1]}, alpha = 0.5, beta = 2.0> (a, w{', c' if c else ''})\n"
        " y = Tanh (p) }"
    )
    region = only(plan(graph))
    lines = region.program.split("\n")
    assert lines[1] == f"x0: f32[d0 | d2] = left{' <1 0>' if turned[0] else ''}"
    assert lines[2] == f"x1: f32[d2 | d1] = right{' <1 0>' if turned[1] else ''}"
    assert not c or lines[3] == f"x2: {C[c]}"
    assert "= mul v0, 0.5" in region.program and ("= mul x2, 2.0" in region.program) == bool(c)


def test_the_product_and_an_intermediate_are_further_outputs() -> None:
    region = only(plan(HEAD + f"({Y} y, {Y} p, {Y} s) {{ p = MatMul (x, w)\n s = Add (p, b)\n y = Tanh (s) }}"))
    assert region.outputs == ("p", "s", "y")
    assert region.program.endswith("out v0, v1, v2")


def test_batch_dimensions_and_a_mask_that_all_heads_share() -> None:
    graph = (
        "g (float[b,12,s,64] q, float[b,1,64,t] k, float[b,1,s,t] keep) => (float[b,12,s,t] y) <float c = {0.125}> "
        "{ p = MatMul (q, k)\n a = Mul (p, c)\n y = Mul (a, keep) }"
    )
    region = only(plan(graph))
    assert "x1: f32[d0, 1, d4 | d3] = right" in region.program
    assert "x2: f32[d0, 1, d2 | d3] = in" in region.program


def test_a_view_behind_a_gemm_joins() -> None:
    graph = (
        f"g (float[512,768] x, float[768,512] w, float[512] b, {Y} r) => ({Y} y) <int64[3] shape = {{4,128,512}}> "
        "{ p = Gemm (x, w, b)\n v = Reshape (p, shape)\n y = Add (v, r) }"
    )
    region = only(plan(graph))
    assert "x0: f32[d0, d1 | d3] = left (d0*d1, d3)" in region.program and len(region.nodes) == 3


def test_a_tensor_that_is_operand_twice_and_added_as_well() -> None:
    result = ascend_fuse.optimize(
        model("g (float[256,256] x) => (float[256,256] y) { p = MatMul (x, x)\n y = Add (p, x) }")
    )
    (region,) = result.plan.regions
    assert region.inputs == ("x", "x", "x")
    (body,) = result.model.functions
    assert [list(n.input) for n in body.node] == [["i0", "i1"], ["t0", "i2"]]


def test_a_gate_joins_one_of_two_products() -> None:
    graph = (
        f"g ({X} x, float[768,512] w, float[768,512] u) => ({Y} y) "
        "{ g = MatMul (x, w)\n s = Sigmoid (g)\n a = Mul (g, s)\n h = MatMul (x, u)\n y = Mul (a, h) }"
    )
    found = plan(graph)
    region = only(found)
    assert region.inputs == ("x", "w", "h") and len(region.nodes) == 4
    assert found.totals_after.launches == 2
    assert "MatMul(h)" in {m.name for m in found.misses}


def test_a_product_is_in_one_region_only() -> None:
    graph = HEAD + f"({Y} y, {Y} z) {{ p = MatMul (x, w)\n y = Tanh (p)\n z = Sigmoid (p) }}"
    region = only(plan(graph))
    assert region.outputs == ("y", "z") and region.program.count("matmul x0, x1") == 1


# Every no


def test_a_reduction_behind_a_product() -> None:
    found = plan(HEAD + f"({Y} y) {{ p = MatMul (x, w)\n y = Softmax <axis = -1> (p) }}")
    assert found.regions == ()
    miss = told(found, "p")["crosses-reduction"].miss
    assert miss.message == "Softmax needs whole rows, a tile of the product MatMul(p) has a part of them"


@pytest.mark.parametrize(
    ("b", "y", "w"), [("float[1,1,1,1,512]", "float[1,1,4,128,512]", 512), ("float[512]", Y, 1)], ids=["rank", "width"]
)
def test_a_sum_that_is_wider_than_the_product(b: str, y: str, w: int) -> None:
    found = plan(f"g ({X} x, float[768,{w}] w, {b} b) => ({y} y) {{ p = MatMul (x, w)\n y = Add (p, b) }}")
    assert found.regions == ()
    miss = told(found, "y")["shape-mismatch"].miss
    assert miss.message == "Add(y) spreads p behind the product MatMul(p) over a wider shape"


def test_what_does_not_pay() -> None:
    found = plan(HEAD + f"({Y} y) {{ p = MatMul (x, w)\n y = Add (p, b) }}", min_gain=0.95)
    assert found.regions == ()
    for node in ("p", "y"):
        assert set(told(found, node)["no-gain"].miss.figures) == {"before_us", "after_us", "gain_us"}


def test_a_quantised_border() -> None:
    graph = (
        f"g ({X} x, float[768,512] w, float s, uint8 z) => (uint8[4,128,512] y) "
        "{ p = MatMul (x, w)\n y = QuantizeLinear (p, s, z) }"
    )
    assert told(plan(graph), "p")["nothing-to-join"].miss.figures == {
        "neighbour": "QuantizeLinear(y)",
        "why": "quantised",
    }


@pytest.mark.parametrize(
    ("types", "code"), [(("double", "double"), "dtype-unsupported"), (("int32", "int32"), "own-kernel")]
)
def test_types_that_the_cube_does_not_multiply(types: tuple[str, str], code: str) -> None:
    graph = (
        f"g ({types[0]}[128,768] x, {types[0]}[768,512] w, {types[1]}[512] b) => ({types[1]}[128,512] y) "
        "{ p = MatMul (x, w)\n y = Add (p, b) }"
    )
    assert code in told(plan(graph), "p")


def test_a_product_of_a_vector() -> None:
    graph = "g (float[768] x, float[768,512] w, float[512] b) => (float[512] y) { p = MatMul (x, w)\n y = Add (p, b) }"
    assert told(plan(graph), "p")["attribute-unsupported"].miss.figures == {"attribute": "rank"}


def test_what_makes_an_operand_stays_outside() -> None:
    found = plan(HEAD + f"({Y} y) {{ a = Relu (x)\n p = MatMul (a, w)\n y = Add (p, b) }}")
    assert only(found).inputs == ("a", "w", "b")
    miss = told(found, "a")["nothing-to-join"].miss
    assert miss.message == "its only neighbour is a product, MatMul(p): operands of a product are read as they are"


def test_a_block_that_fits_no_l1() -> None:
    engine = Engine(load_soc("Ascend910B1"), bounds(l1_reserve=0.9, min_tile_k=1024))
    graph = model(HEAD + f"({Y} y) {{ p = MatMul (x, w)\n y = Add (p, b) }}")
    found, _ = Run(graph, engine, load_rules([]), Options(soc="Ascend910B1"), lambda *_: None).fuse()
    figures = told(found, "p")["l1-overflow"].miss.figures
    assert figures["buffer"] == "L1"
    assert int(figures["need_bytes"]) > int(figures["budget_bytes"])


# A region of rows behind a product


NORM = "y = LayerNormalization (s, g, g)"


def norm(more: str = "") -> str:
    return (
        f"g ({X} x, float[768,512] w, float[512] b, {Y} r, float[512] g) => ({Y} y{more}) "
        f"{{ p = MatMul (x, w)\n a = Add (p, b)\n s = Add (a, r)\n {NORM} }}"
    )


def test_the_sum_goes_where_the_estimate_is_less() -> None:
    """What the plan takes costs no more than the other split, as planned with the product's rule ignored."""
    for more in ("", f", {Y} s"):
        with_products, without = plan(norm(more)), plan(norm(more), ignore=["AF401"])
        assert with_products.totals_after.launches == without.totals_after.launches == 2
        assert with_products.totals_after.time_us <= without.totals_after.time_us
        miss = {m.name: m.miss for m in with_products.misses}
        if "MatMul(p)" in miss:  # it stayed with the norm: moving it saves less than the least gain
            assert miss["MatMul(p)"].code == "no-gain"
            assert float(miss["MatMul(p)"].figures["gain_us"]) < 1.0


def test_a_residual_moves_to_the_product_where_that_saves_the_least_gain(tmp_path: Path) -> None:
    """On two cores of a chip: the sum, an output, is then written by the product."""
    half = "float16[2,128,512]"
    graph = (
        f"g ({half} x, float16[512,512] w, {half} r, float16[512] g) => ({half} y, {half} s) {{ p = MatMul (x, w)\n"
        "s = Add (p, r)\n q = Mul (s, s)\n m = ReduceMean <axes = [-1]> (q)\n d = Sqrt (m)\n n = Div (s, d)\n"
        "y = Mul (n, g) }"
    )
    small = tmp_path / "two.ini"  # whose vector cores are few: 310B's kernels have no products
    small.write_text(INI.replace("ai_core_cnt=24\ncube_core_cnt=24\nvector_core_cnt=48", TWO_CORES))
    slow, fast = plan(graph, soc=str(small)), plan(graph, soc="Ascend910B3")
    assert [(r.family, r.outputs) for r in slow.regions] == [("matmul", ("s",)), ("rowwise", ("y",))]
    assert [(r.family, r.outputs) for r in fast.regions] == [("rowwise", ("s", "y"))]
    rows = plan(graph, soc=str(small), ignore=["AF401"])
    assert rows.totals_after.launches == slow.totals_after.launches == 2
    assert rows.totals_after.time_us - slow.totals_after.time_us >= 1.0
    assert told(fast, "p")["no-gain"].miss.message.startswith("what follows MatMul(p) stays in the region of ")


@pytest.mark.parametrize("name", ["bert-layer", "mlp", "llama-block", "vit-layer"])
@pytest.mark.parametrize("launch_us", [1.0, 10.0])
def test_no_model_becomes_slower_by_its_products(name: str, launch_us: float) -> None:
    """Nor has it more launches."""
    with_products = ascend_fuse.optimize(BUILDERS[name](), launch_us=launch_us).plan.totals_after
    without = ascend_fuse.optimize(BUILDERS[name](), launch_us=launch_us, ignore=["AF40*"]).plan.totals_after
    assert with_products.time_us < without.time_us
    assert with_products.launches < without.launches


def test_planning_is_deterministic() -> None:
    first, second = plan(norm()), plan(norm())
    assert first == second


def test_a_mask_that_is_drawn_right_behind_a_product() -> None:
    graph = HEAD + (
        f"({Y} y) <float ratio = {{0.25}}, bool on = {{1}}> "
        "{ p = MatMul (x, w)\n d = Dropout <seed = 7> (p, ratio, on)\n y = Add (d, r) }"
    )
    region = only(plan(graph))
    assert region.program.split("\n")[4:6] == [
        "v0: f32[d0, d1 | d2] = matmul x0, x1", "v1: bool[d0, d1 | d2] = random_keep {ratio=0.25, seed=7}",
    ]  # fmt: skip


def test_the_plan_reads_back_and_explains_its_tiles() -> None:
    found = plan(HEAD + f"({Y} y) {{ p = MatMul (x, w)\n y = Add (p, b) }}")
    again = from_json(json.loads(json.dumps(to_json(found))))
    assert to_json(again) == to_json(found) and only(again).tiling == only(found).tiling
    t = only(found).tiling
    assert isinstance(t, ProductTiling)
    page = render_page(explanation_page("m.onnx", found, (), Filter()), "text")
    assert f"tiles of {t.tile_m} by {t.tile_n} by {t.tile_k} (m, n, k) elements" in page
