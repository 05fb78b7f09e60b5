"""What a model's inputs may hold, read off the graph: rows that an index selects from, masks, known values.

No weight is decoded: tables count by their dimensions alone, and only constants of one element are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, numpy_helper

# Operators that hand on the integers of their first input unchanged, whatever they do to the shape.
_PASS = frozenset(
    ("Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Identity", "Expand", "Slice", "Tile")
)
# Operators whose output has the dimensions of their first input.
_SAME_SHAPE = frozenset(("Identity", "Cast", "DequantizeLinear", "QuantizeLinear"))
_GATHER = frozenset(("Gather", "GatherElements"))

Origin = tuple[str, int]  # a graph input and what was added to it


@dataclass(slots=True)
class Bounds:
    """By graph input: `rows`, one more than the largest index; masks; values that it is compared with."""

    rows: dict[str, int] = field(default_factory=dict[str, int])
    masks: set[str] = field(default_factory=set[str])
    choices: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def limit(self, origins: Iterable[Origin], rows: int) -> None:
        for name, added in origins:
            self.rows[name] = min(self.rows.get(name, rows - added), rows - added)


@dataclass(slots=True)
class _Scope:
    """What is known of the values by name; a subgraph starts from a copy of its outer scope."""

    origins: dict[str, tuple[Origin, ...]] = field(default_factory=dict[str, tuple[Origin, ...]])
    dims: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    scalars: dict[str, int] = field(default_factory=dict[str, int])

    def copy(self) -> _Scope:
        return _Scope(dict(self.origins), dict(self.dims), dict(self.scalars))

    def constant(self, name: str, tensor: TensorProto) -> None:
        self.dims[name] = tuple(tensor.dims)
        integral = tensor.data_type in (TensorProto.INT32, TensorProto.INT64)
        elements = 1
        for size in tensor.dims:
            elements *= size
        if elements == 1 and integral and tensor.data_location != TensorProto.EXTERNAL:
            self.scalars[name] = int(numpy_helper.to_array(tensor).reshape(-1)[0])

    def values(self, values: Iterable[onnx.ValueInfoProto]) -> None:
        """Take the shapes of `values`, with -1 for sizes that are not known."""
        for value in values:
            tensor = value.type.tensor_type
            if tensor.HasField("shape"):
                sizes = (dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim)
                self.dims.setdefault(value.name, tuple(sizes))


class _Tracer:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.bounds = Bounds()
        self._functions = {(f.domain, f.name, f.overload): f for f in model.functions}

    def graph(self, graph: onnx.GraphProto, scope: _Scope) -> None:
        for tensor in graph.initializer:
            scope.constant(tensor.name, tensor)
        scope.values(graph.input)
        scope.values(graph.value_info)
        for node in graph.node:
            self._node(node, scope)

    def _node(self, node: NodeProto, scope: _Scope) -> None:
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs:
                self.graph(graph, scope.copy())
        function = self._functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            self._call(node, function, scope)
        elif node.domain in ("", "ai.onnx"):
            self._read(node, scope)
            self._write(node, scope)

    def _call(self, node: NodeProto, function: onnx.FunctionProto, scope: _Scope) -> None:
        inner = _Scope()
        for formal, actual in zip(function.input, node.input, strict=False):
            _bind(inner, formal, scope, actual)
        for body_node in function.node:
            self._node(body_node, inner)
        for formal, actual in zip(function.output, node.output, strict=False):
            _bind(scope, actual, inner, formal)

    def _read(self, node: NodeProto, scope: _Scope) -> None:
        """Note what this node demands of its integer inputs."""
        inputs, bounds = node.input, self.bounds
        if node.op_type in _GATHER:
            dims = scope.dims.get(inputs[0], ())
            axis = _int_attribute(node, "axis", 0)
            if -len(dims) <= axis < len(dims) and dims[axis] > 0:
                bounds.limit(scope.origins.get(inputs[1], ()), dims[axis])
        elif node.op_type == "OneHot" and inputs[1] in scope.scalars:
            bounds.limit(scope.origins.get(inputs[0], ()), scope.scalars[inputs[1]])
        elif node.op_type == "Cast" and _int_attribute(node, "to", 0) == TensorProto.BOOL:
            bounds.masks.update(name for name, _ in scope.origins.get(inputs[0], ()))
        elif node.op_type == "Equal":
            for one, other in ((inputs[0], inputs[1]), (inputs[1], inputs[0])):
                if other in scope.scalars:
                    for name, added in scope.origins.get(one, ()):
                        bounds.choices.setdefault(name, []).append(scope.scalars[other] - added)

    def _write(self, node: NodeProto, scope: _Scope) -> None:
        """Note what is known of this node's output."""
        out = node.output[0] if node.output else ""
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    scope.constant(out, attribute.t)
                elif attribute.name == "value_int":
                    scope.scalars[out] = attribute.i
        elif node.op_type in ("Add", "Sub"):
            scope.origins[out] = _shifted(node, scope)
        elif node.op_type in ("Concat", "Where"):
            parts = node.input[1:] if node.op_type == "Where" else node.input
            scope.origins[out] = tuple(origin for part in parts for origin in scope.origins.get(part, ()))
        elif node.op_type in _PASS:
            scope.origins[out] = scope.origins.get(node.input[0], ())
        if node.op_type in _SAME_SHAPE and node.input[0] in scope.dims:
            scope.dims[out] = scope.dims[node.input[0]]


def _bind(to: _Scope, name: str, source: _Scope, source_name: str) -> None:
    """Give `name` in one scope what is known of `source_name` in another."""
    if source_name in source.origins:
        to.origins[name] = source.origins[source_name]
    if source_name in source.dims:
        to.dims[name] = source.dims[source_name]
    if source_name in source.scalars:
        to.scalars[name] = source.scalars[source_name]


def _shifted(node: NodeProto, scope: _Scope) -> tuple[Origin, ...]:
    """The origins of an Add or Sub of a known number."""
    left, right = node.input
    if right in scope.scalars:
        step = scope.scalars[right] * (1 if node.op_type == "Add" else -1)
        return tuple((name, added + step) for name, added in scope.origins.get(left, ()))
    if node.op_type == "Add" and left in scope.scalars:
        return tuple((name, added + scope.scalars[left]) for name, added in scope.origins.get(right, ()))
    return ()


def _int_attribute(node: NodeProto, name: str, default: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def trace(model: onnx.ModelProto, inputs: Sequence[str]) -> Bounds:
    """Follow each input through nodes that keep its integers to those that use them as indices or masks."""
    tracer = _Tracer(model)
    tracer.graph(model.graph, _Scope(origins={name: ((name, 0),) for name in inputs}))
    return tracer.bounds
