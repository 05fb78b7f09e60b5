"""Tensors and types: broken initializers, absurd sizes, what is no tensor."""

from __future__ import annotations

import numpy as np
from input_case import Case, X, edited, parse, text
from onnx import ModelProto, TensorProto, helper, numpy_helper

BIG = 10**18
ADD = f"g ({X} x) => ({X} y) {{ a = Add (x, w) b = Tanh (a) y = Sigmoid (b) }}"


def held(tensor: TensorProto, body: str = ADD) -> ModelProto:
    model = parse(body)
    tensor.name = tensor.name or "w"
    model.graph.initializer.append(tensor)
    return model


def raw(size: int, dims: tuple[int, ...] = (1,), kind: int = TensorProto.FLOAT) -> TensorProto:
    return TensorProto(data_type=kind, dims=dims, raw_data=bytes(size))


def listed(count: int, dims: tuple[int, ...] = (1,), kind: int = TensorProto.FLOAT) -> TensorProto:
    return TensorProto(data_type=kind, dims=dims, float_data=[1.0] * count)


def constant(tensor: TensorProto) -> ModelProto:
    model = parse(f"g ({X} x) => ({X} y) {{ w = Constant () a = Add (x, w) y = Sigmoid (a) }}")
    model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))
    return model


def declared(
    *dims: int | str | None, body: str = "g (float[1] x) => (float[1] y) { a = Relu (x) b = Tanh (a) y = Neg (b) }"
) -> ModelProto:
    model = parse(body)
    for v in (model.graph.input[0], model.graph.output[0]):
        v.type.CopyFrom(helper.make_tensor_type_proto(1, dims))
    return model


def shaped(op: str, values: list[int], body: str = "") -> ModelProto:
    model = parse(body or f"g (float[1] x) => (float[] y) {{ a = {op} (x, s) b = Tanh (a) c = Relu (b) y = Neg (c) }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(values, np.int64), "s"))
    return model


def sparse(model: ModelProto, dims: tuple[int, ...] = (4, 8)) -> None:
    values = helper.make_tensor("w", 1, [2], [1.0, 2.0])
    indices = helper.make_tensor("w_at", 7, [2], [0, 9])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, dims))


def typed(kind: object) -> ModelProto:
    model = parse(f"g ({X} x, {X} odd) => ({X} y) {{ a = Relu (x) b = Tanh (a) y = Neg (b) }}")
    model.graph.input[1].type.CopyFrom(kind)
    return model


def elem(kind: int, ops: str = "a = Relu (x) b = Tanh (a) y = Neg (b)") -> ModelProto:
    model = parse(f"g ({X} x) => ({X} y) {{ {ops} }}")
    for v in (model.graph.input[0], model.graph.output[0]):
        v.type.tensor_type.elem_type = kind
    return model


