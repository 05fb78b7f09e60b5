"""Types and shapes of every value, with symbolic sizes that compare equal when they are equal for every input.

Own rules for the operators that exporters wrap around a transformer's or CNN's arithmetic; everything else asks onnx's
per-node inference. Nothing reads a weight, nothing serialises the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from onnx import (
    GraphProto,
    ModelProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    defs,
    shape_inference,
)
from onnx.checker import ValidationError

from ascend_fuse.graph.dim import Dim, Sym, symbol
from ascend_fuse.graph.shape_rule import RULES, Shapes
from ascend_fuse.graph.type import DTYPE_OF_ONNX, ONNX_OF_DTYPE, TensorType
from ascend_fuse.graph.value import ShapeValue, evaluate_node, from_constant
from ascend_fuse.graph.view import SMALL, Node, View, constant_value, model_opset, tensor_is_small

_FOLDED = frozenset(
    (
        "Add Sub Mul Div Equal Less Greater LessOrEqual GreaterOrEqual Min Max Where Concat Gather Slice "
        "Identity Cast Unsqueeze Squeeze Reshape Flatten Neg ReduceProd Expand"
    ).split()
)
_INTEGERS = frozenset(("i64", "i32", "bool", ""))


class Inference:
    """One forward pass over a graph in list order; unknown sizes become fresh symbols."""

    def __init__(self, opset: int) -> None:
        self.types: dict[str, TensorType] = {}
        self.values: dict[str, ShapeValue] = {}
        self._fresh = 0
        self._symbols: dict[str, Sym] = {}
        self._opset = opset
        self._hints: dict[str, TensorType] = {}

    @property
    def symbols(self) -> frozenset[str]:
        """The names of sizes that the graph's inputs declare."""
        return frozenset(self._symbols)

    def fresh(self) -> Sym:
        """A size that equals only itself."""
        self._fresh += 1
        return symbol(f"?{self._fresh}")

    def declared(self, info: ValueInfoProto | TypeProto, trusted: bool) -> TensorType:
        """A declared type; names of sizes count only where they are a contract (`trusted`: graph inputs)."""
        tensor = (info.type if isinstance(info, ValueInfoProto) else info).tensor_type
        dtype = DTYPE_OF_ONNX.get(tensor.elem_type, "")
        if not tensor.HasField("shape"):
            return TensorType(dtype, None)
        dims: list[Dim] = []
        for d in tensor.shape.dim:
            if d.HasField("dim_value") and d.dim_value >= 0:
                dims.append(d.dim_value)
            elif d.dim_param and trusted:
                dims.append(self._symbols.setdefault(d.dim_param, symbol(d.dim_param)))
            else:
                dims.append(self._symbols.get(d.dim_param) or self.fresh())
        return TensorType(dtype, tuple(dims))

    def run(self, graph: GraphProto) -> None:
        """Fill `types` and `values`."""
        for v in graph.input:
            self.types[v.name] = self.declared(v, trusted=True)
        inputs = set(self.types)
        for t in graph.initializer:
            self.initializer(t, overridable=t.name in inputs)
        for v in (*graph.value_info, *graph.output):
            self._hints[v.name] = self.declared(v, trusted=False)
        view = View(graph, self._opset, {})
        for node in view.nodes:
            self.node(node)

    def initializer(self, t: TensorProto, overridable: bool) -> None:
        """Type from the header; the value only of small ones that nobody overrides."""
        if overridable and t.name in self.types:
            return
        self.types[t.name] = TensorType(DTYPE_OF_ONNX.get(t.data_type, ""), tuple(t.dims))
        if t.data_type in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL) and tensor_is_small(t):
            from onnx import numpy_helper

            value = from_constant(numpy_helper.to_array(t))
            if value is not None:
                self.values[t.name] = value

    def node(self, node: Node) -> None:
        """Infer one node's outputs."""
        if node.op == "Constant" and node.domain == "":
            self.constant(node)
            return
        found = self.infer(node)
        for k, name in enumerate(node.outputs):
            if not name:
                continue
            inferred = found[k] if found is not None and k < len(found) else TensorType("", None)
            self.types[name] = self.merge(inferred, self._hints.get(name))
        self.fold(node)

    def infer(self, node: Node) -> tuple[TensorType, ...] | None:
        rule = RULES.get(node.op) if node.domain == "" else None
        ins = tuple(self.types.get(i, TensorType("", None)) if i else None for i in node.inputs)
        if rule is not None:
            found = rule(Shapes(node, ins, tuple(self.values.get(i) for i in node.inputs), self.fresh, self._opset))
            if found is not None:
                return found
        return self.ask_onnx(node, ins) if node.domain == "" and node.op not in ("If", "Loop", "Scan") else None

    def constant(self, node: Node) -> None:
        value = constant_value(node.proto)
        if value is not None:
            code = DTYPE_OF_ONNX.get(_onnx_dtype(node, value.dtype), "")
            self.types[node.outputs[0]] = TensorType(code, tuple(value.shape))
            known = from_constant(value)
            if known is not None:
                self.values[node.outputs[0]] = known
            return
        for a in node.proto.attribute:
            if a.name == "value":
                self.types[node.outputs[0]] = TensorType(DTYPE_OF_ONNX.get(a.t.data_type, ""), tuple(a.t.dims))

    def merge(self, inferred: TensorType, hint: TensorType | None) -> TensorType:
        """What was inferred, completed by what the model declares: a declared number beats an unknown size."""
        if hint is None:
            return inferred
        dtype = inferred.dtype or hint.dtype
        if inferred.shape is None:
            return TensorType(dtype, hint.shape)
        if hint.shape is None or len(hint.shape) != len(inferred.shape):
            return TensorType(dtype, inferred.shape)
        dims = tuple(
            h if isinstance(i, Sym) and str(i).startswith("?") and not str(h).startswith("?") else i
            for i, h in zip(inferred.shape, hint.shape, strict=True)
        )
        return TensorType(dtype, dims)

    def fold(self, node: Node) -> None:
        """Follow small integer tensors through the node."""
        if node.domain or len(node.outputs) != 1:
            return
        out = self.types[node.outputs[0]]
        shape = out.shape
        if node.op == "Shape" and (source := self.types.get(node.inputs[0])) and source.shape is not None:
            start, end = node.integer("start", 0), node.integer("end", len(source.shape))
            dims = source.shape[start:end]
            self.values[node.outputs[0]] = ShapeValue((len(dims),), dims)
        elif node.op == "Size" and (source := self.types.get(node.inputs[0])) and source.shape is not None:
            from ascend_fuse.graph.dim import product

            self.values[node.outputs[0]] = ShapeValue((), (product(source.shape),))
        elif node.op == "ConstantOfShape":
            self.fill(node, shape)
        elif node.op in _FOLDED and out.dtype in _INTEGERS and any(i in self.values for i in node.inputs):
            static = _static(shape)
            value = evaluate_node(node, tuple(self.values.get(i) for i in node.inputs), static)
            if value is not None and len(value.items) <= SMALL and static in (None, value.shape):
                self.values[node.outputs[0]] = value

    def fill(self, node: Node, shape: tuple[Dim, ...] | None) -> None:
        static = _static(shape)
        if static is None or math.prod(static) > SMALL:
            return
        proto = next((a.t for a in node.proto.attribute if a.name == "value"), None)
        if proto is None:
            return
        from onnx import numpy_helper

        value = from_constant(np.broadcast_to(numpy_helper.to_array(proto).reshape(-1)[:1].reshape(()), static))
        if value is not None:
            self.values[node.outputs[0]] = value

    def ask_onnx(self, node: Node, ins: tuple[TensorType | None, ...]) -> tuple[TensorType, ...] | None:
        """onnx's inference of this one node; sizes travel as names and come back as the same Dims."""
        if any(i is not None and not i.dtype for i in ins):
            return None
        names: dict[str, Dim] = {}
        types = {n: _proto(t, names) for n, t in zip(node.inputs, ins, strict=True) if n and t is not None}
        try:
            schema = defs.get_schema(node.op, self._opset, "")
            found = shape_inference.infer_node_outputs(schema, node.proto, types, opset_imports=_imports(self._opset))
        except (defs.SchemaError, shape_inference.InferenceError, ValidationError, RuntimeError, ValueError):
            return None  # an operator that onnx does not know or cannot infer: unknown type, never an error here
        out: list[TensorType] = []
        for name in node.outputs:
            t = found.get(name)
            out.append(TensorType("", None) if t is None else self._back(t, names))
        return tuple(out)

    def _back(self, t: TypeProto, names: Mapping[str, Dim]) -> TensorType:
        if not t.HasField("tensor_type"):
            return TensorType("", None)
        dtype = DTYPE_OF_ONNX.get(t.tensor_type.elem_type, "")
        if not t.tensor_type.HasField("shape"):
            return TensorType(dtype, None)
        dims = tuple(
            d.dim_value if d.HasField("dim_value") else names.get(d.dim_param) or self.fresh()
            for d in t.tensor_type.shape.dim
        )
        return TensorType(dtype, dims)


