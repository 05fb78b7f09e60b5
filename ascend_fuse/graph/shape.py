"""Types and shapes of every value, with symbolic sizes that compare equal when they are equal for every input.

Own rules for the operators that exporters wrap around a transformer's or CNN's arithmetic; everything else asks onnx's
per-node inference. Nothing reads a weight, nothing serialises the model.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Set
from itertools import count
from typing import Protocol

import numpy as np
from onnx import (
    FunctionProto,
    GraphProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    defs,
    helper,
    numpy_helper,
    shape_inference,
)
from onnx.checker import ValidationError

from ascend_fuse.graph.assumption import Doubt, doubt_of
from ascend_fuse.graph.dim import Dim, Sym, symbol
from ascend_fuse.graph.follow import followed
from ascend_fuse.graph.path import NESTING, bodies
from ascend_fuse.graph.shape_query import Shapes, Unfit, applied
from ascend_fuse.graph.shape_rule import RULES
from ascend_fuse.graph.type import DTYPE_OF_ONNX, ONNX_OF_DTYPE, TensorType
from ascend_fuse.graph.value import ShapeValue, from_constant
from ascend_fuse.graph.view import Node, View, constant_value, tensor_is_small

# Operators whose result has the type of their first operand whatever their attributes are.
_SAME_TYPE = frozenset(
    (
        "LeakyRelu Elu Selu Celu HardSigmoid ThresholdedRelu Clip Gelu Softmax LogSoftmax LayerNormalization "
        "RMSNormalization InstanceNormalization GroupNormalization Swish"
    ).split()
)
UNKNOWN = TensorType("", None)
NAMELESS = ("?", "None", "-1")  # what exporters write for any size: two of them are not one


class Nested(Protocol):
    """What infers the outputs of a node that holds graphs or calls a function; None when it cannot."""

    def __call__(self, outer: Inference, node: Node) -> tuple[TensorType, ...] | None: ...


class Inference:
    """One forward pass over a graph in list order; unknown sizes become fresh symbols.

    Some rest on more than the graph: `doubt` says what on.
    """

    def __init__(
        self, opset: int, nested: Nested | None = None, outer: Inference | None = None, path: str = ""
    ) -> None:
        self.types: dict[str, TensorType] = {}
        self.values: dict[str, ShapeValue] = {}
        self.stopped: dict[str, tuple[str, str]] = {}  # by output: the node onnx infers nothing for, and why
        self._doubts: dict[str, Doubt] = {}
        self.opset = opset
        self.path = path
        self.bodies: dict[str, list[tuple[str, GraphProto]]] = {}  # paths and graphs by their node's first output
        self.depth = 0 if outer is None else outer.depth + 1
        self._nested = nested
        self._count = count(1) if outer is None else outer._count
        self._symbols: dict[str, Sym] = {} if outer is None else outer._symbols
        self._hints: dict[str, TensorType] = {}
        self._templates = outer is not None and outer._templates  # inside a function

    @property
    def symbols(self) -> frozenset[str]:
        """The names of sizes that the graph's inputs declare."""
        return frozenset(self._symbols)

    @property
    def sure_values(self) -> Mapping[str, ShapeValue]:
        """Values that a program may carry in its text, where no binding compares them."""
        if not self._doubts:
            return self.values
        return {n: v for n, v in self.values.items() if self._doubts.get(n, Doubt.NONE) < Doubt.TOLD}

    @property
    def hinted(self) -> KeysView[str]:
        """Values whose type or elements are in doubt at all."""
        return self._doubts.keys()

    @property
    def assumed(self) -> frozenset[str]:
        """Values whose type may be another in a run with no tensor empty."""
        return frozenset(n for n, d in self._doubts.items() if d > Doubt.EMPTY)

    def doubt(self, names: Iterable[str]) -> Doubt:
        """That of the least certain of the values."""
        if not self._doubts:
            return Doubt.NONE
        return max((self._doubts.get(n, Doubt.NONE) for n in names), default=Doubt.NONE)

    def mark(self, names: Iterable[str], doubt: Doubt) -> None:
        """Note what values rest on."""
        if doubt:
            self._doubts.update((n, max(doubt, self._doubts.get(n, Doubt.NONE))) for n in names if n)

    def fresh(self) -> Sym:
        """A size that equals only itself."""
        return symbol(f"?{next(self._count)}")

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
            elif trusted and d.dim_param and not d.dim_param.startswith(NAMELESS):
                dims.append(self._symbols.setdefault(d.dim_param, symbol(d.dim_param)))
            else:
                dims.append(self._symbols.get(d.dim_param) or self.fresh())
        return TensorType(dtype, tuple(dims))

    def run(self, graph: GraphProto) -> None:
        """Fill `types` and `values` for a model's main graph."""
        for v in graph.input:
            self.types[v.name] = self.declared(v, trusted=True)
        self.walk(graph, frozenset(self.types))

    def walk(self, graph: GraphProto | FunctionProto, inputs: Set[str]) -> None:
        """The same for any graph whose inputs have their types already."""
        self.bodies = bodies(graph, self.path)
        declared = list(graph.value_info)
        self._templates |= isinstance(graph, FunctionProto)
        if isinstance(graph, GraphProto):
            declared += graph.output
            for t in graph.initializer:
                self.initializer(t, overridable=t.name in inputs)
        for v in declared:
            self._hints[v.name] = self.declared(v, trusted=False)
        for node in View(graph, self.opset, {}).nodes:
            self.node(node)

    def inherit(self, outer: Inference, names: Iterable[str]) -> None:
        """What is known of values of the graph around."""
        for name in dict.fromkeys(names):
            if name in outer.types:
                self.types[name] = outer.types[name]
            if name in outer.values:
                self.values[name] = outer.values[name]
            self.mark((name,), outer.doubt((name,)))

    def initializer(self, t: TensorProto, overridable: bool) -> None:
        """Type from the header; the value only of small ones that nobody overrides."""
        if overridable and t.name in self.types:
            return
        self.types[t.name] = TensorType(DTYPE_OF_ONNX.get(t.data_type, ""), tuple(t.dims))
        if t.data_type in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL) and tensor_is_small(t):
            value = from_constant(numpy_helper.to_array(t))
            if value is not None:
                self.values[t.name] = value

    def node(self, node: Node) -> None:
        """Infer one node's outputs."""
        if node.op == "Constant" and node.domain == "":
            self.constant(node)
            return
        try:
            found = self.infer(node)
        except Unfit:
            self.types.update((name, UNKNOWN) for name in node.outputs if name)
            return
        doubt = self.doubt(node.inputs)
        if not doubt and found is not None:
            doubt = doubt_of(node, self.types, self.values, found)
        for k, name in enumerate(node.outputs):
            if not name:
                continue
            inferred = found[k] if found is not None and k < len(found) else UNKNOWN
            merged = self.types[name] = self.merge(inferred, self._hints.get(name))
            self.mark((name,), Doubt.TOLD if merged != inferred else doubt)
        if not (self._templates and node.is_template):
            value = followed(node, self.types, self.values)
            if value is not None:
                self.values[node.outputs[0]] = value

    def infer(self, node: Node) -> tuple[TensorType, ...] | None:
        if self._templates and node.is_template:  # its attributes are the caller's
            return (self.types.get(node.operand(0), UNKNOWN),) if node.op in _SAME_TYPE else None
        if self._nested is not None and (node.op in NESTING or node.domain):
            return self._nested(self, node)
        rule = RULES.get(node.op) if node.domain == "" else None
        ins = tuple(self.types.get(i, TensorType("", None)) if i else None for i in node.inputs)
        if rule is not None:
            found = applied(rule, Shapes(node, ins, tuple(map(self.values.get, node.inputs)), self.fresh, self.opset))
            if found is not None:
                return found
        return self.ask_onnx(node, ins) if node.domain == "" and node.op not in NESTING else None

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

    def ask_onnx(self, node: Node, ins: tuple[TensorType | None, ...]) -> tuple[TensorType, ...] | None:
        """onnx's inference of this one node; sizes travel as names and come back as the same Dims."""
        if any(i is not None and not i.dtype for i in ins):
            return None
        names: dict[str, Dim] = {}
        types = {n: _proto(t, names) for n, t in zip(node.inputs, ins, strict=True) if n and t is not None}
        try:
            schema = defs.get_schema(node.op, self.opset, "")
            found = shape_inference.infer_node_outputs(
                schema, node.proto, types, opset_imports=[helper.make_opsetid("", self.opset)]
            )
        except shape_inference.InferenceError as e:
            self.stopped[node.outputs[0]] = node.label, " ".join(str(e).split("] ", 1)[-1].split())
            return None
        except (defs.SchemaError, ValidationError, RuntimeError, ValueError):
            return None  # an operator that onnx does not know or cannot infer: unknown type, never an error here
        return tuple(UNKNOWN if (t := found.get(o)) is None else self._back(t, names) for o in node.outputs)

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


def _onnx_dtype(node: Node, dtype: np.dtype[np.generic]) -> int:
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
