"""Shapes against onnx's inference and against what ONNX Runtime makes of random sizes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, shape_inference

from ascend_fuse.graph.dim import evaluate
from ascend_fuse.graph.scope import infer
from ascend_fuse.graph.shape import Inference

I64 = np.int64
# Each a graph over the sizes b and s; x: [b, s, 8].
TEXTS = {
    "arithmetic": "a = Add (x, w) c = Mul (a, u) y = Where (k, c, a)",
    "reduce": "a = ReduceMean <keepdims = 0> (x, last) c = ReduceMax <keepdims = 1> (x, both) y = Sub (c, one)",
    "matmul": "a = MatMul (x, m) t = Transpose <perm = [0, 2, 1]> (x) y = MatMul (a, t)",
    "heads": """n = Shape (x) b0 = Gather (n, i0) s0 = Gather (n, i1) bu = Unsqueeze (b0, i0v) su = Unsqueeze (s0, i0v)
        target = Concat <axis = 0> (bu, su, four, two) a = Reshape (x, target)
        y = Transpose <perm = [0, 2, 1, 3]> (a)""",
    "flatten": """n = Shape <start = 2> (x) t = Concat <axis = 0> (minus, n) a = Reshape (x, t)
        y = Flatten <axis = 1> (x)""",
    "merge": "a = Reshape (x, zeros) y = Unsqueeze (a, i0v)",
    "expand": """n = Shape (x) d = Slice (n, i0v, i2v) t = Concat <axis = 0> (d, two, i8v) a = Unsqueeze (x, i2v)
        y = Expand (a, wide) wide = Concat <axis = 0> (d, two, i8v)""",
    "slice": "a = Slice (x, i0v, four, last) c = Slice (x, four, far, last) y = Concat <axis = -1> (c, a)",
    "slice-to-size": """n = Shape (x) s0 = Gather (n, i1) su = Unsqueeze (s0, i0v) y = Slice (table, i0v, su, i0v)""",
    "split": "a, c = Split <axis = -1, num_outputs = 2> (x) y = Neg (a)",
    "product": """n = Shape <end = 2> (x) p = ReduceProd <keepdims = 0> (n) q = Unsqueeze (p, i0v)
        t = Concat <axis = 0> (q, i8v) y = Reshape (x, t)""",
    "arithmetic-on-sizes": """n = Shape (x) s0 = Gather (n, i1) d = Mul (s0, i2) e = Div (d, i2) f = Unsqueeze (e, i0v)
        b0 = Gather (n, i0) bu = Unsqueeze (b0, i0v) t = Concat <axis = 0> (bu, f, i8v) y = Reshape (x, t)""",
    "range": "n = Shape (x) s0 = Gather (n, i1) y = Range (i0, s0, i1)",
    "fill": "n = Shape (x) y = ConstantOfShape <value = float[1] {1.0}> (n)",
    "norm": "a = Softmax (x) y = LayerNormalization (a, g8)",
    "squeeze": "a = Unsqueeze (x, i0v) c = Squeeze (a, i0v) y = Relu (c)",
    "own": "a = Transpose (x) y = CumSum (a, i0)",
}  # fmt: skip
CONSTANTS = {
    "w": np.ones((8,), np.float32), "u": np.ones((1, 8), np.float32), "one": np.ones((), np.float32),
    "m": np.ones((8, 8), np.float32), "g8": np.ones((8,), np.float32), "table": np.ones((64, 3), np.float32),
    "k": np.ones((1,), np.bool_), "last": np.asarray([-1], I64), "both": np.asarray([1, 2], I64),
    "i0": np.asarray(0, I64), "i1": np.asarray(1, I64), "i2": np.asarray(2, I64), "i0v": np.asarray([0], I64),
    "i2v": np.asarray([2], I64), "i8v": np.asarray([8], I64), "two": np.asarray([2], I64), "four": np.asarray([4], I64),
    "far": np.asarray([2**62], I64), "minus": np.asarray([-1], I64), "zeros": np.asarray([0, 0, 2, 4], I64),
}  # fmt: skip


def parse(name: str, size: str = "b,s") -> ModelProto:
    """Nodes in topological order, every value an output without a declared type."""
    head = '<ir_version: 10, opset_import: ["": 18]>'
    made = onnx.parser.parse_model(f"{head} g (float[{size},8] x) => (float[?] y) {{ {TEXTS[name]} }}")
    for n, value in CONSTANTS.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(value, n))
    nodes = sorted(made.graph.node, key=lambda n: n.op_type == "Expand")
    copies = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del made.graph.node[:], made.graph.output[:]
    made.graph.node.extend(copies)
    made.graph.output.extend(onnx.ValueInfoProto(name=o) for n in copies for o in n.output)
    return made


def real_shapes(made: ModelProto, b: int, s: int) -> dict[str, tuple[int, ...]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = session.run(None, {"x": np.zeros((b, s, 8), np.float32)})
    return {o.name: v.shape for o, v in zip(session.get_outputs(), values, strict=True)}


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=6, deadline=None)
@given(b=st.integers(1, 5), s=st.integers(1, 9))
def test_shapes_and_values_are_the_real_ones(name: str, b: int, s: int) -> None:
    """Where a size is told it is right; fresh symbols tell nothing."""
    made = parse(name)
    found = infer(made)[""]
    for value, real in real_shapes(made, b, s).items():
        shape = found.types[value].shape
        assert shape is not None and len(shape) == len(real), value
        for told, size in zip(shape, real, strict=True):
            if "?" not in str(told):
                assert evaluate(told, {"b": b, "s": s}) == size, value


@pytest.mark.parametrize("name", [n for n in TEXTS if n not in ("own", "slice-to-size")])
def test_every_size_is_told(name: str) -> None:
    """What exporters compute from Shape nodes is read back: no size of these graphs stays unknown."""
    found = infer(parse(name))[""]
    shapes = {o: found.types[o].shape for n in parse(name).graph.node for o in n.output}
    assert all(s is not None and not any("?" in str(d) for d in s) for s in shapes.values()), shapes


@pytest.mark.parametrize("name", TEXTS)
def test_agrees_with_onnx_on_static_sizes(name: str) -> None:
    made = parse(name, "3,5")
    ours = infer(made)[""]
    inferred = shape_inference.infer_shapes(made, data_prop=True, strict_mode=True).graph
    compared = 0
    for v in (*inferred.value_info, *inferred.output):
        dims = v.type.tensor_type.shape.dim
        if not v.type.tensor_type.HasField("shape") or not all(d.HasField("dim_value") for d in dims):
            continue
        compared += 1
        assert ours.types[v.name].shape == tuple(d.dim_value for d in dims), v.name
        code = v.type.tensor_type.elem_type
        assert ours.types[v.name].dtype == {TensorProto.FLOAT: "f32", TensorProto.INT64: "i64"}[code]
    assert compared > 0


def test_values_of_small_integer_tensors() -> None:
    found = infer(parse("heads"))[""]
    assert [str(i) for i in found.values["target"].items] == ["b", "s", "4", "2"]
    found = infer(parse("product"))[""]
    assert [str(i) for i in found.values["t"].items] == ["b*s", "8"]


def test_two_spellings_of_one_size_are_one() -> None:
    """b·s from a Reshape by -1 and from a product of sizes."""
    flat, made = infer(parse("flatten"))[""].types["a"].shape, infer(parse("product"))[""].types["y"].shape
    assert flat == made


def test_a_declared_number_beats_an_unknown_size() -> None:
    made = parse("own")
    made.graph.node[1].op_type, made.graph.node[1].domain = "Odd", "com.example"
    assert infer(made)[""].types["y"].shape is None
    made.graph.value_info.append(onnx.helper.make_tensor_value_info("y", TensorProto.FLOAT16, [2, 3]))
    del made.graph.output[:]
    assert infer(made)[""].types["y"] == infer(made)[""].declared(made.graph.value_info[0], trusted=False)
    assert (infer(made)[""].types["y"].dtype, infer(made)[""].types["y"].shape) == ("f16", (2, 3))


def test_an_ill_typed_node_is_unknown_and_no_crash() -> None:
    """ONNX's own inference raises on a float that DequantizeLinear does not take."""
    made = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["": 18]>
g (float[2] x, float k) => (float[2] y) { y = DequantizeLinear (x, k) }""")
    found = infer(made)[""]
    assert isinstance(found, Inference)
    assert "y" in found.types
