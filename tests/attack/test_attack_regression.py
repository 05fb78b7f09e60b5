"""Graphs that once crashed, lost structure or gave a program that is not its body; the name tells the trap."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

from ascend_fuse import optimize
from ascend_fuse.emit.inline import inline_model
from ascend_fuse.error import UsageError
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program

CHEAP = {"min_gain": 0.0, "launch_us": 15.0}
BODIES = {
    "comparison of integers": "(int32[N,4] x, int32[N,4] y) => (bool[N,4] z) { a = Less(x, y) z = Not(a) }",
    "equality of booleans": "(bool[N,4] x, bool[N,4] y) => (bool[N,4] z) { a = Equal(x, y) z = Not(a) }",
    "two literals": "(float[N,4] x) => (float[N,4] z) <float a={1}, float b={2}> { c = Max(a, b, x) z = Neg(c) }",
    "norm of a literal": "(float[1] s) => (float[1] z) <float[1] c={2}> "
    "{ e = Exp(s) t = LayerNormalization(c, e) z = Neg(t) }",
    "empty tensor": "(float[0,8] x) => (float[0,8] z) { e = Exp(x) z = Softmax(e) }",
    "empty slice": "(float[N,8] x) => (float[N,0] z) <int64[1] a={8}, int64[1] b={9}, int64[1] k={-1}> "
    "{ e = Exp(x) t = Slice(e, a, b, k) z = Neg(t) }",
    "alias of the default domain": "(float[N,8] x) => (float[N,8] z) { t = ai.onnx.Exp(x) z = Neg(t) }",
    "string constant": '(float[N,8] x) => (float[N,8] z, string[1] s) '
    '{ t = Exp(x) z = Neg(t) s = Constant<value=string[1] {"abc"}>() }',
    "value and its view outside": "(float[N,8] x) => (float[N,8] t, float[N,1,8] u, float[N,1,8] z) "
    "<int64[1] k={1}> { t = Exp(x) u = Unsqueeze(t, k) z = Neg(u) }",
    "input passed through": "(bool[1,1] x) => (bool[1] z, bool[1,1] u) <int64[1] k={1}, int64[2] s={1,1}> "
    "{ a = Squeeze(x, k) z = Not(a) u = Expand(a, s) }",
    "integer list as data": "(int32[1,4] x) => (int32[1,4] z, int32[1,4] u) "
    "{ c = Constant<value = int32[4] {1,2,3,4}>() "
    "a = Add(c, x) z = Neg(a) u = Sub(a, x) }",
    "sliced scalar": "(float x) => (float[1] z) <float[1] c={2}, int64[1] a={0}, int64[1] b={1}> "
    "{ t = Mul(x, c) e = Exp(t) s = Slice(e, a, b, a) z = Neg(s) }",
    "expand by another size": "(float[N] x, float[M] y) => (float[P] z) "
    "{ s = Shape(y) a = Exp(x) e = Expand(a, s) z = Neg(e) }",
    "slice with a step and no axes": "(float[2,3,4,5] x) => (float[?,?] z) "
    "<int64[1] a={0}, int64[1] b={4}, int64[1] c={2}, "
    "int64[1] n={15}> { s = Shape(x) t = Slice(s, a, b, \"\", c) u = Mul(t, n) v = Equal(u, u) w = Where(v, t, u) "
    "m = Constant<value_ints=[-1, 1]>() e = Exp(x) r = Reshape(e, m) z = Neg(r) q = Identity(w) }",
    "dead nodes": "(float[N] x) => (float[N] z, int64[1] s) { t = Exp(x) u = Neg(t) s = Shape(u) z = Relu(x) }",
    "rows numbered beside a concat": "(float[N,8] x) => (float[N,16] z) "
    "{ a = Neg(x) h = Hardmax<axis=-1>(a) z = Concat<axis=-1>(a, h) }",
    "a number beside a transpose": "(float[3,N,4] x) => (float[1,1,1] m, float[3,4,N] z) "
    "{ a = Neg(x) m = ReduceMin(a) b = Sub(a, m) z = Transpose<perm=[0,2,1]>(b) }",
    "a number of all axes, joined": "(float[8,5,N] x, float[1,2,1] p) => (float[1,3,1] z) "
    "{ a = ReduceMax(x) z = Concat<axis=1>(a, p) }",
    "half clip without an end": "(float16[N,8] x) => (float16[N,8] z) <float16 c={16384}, float16 k={30547}> "
    "{ a = Neg(x) b = Mul(a, k) d = Clip(b, c) z = Mul(d, a) }",
    "x - tanh(x)": "(float[N,8] x) => (float[N,8] z) { t = Tanh(x) z = Sub(x, t) }",
    "sum of a softmax less one": "(float[N,8] x) => (float[N,1] z) <float o={1}, int64[1] k={-1}> "
    "{ t = Softmax(x) u = ReduceSum(t, k) z = Sub(u, o) }",
    "NaN in a maximum": "(float[N,8] x) => (float[N,1] z) "
    "{ t = Log(x) u = Sigmoid(t) v = ReduceMax<axes=[-1]>(u) z = Neg(v) }",
    "overflow in a norm": "(float[N,M,4] x, float[4] w) => (float[N,M,4] z) "
    "{ t = Exp(x) u = LayerNormalization<axis=1>(t, w) z = Add(u, w) }",
    "overridable split": "(float[N,4] x, int64[2] p) => (float[N,1] z, float[N,3] y) <int64[2] p={1,3}> "
    "{ e = Exp(x) a, b = Split<axis=-1>(e, p) z = Neg(a) y = Neg(b) }",
    "overridable step": "(float[N,4] x, int64[1] p) => (float[N,4] z) <int64[1] p={1}, int64[1] a={0}, int64[1] b={9}, "
    ""
    "int64[1] k={-1}> { e = Exp(x) s = Slice(e, a, b, k, p) z = Neg(s) }",
    "symbol named as the program's": "(float[d1,d0] x, float[d0] y) => (float[d1,d0] z) "
    "{ a = Exp(x) s = Shape(x) b = Expand(y, s) z = Add(a, b) }",
}  # fmt: skip


def model(body: str, opset: int = 17) -> onnx.ModelProto:
    """The graph as a model."""
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\ng {body}')


def session(proto: onnx.ModelProto) -> ort.InferenceSession:
    """ONNX Runtime with optimisations off."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def feed(proto: onnx.ModelProto, size: int) -> dict[str, np.ndarray]:
    """Random inputs; every symbolic size is `size`."""
    rng = np.random.default_rng(size)
    held = {t.name for t in proto.graph.initializer}
    out: dict[str, np.ndarray] = {}
    for v in proto.graph.input:
        if v.name not in held:
            shape = [d.dim_value if d.HasField("dim_value") else size for d in v.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
            out[v.name] = np.asarray(rng.standard_normal(shape) * 3).astype(dtype)
    return out


def check_programs(fused: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> None:
    """Every program that binds computes what its node computes."""
    nodes = [n for n in fused.graph.node if n.domain == "ai.ascendfuse"]
    have = {v.name for v in (*fused.graph.input, *fused.graph.output)}
    held = {t.name: onnx.numpy_helper.to_array(t) for t in fused.graph.initializer}
    every = dict.fromkeys(i for k in nodes for i in (*k.input, *k.output))
    names = [n for n in every if n not in have and n not in held]
    probe = onnx.ModelProto()
    probe.CopyFrom(fused)
    probe.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    runner = session(probe)
    values = held | dict(zip([o.name for o in runner.get_outputs()], runner.run(None, feeds), strict=True)) | feeds
    for node in nodes:
        program = parse_program(next(a.s.decode() for a in node.attribute if a.name == "program"))
        try:
            ours = evaluate(program, [values[i] for i in node.input])
        except UsageError:
            continue  # strict binding: executed by its body
        for name, got in zip(node.output, ours, strict=True):
            np.testing.assert_allclose(got, values[name], rtol=2e-3, atol=1e-5, equal_nan=True, err_msg=str(program))


@pytest.mark.parametrize("name", BODIES)
def test_graph_survives(name: str) -> None:
    proto = model(BODIES[name])
    fused = optimize(proto, **CHEAP).model
    onnx.checker.check_model(fused, full_check=True)
    for size in (1, 3, 4):
        feeds = feed(proto, size)
        for want, got in zip(session(proto).run(None, feeds), session(fused).run(None, feeds), strict=True):
            np.testing.assert_array_equal(want, got)
        if name not in ("NaN in a maximum", "overflow in a norm"):
            check_programs(fused, feeds)


def test_integer_constant_before_opset_9() -> None:
    proto = model("(int32[N,4] x) => (int32[N,4] z) <int32[1] c={3}> { a = Add(x, c) z = Mul(a, x) }", opset=7)
    fused = optimize(proto, **CHEAP).model
    onnx.checker.check_model(fused, full_check=True)
    assert any(n.domain == "ai.ascendfuse" for n in fused.graph.node)


def test_too_many_inputs_are_two_regions() -> None:
    inputs = ", ".join(f"float[N,4] x{k}" for k in range(24))
    chain = " ".join(f"a{k} = Add(a{k - 1}, x{k})" for k in range(1, 24))
    proto = model(f"({inputs}) => (float[N,4] z) {{ a0 = Exp(x0) {chain} z = Neg(a23) }}")
    assert sum(len(r.nodes) for r in optimize(proto, **CHEAP).plan.regions) == 25


def test_sizes_that_only_share_an_axis_do_not_meet() -> None:
    proto = model("(float[N] x, float[2] y) => (float[N] z, float[2] u) "
                  "{ a = Exp(x) z = Neg(a) m = ReduceMax<axes=[0]>(a) b = Add(m, y) u = Neg(b) }")  # fmt: skip
    fused = optimize(proto, **CHEAP).model
    for node in fused.graph.node:
        program = next((a.s.decode() for a in node.attribute if a.name == "program"), "")
        assert not ({"x", "y"} <= set(node.input)), program


def test_inline_restores_metadata() -> None:
    proto = model("(float[N,8] x) => (float[N,8] z) { t = Exp(x) z = Neg(t) }")
    for node in proto.graph.node:
        node.name, node.doc_string = f"n_{node.output[0]}", "doc"
        node.metadata_props.add(key="trace", value=node.op_type)
    fused = optimize(proto, **CHEAP).model
    assert len(fused.graph.node) == 1
    inline_model(fused)
    assert list(fused.graph.node) == list(proto.graph.node)