def _imports(opset: int) -> list[OperatorSetIdProto]:
    from onnx import helper

    return [helper.make_opsetid("", opset)]


def _static(shape: tuple[Dim, ...] | None) -> tuple[int, ...] | None:
    if shape is None:
        return None
    found = tuple(d for d in shape if isinstance(d, int))
    return found if len(found) == len(shape) else None


def _onnx_dtype(node: Node, dtype: np.dtype[np.generic]) -> int:
    from onnx import helper

    for a in node.proto.attribute:
        if a.name == "value":
            return a.t.data_type
    return helper.np_dtype_to_tensor_dtype(dtype)


def _proto(t: TensorType, names: dict[str, Dim]) -> TypeProto:
    out = TypeProto()
    out.tensor_type.elem_type = ONNX_OF_DTYPE[t.dtype]
    if t.shape is not None:
        out.tensor_type.shape.SetInParent()
        for d in t.shape:
            dim = out.tensor_type.shape.dim.add()
            if isinstance(d, int):
                dim.dim_value = d
            else:
                dim.dim_param = str(d)
                names[str(d)] = d
    return out


def infer(model: ModelProto) -> Inference:
    """Types and shape values of the main graph; nodes must be in topological order."""
    inference = Inference(model_opset(model))
    inference.run(model.graph)
    return inference