TENSOR = helper.make_tensor_type_proto(1, [2])
COS = "g (float[1] x) => (float[] y) { a = ConstantOfShape (s) b = Tanh (a) c = Relu (b) d = Add (c, x) y = Neg (d) }"
SHORT = ("initializer w", "bytes")
CASES = (
    Case("too few raw bytes", lambda: held(raw(2)), 3, SHORT),
    Case("no raw bytes", lambda: held(raw(0)), 3, SHORT),
    Case("too many raw bytes", lambda: held(raw(8)), 3, SHORT),
    Case("too few bytes of a large one", lambda: held(raw(4, (4, 8))), 3, SHORT),
    Case("too few elements", lambda: held(listed(1, (4, 8))), 3, ("initializer w", "1 of 32")),
    Case("too many elements", lambda: held(listed(9)), 3, ("initializer w",)),
    Case("no elements", lambda: held(TensorProto(data_type=1, dims=[8])), 3, ("initializer w", "0 of 8")),
    Case("elements of another type", lambda: held(listed(1, kind=TensorProto.INT64)), 3, ("initializer w",)),
    Case("negative size", lambda: held(raw(4, (-1,))), 3, ("initializer w", "-1")),
    Case("two negative sizes", lambda: held(raw(4, (-1, -1))), 3, ("initializer w", "-1")),
    Case("huge size", lambda: held(raw(4, (BIG,))), 3, ("initializer w",)),
    Case("huge product", lambda: held(raw(0, (2**62, 4))), 3, ("initializer w",)),
    Case("no type", lambda: held(raw(4, kind=0)), 3, ("initializer w", "type")),
    Case("unknown type", lambda: held(raw(4, kind=999)), 3, ("initializer w", "type 999")),
    Case("short Constant", lambda: constant(raw(2)), 3, ("Constant", "bytes")),
    Case("negative Constant", lambda: constant(raw(4, (-1,))), 3, ("Constant", "-1")),
    Case("untyped Constant", lambda: constant(raw(4, kind=0)), 3, ("Constant", "type")),
    Case("huge Constant", lambda: constant(raw(4, (BIG, BIG))), 3, ("Constant",)),
    Case("both raw and listed", lambda: held(TensorProto(data_type=1, dims=[1], raw_data=bytes(4), float_data=[1.0])), 0),
    Case("a string initializer", lambda: held(helper.make_tensor("t", 8, [2], [b"a", b"\xff"])), 3),
    Case("an unused string initializer", lambda: held(helper.make_tensor("t", 8, [2], [b"a", b"\xff"]),
         ADD.replace("Add (x, w)", "Relu (x)")), 0),
    Case("a string as operand", lambda: held(helper.make_tensor("w", 8, [1], [b"a"])), 0),
    Case("int4", lambda: held(helper.make_tensor("w4", TensorProto.INT4, [3], [1, 2, 3]), ADD.replace("Add (x, w)", "Relu (x)")), 0),
    Case("float8", lambda: held(TensorProto(name="w8", data_type=TensorProto.FLOAT8E4M3FN, dims=[3], raw_data=b"abc"),
         ADD.replace("Add (x, w)", "Relu (x)")), 0),
    Case("complex", lambda: held(TensorProto(name="wc", data_type=TensorProto.COMPLEX64, dims=[1], raw_data=bytes(8)),
         ADD.replace("Add (x, w)", "Relu (x)")), 0),
    Case("a segment", lambda: held(TensorProto(data_type=1, dims=[1], raw_data=bytes(4), segment=TensorProto.Segment(begin=0, end=1))), 0),
    Case("sparse", edited(sparse, ADD), 0),
    Case("sparse of a wrong shape", edited(lambda m: sparse(m, (-1, 3)), ADD), 0),
    Case("sparse output", edited(sparse, f"g ({X} x) => ({X} y, {X} w) {{ a = Add (x, w) y = Tanh (a) }}"), 0),
    Case("sequence input", lambda: typed(helper.make_sequence_type_proto(TENSOR)), 0),
    Case("optional input", lambda: typed(helper.make_optional_type_proto(TENSOR)), 0),
    Case("map input", lambda: typed(helper.make_map_type_proto(8, TENSOR)), 0),
    Case("sparse input", lambda: typed(helper.make_sparse_tensor_type_proto(1, [2])), 0),
    Case("an input without a type", edited(lambda m: m.graph.input[0].ClearField("type")), 0),
    Case("an output without a type", edited(lambda m: m.graph.output[0].ClearField("type")), 0),
    *(Case(f"elements of type {k}", lambda k=k: elem(k), 0) for k in (*range(0, 30), 999, -1)),
    *(Case(f"strings through {op}", lambda op=op: elem(8, f"a = {op} y = Identity (a)"), 0)
      for op in ("Identity (x)", "Add (x, x)", "Concat <axis = 0> (x, x)", "Transpose (x)", "Where (x, x, x)", "Equal (x, x)")),
    Case("sequence ops", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) s = SequenceConstruct (a, a) i = Constant <value_int = 0> () "
                              "b = SequenceAt (s, i) y = Tanh (b) }"), 0),
    Case("optional ops", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) o = Optional (a) b = OptionalGetElement (o) y = Tanh (b) }}"), 0),
    Case("declared 10^18", lambda: declared(BIG), 0),
    Case("declared 10^18 x 10^18", lambda: declared(BIG, BIG, BIG), 0),
    Case("declared 2^63-1", lambda: declared(2**63 - 1, 2), 0),
    Case("declared 2^32 x 2^32", lambda: declared(2**32, 2**32), 0),
    Case("declared 2^31", lambda: declared(2**31, 8), 0),
    Case("declared negative", lambda: declared(-3, 8), 0),
    Case("declared least", lambda: declared(-(2**63)), 0),
    Case("declared 0", lambda: declared(0, 8), 0),
    Case("declared 0 x 10^18", lambda: declared(0, BIG), 0),
    Case("rank 0", lambda: declared(), 0),
    Case("rank 64", lambda: declared(*[2] * 64), 0),
    Case("rank 64 of 1", lambda: declared(*[1] * 64), 0),
    Case("rank 1000", lambda: declared(*[3] * 1000), 0),
    Case("symbol is empty", lambda: declared(""), 0),
    Case("symbol is an expression", lambda: declared("a*b+c", "?1", "?"), 0),
    Case("symbol is a number", lambda: declared("8", "-1", "0"), 0),
    Case("symbol times 10^18", lambda: declared("n", BIG, "n"), 0),
    Case("value_info negative", edited(lambda m: m.graph.value_info.append(helper.make_tensor_value_info("a", 1, [-4, 8]))), 0),
    Case("value_info huge", edited(lambda m: m.graph.value_info.append(helper.make_tensor_value_info("a", 1, [BIG, BIG]))), 0),
    Case("Expand to 10^18", lambda: shaped("Expand", [BIG]), 0),
    Case("Expand to 10^36", lambda: shaped("Expand", [BIG, BIG]), 0),
    Case("Expand to less than nothing", lambda: shaped("Expand", [-5, 3]), 0),
    Case("Expand to 2^63-1", lambda: shaped("Expand", [2**63 - 1, 2**63 - 1]), 0),
    Case("Tile 10^18", lambda: shaped("Tile", [BIG]), 0),
    Case("Tile less than nothing", lambda: shaped("Tile", [-1]), 0),
    Case("Reshape to 10^18", lambda: shaped("Reshape", [BIG]), 0),
    Case("Reshape to -1 twice", lambda: shaped("Reshape", [-1, -1]), 0),
    Case("Reshape to -7", lambda: shaped("Reshape", [-7]), 0),
    Case("Reshape to 0", lambda: shaped("Reshape", [0, 0, 0, -1]), 0),
    Case("ConstantOfShape 10^18", lambda: shaped("", [BIG], COS), 0),
    Case("ConstantOfShape 10^36", lambda: shaped("", [BIG, BIG], COS), 0),
    Case("ConstantOfShape -1", lambda: shaped("", [-1, -5], COS), 0),
    Case("Slice beyond", lambda: shaped("Slice", [2**63 - 1], "g (float[1] x) => (float[] y) { a = Slice (x, s, s, s, s) y = Neg (a) }"), 0),
    Case("Slice axes beyond", lambda: shaped("Slice", [0, 7], "g (float[1] x) => (float[] y) { a = Slice (x, s, s, s, s) y = Neg (a) }"), 0),
    Case("Slice step 0", lambda: shaped("Slice", [0], "g (float[1] x) => (float[] y) { a = Slice (x, s, s, s, s) y = Neg (a) }"), 0),
    *(Case(f"axes beyond: {op}", lambda op=op: shaped(op, [77, -99]), 0) for op in "Unsqueeze Squeeze ReduceSum Split Gather".split()),
    Case("axes least", lambda: shaped("Unsqueeze", [-(2**63)]), 0),
    Case("scalar Squeeze", text("g (float x) => (float y) { s = Constant <value_ints = [0]> () a = Squeeze (x, s) b = Relu (a) y = Neg (b) }"), 0),
    Case("scalar Split", text("g (float x) => (float y) { a, b = Split (x) y = Neg (a) }"), 0),
    Case("scalar Concat", text("g (float x) => (float y) { a = Concat <axis = 0> (x, x) y = Neg (a) }"), 0),
    Case("scalar Softmax", text("g (float x) => (float y) { a = Softmax (x) y = Neg (a) }"), 0),
    Case("scalar Slice", lambda: shaped("Slice", [0], "g (float x) => (float[] y) { a = Slice (x, s, s) y = Neg (a) }"), 0),
    Case("scalar LayerNormalization", text("g (float x) => (float y) { a = LayerNormalization (x, x) y = Neg (a) }"), 0),
    Case("scalar ReduceMean", text("g (float x) => (float y) { a = ReduceMean <axes = [0]> (x) y = Neg (a) }"), 0),
    Case("empty Concat", lambda: shaped("", [0], "g (float[0, 4] x) => (float[] y) { a = Concat <axis = 0> (x, x) b = Tanh (a) y = Neg (b) }"), 0),
    Case("shapes that disagree", text("g (float[3, 4] x, float[5] z) => (float[3, 4] y) { a = Add (x, z) b = Relu (a) y = Neg (b) }"), 0),
    Case("MatMul that disagrees", text("g (float[3, 4] x) => (float[3, 4] y) { a = MatMul (x, x) b = Relu (a) y = Neg (b) }"), 0),
    Case("shape arithmetic overflows", text("g (float[n, 8] x) => (float[] y) { s = Shape (x) a = Mul (s, s) b = Mul (a, a) "
                                            "c = Mul (b, b) d = Mul (c, c) e = Expand (x, d) f = Tanh (e) y = Neg (f) }"), 0),
    Case("shape divided by 0", text("g (float[4, 8] x) => (float[] y) { z = Constant <value_ints = [0, 0]> () s = Shape (x) d = Div (s, z) "
                                    "e = Reshape (x, d) f = Tanh (e) y = Neg (f) }"), 0),
    Case("shape arithmetic disagrees", text("g (float[4, 8] x) => (float[] y) { z = Constant <value_ints = [1, 2, 3]> () s = Shape (x) "
                                            "d = Add (s, z) e = Reshape (x, d) f = Tanh (e) y = Neg (f) }"), 0),
    Case("shape gathered beyond", text("g (float[4, 8] x) => (float[] y) { z = Constant <value_ints = [9]> () s = Shape (x) "
                                       "d = Gather (s, z) e = Reshape (x, d) f = Tanh (e) y = Neg (f) }"), 0),
    Case("shape sliced by nothing", text("g (float[4, 8] x) => (float[] y) { z = Constant <value_ints = [0]> () s = Shape (x) "
                                         "d = Slice (s, z, z, z, z) e = Reshape (x, d) f = Tanh (e) y = Neg (f) }"), 0),
    Case("Range of nothing", text("g (float[4] x) => (float[] y) { z = Constant <value_floats = [0.0]> () a = Range (z, z, z) b = Tanh (a) y = Add (b, x) }"), 0),
)  # fmt: skip
