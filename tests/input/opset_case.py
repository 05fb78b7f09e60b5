"""IR versions, opset imports, operators and attributes."""

from __future__ import annotations

from input_case import CHAIN, Case, X, edited, parse, text
from onnx import IR_VERSION, ModelProto, defs, helper

NEWEST = defs.onnx_opset_version()


def ir(version: int) -> ModelProto:
    model = parse()
    model.ir_version = version
    return model


def imports(*pairs: tuple[str, int]) -> ModelProto:
    model = parse()
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(d, v) for d, v in pairs)
    return model


def attribute(op: str, value: object, name: str, body: str | None = None) -> ModelProto:
    """The model with one attribute set on the node `op`."""
    model = parse(body or f"g ({X} x) => ({X} y) {{ a = Relu (x) b = {op} (a) y = Sigmoid (b) }}")
    node = next(n for n in model.graph.node if n.op_type == op)
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
    return model


CASES = (
    Case("ir 0", lambda: ir(0), 0, ("IR version 0 raised",)),
    Case("ir -1", lambda: ir(-1), 0, ("IR version -1 raised",)),
    Case("ir 1", lambda: ir(1), 0, ()),
    Case("ir 3", lambda: ir(3), 0, ("IR version 3 raised",)),
    Case("ir newer", lambda: ir(IR_VERSION + 1), 3, (f"IR version {IR_VERSION + 1}", "upgrade onnx")),
    Case("ir huge", lambda: ir(2**62), 3, ("IR version", "upgrade onnx")),
    Case("no imports", lambda: imports(), 3, ("no default opset",)),
    Case("only others", lambda: imports(("com.x", 1)), 3, ("no default opset",)),
    Case("opset 6", lambda: imports(("", 6)), 3, ("opset 6", "version_converter")),
    Case("opset 0", lambda: imports(("", 0)), 3, ("no default opset",)),
    Case("opset negative", lambda: imports(("", -3)), 3, ("opset -3",)),
    Case("opset newer", lambda: imports(("", NEWEST + 1)), 3, (f"opset {NEWEST + 1}", "upgrade onnx")),
    Case("opset huge", lambda: imports(("", 2**62)), 3, ("upgrade onnx",)),
    Case("twice the same", lambda: imports(("", 17), ("", 17)), 0),
    Case("twice by alias", lambda: imports(("", 17), ("ai.onnx", 17)), 0),
    Case("twice, different", lambda: imports(("", 13), ("", 17)), 0, ("several versions (13, 17)",)),
    Case("different by alias", lambda: imports(("", 17), ("ai.onnx", 13)), 0, ("several versions (17, 13)",)),
    Case("other domain 0", lambda: imports(("", 17), ("com.x", 0)), 0),
    Case("other domain huge", lambda: imports(("", 17), ("com.x", 2**62), ("com.y", -5)), 0),
    Case("ml domain newer", lambda: imports(("", 17), ("ai.onnx.ml", 99)), 0),
    Case("our domain newer", lambda: imports(("", 17), ("ai.ascendfuse", 99)), 0),
    Case("unknown domain", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) y = com.x.Do (a) }}", more=', "com.x" : 7'), 0),
    Case("domain without import", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) y = com.x.Do (a) }}"), 0),
    Case("no op type", edited(lambda m: m.graph.node[1].ClearField("op_type")), 3, ("no operator",)),
    Case("wrong attribute type", lambda: attribute("LeakyRelu", "text", "alpha"), 3, ("LeakyRelu", "STRING, not FLOAT")),
    Case("axis is a float", lambda: attribute("Softmax", 1.5, "axis"), 3, ("'axis'", "FLOAT, not INT")),
    Case("axis is out of range", lambda: attribute("Softmax", 7, "axis"), 0),
    Case("axis is huge", lambda: attribute("Softmax", -(2**63), "axis"), 0),
    Case("perm is a string", lambda: attribute("Transpose", "x", "perm"), 3, ("STRING, not INTS",)),
    Case("perm is out of range", lambda: attribute("Transpose", [5, 9], "perm"), 0),
    Case("perm repeats", lambda: attribute("Transpose", [1, 1], "perm"), 0),
    Case("axes are floats", lambda: attribute("ReduceMean", [0.5], "axes"), 3, ("FLOATS, not INTS",)),
    Case("axes are out of range", lambda: attribute("ReduceMean", [9], "axes"), 0),
    Case("axis of Concat", lambda: attribute("Concat", 9, "axis"), 0),
    Case("axis of Flatten", lambda: attribute("Flatten", 99, "axis"), 0),
    Case("axis of Split", lambda: attribute("Split", 9, "axis"), 0),
    Case("axis of LayerNormalization", lambda: attribute("LayerNormalization", 9, "axis",
         f"g ({X} x, float[8] s) => ({X} y) {{ a = Relu (x) b = LayerNormalization (a, s) y = Sigmoid (b) }}"), 0),
    Case("cast to nothing", lambda: attribute("Cast", 0, "to"), 0),
    Case("cast to undefined", lambda: attribute("Cast", 999, "to"), 0),
    Case("cast to a string", lambda: attribute("Cast", 8, "to"), 0),
    Case("cast to text", lambda: attribute("Cast", "float", "to"), 3, ("STRING, not INT",)),
    Case("cast without to", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) y = Cast (a) }}"), 3, ("needs its attribute 'to'",)),
    Case("constant without value", text(f"g ({X} x) => ({X} y) {{ a = Constant () y = Add (x, a) }}"), 0),
    Case("constant value is text", lambda: attribute("Constant", "x", "value",
         f"g ({X} x) => ({X} y) {{ a = Constant () y = Add (x, a) }}"), 3, ("STRING, not TENSOR",)),
    Case("value_ints is text", lambda: attribute("Constant", "x", "value_ints",
         f"g ({X} x) => ({X} y) {{ a = Constant () y = Add (x, a) }}"), 3, ("STRING, not INTS",)),
    Case("value_string", lambda: attribute("Constant", "x", "value_string",
         f"g ({X} x) => ({X} y) {{ a = Constant () y = Relu (x) }}"), 0),
    Case("an attribute twice", edited(lambda m: m.graph.node[1].attribute.extend(
        helper.make_attribute("alpha", v) for v in (0.1, 0.2)), CHAIN.replace("Tanh", "LeakyRelu")), 3, ("given twice",)),
    Case("an unnamed attribute", edited(lambda m: m.graph.node[1].attribute.add()), 3, ("has no attribute",)),
    Case("an unknown attribute type", edited(lambda m: m.graph.node[1].attribute.add(name="odd")), 3, ("has no attribute 'odd'",)),
    Case("an If without branches", text(f"g ({X} x, bool c) => ({X} y) {{ y = If (c) }}"), 3, ("needs its attribute",)),
    Case("a reference outside functions", edited(lambda m: m.graph.node[1].attribute.add(
        name="alpha", ref_attr_name="alpha", type=1), CHAIN.replace("Tanh", "LeakyRelu")), 3, ("refers to 'alpha' of a function",)),
    *(Case(f"no operands: {op}", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) y = {op} () }}", opset=23), 3, (f"node {op}(y)", op))
      for op in ("Add Relu Cast Clip Where Pow Softmax LayerNormalization ReduceSum Concat Reshape Slice Expand Gather "
                 "Shape Size ConstantOfShape Range MatMul Gemm Dropout Identity Split Squeeze Unsqueeze If Loop "
                 "Transpose Tile BatchNormalization PRelu Sum Flatten Conv Trilu CumSum Einsum Resize Erf Neg Max "
                 "GroupNormalization Gelu RMSNormalization RotaryEmbedding Attention".split())),
    *(Case(f"empty operand: {op}", text(f'g ({X} x) => ({X} y) {{ a = Relu (x) y = {op} ("", a) }}'), 3, (f"node {op}(y)", "operand"))
      for op in "Add Where Pow Softmax Concat Reshape Slice Expand Gather MatMul Gemm Clip Sum Max Dropout".split()),
    *(Case(f"too many outputs: {op}", text(f"g ({X} x) => ({X} y) {{ a, b = {op} (x, x) y = Relu (a) }}"), 3, (f"node {op}(a)", op))
      for op in "Add Relu Softmax Constant Shape Concat MatMul Identity ReduceSum".split()),
    *(Case(f"no outputs: {op}", edited(lambda m: m.graph.node[0].ClearField("output"),
      f"g ({X} x) => ({X} y) {{ a = {op} (x, x) y = Relu (x) }}"), 3, (f"node {op}()", op))
      for op in "Add Relu Softmax Constant Shape Concat MatMul Identity Split If Dropout Cast".split()),
)  # fmt: skip
