"""Quantised graphs: borders stay, integers stay, and what is float between them fuses whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static
from region_case import told

import ascend_fuse
from tests.equal import assert_equal, feeds_of, run

X = "float[1,16,64]"
# Two products, a GELU between them, a residual and a softmax behind.
FLOAT = f"""g ({X} x) => ({X} y) <float half = {{0.5}}, float one = {{1.0}}, float root = {{1.41421356}}> {{
    p = MatMul (x, w)
    q = Add (p, b)
    s = Div (q, root)
    e = Erf (s)
    t = Add (e, one)
    m = Mul (q, t)
    g = Mul (m, half)
    o = MatMul (g, v)
    r = Add (o, x)
    y = Softmax <axis = -1> (r)
}}"""
GELU = ("Add(q)", "Div(s)", "Erf(e)", "Add(t)", "Mul(m)", "Mul(g)")
TAIL = ("Add(r)", "Softmax(y)")
INTEGER = frozenset("QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearMatMul MatMulInteger".split())


class Feeds(CalibrationDataReader):
    def __init__(self, model: ModelProto) -> None:
        self.feeds: Iterator[dict[str, np.ndarray]] = iter([feeds_of(model, seed=k) for k in range(3)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.feeds, None)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The float model with its weights."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{FLOAT}')
    rng = np.random.default_rng(0)
    for name, shape in (("w", (64, 256)), ("b", (256,)), ("v", (256, 64))):
        weight = rng.standard_normal(shape).astype(np.float32) * np.float32(0.1)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    path = tmp_path_factory.mktemp("quantised") / "float.onnx"
    onnx.save(model, path)
    return path


def quantised(source: Path, form: str) -> ModelProto:
    """As ONNX Runtime's own tool makes it."""
    path = source.with_name(f"{form}.onnx")
    if form == "dynamic":
        quantize_dynamic(source, path)
    else:
        feeds = Feeds(onnx.load(source))
        quantize_static(source, path, feeds, quant_format=QuantFormat[form], op_types_to_quantize=["MatMul"])
    return onnx.load(path)


@pytest.mark.parametrize("form", ["QDQ", "QOperator", "dynamic"])
def test_what_the_quantiser_left_in_float_fuses_whole(source: Path, form: str) -> None:
    model = quantised(source, form)
    result = ascend_fuse.optimize(model)
    first, second = result.plan.regions
    assert first.names[-len(GELU) :] == GELU and second.names[-len(TAIL) :] == TAIL
    before, after = ([n.op_type for n in m.graph.node if n.op_type in INTEGER] for m in (model, result.model))
    assert before == after and before
    assert not INTEGER & {n.op_type for f in result.model.functions for n in f.node}
    onnx.checker.check_model(result.model)
    feeds = feeds_of(model)
    assert_equal(run(model, feeds), run(result.model, feeds))


def test_reasons_name_the_scales(source: Path) -> None:
    scales = {m.op: m.miss.figures["scale"] for m in ascend_fuse.optimize(quantised(source, "QOperator")).plan.misses}
    assert scales["QLinearMatMul"] in ("x_scale, w_scale, p_scale", "g_scale, v_scale, o_scale")
    dynamic = ascend_fuse.optimize(quantised(source, "dynamic")).plan.misses
    assert {m.miss.figures["scale"] for m in dynamic if m.op == "DynamicQuantizeLinear"} == {"x_scale", "g_scale"}


def test_a_float_region_between_borders() -> None:
    graph = (
        "g (uint8[4,256] a, uint8[4,256] b, float s, uint8 z, float[256] w) => (uint8[4,256] y) { "
        "da = DequantizeLinear (a, s, z)\n db = DequantizeLinear (b, s, z)\n t = Add (da, db)\n "
        "n = LayerNormalization (t, w)\n h = Tanh (n)\n y = QuantizeLinear (h, s, z) }"
    )
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\n{graph}')
    result = ascend_fuse.optimize(model)
    (region,) = result.plan.regions
    assert region.names == ("Add(t)", "LayerNormalization(n)", "Tanh(h)")
    miss = told(result.plan, "y")["quantised"].miss
    assert miss.message == "QuantizeLinear borders a quantised part, scaled by s" and miss.figures == {"scale": "s"}
    feeds = feeds_of(model) | {"s": np.asarray(0.05, np.float32)}
    assert_equal(run(model, feeds), run(result.model, feeds))


def test_integers_between_borders_are_untouched() -> None:
    graph = (
        "g (float[1,4,8,8] x, float s, int8 z) => (float[1,64,4] y) <int64[3] shape = {1,64,4}> { "
        "q = QuantizeLinear (x, s, z)\n m = MaxPool <kernel_shape = [1, 1]> (q)\n "
        "t = Transpose <perm = [0, 2, 3, 1]> (m)\n r = Reshape (t, shape)\n y = DequantizeLinear (r, s, z) }"
    )
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\n{graph}')
    result = ascend_fuse.optimize(model)
    assert result.plan.regions == () and list(result.model.graph.node) == list(model.graph.node)
