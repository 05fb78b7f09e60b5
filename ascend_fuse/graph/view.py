"""An immutable index over one graph of a model: nodes, uses, captures, types, shapes, small constants.

Nothing here decodes a weight: constants over `SMALL` elements and external tensors stay opaque.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    helper,
    numpy_helper,
)

from ascend_fuse.graph.proto import node_label
from ascend_fuse.graph.type import TensorType

TEMPLATE = "attributes of the caller"  # stands for the domain of a node that is one operator per call
SMALL = 64  # elements; what idioms, shapes and axes need and no weight has
Constant = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node: `index` in the graph's list; names are "" where an optional operand is omitted."""

    index: int
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    proto: NodeProto

    def attribute(self, name: str, default: object = None) -> object:
        """The attribute's Python value (bytes become str), or `default`; a reference to a function's is None."""
        for a in self.proto.attribute:
            if a.name == name:
                if a.ref_attr_name:
                    return None
                value = helper.get_attribute_value(a)
                return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return default

    def operand(self, k: int) -> str:
        """The name of operand k, "" when it is omitted."""
        return self.inputs[k] if k < len(self.inputs) else ""

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        value = self.attribute(name, default)
        return value if isinstance(value, int) else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An integer list attribute, None when absent."""
        found = next((a for a in self.proto.attribute if a.name == name), None)
        return None if found is None or found.ref_attr_name else tuple(found.ints)

    @property
    def is_template(self) -> bool:
        """Whether an attribute is a reference to one of the function that holds the node: known at the call only."""
        return any(a.ref_attr_name for a in self.proto.attribute)

    @property
    def label(self) -> str:
        """What a person can find: the node's name, else its operator and first output."""
        return node_label(self.proto)


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs held by the node's attributes, with the attribute's name."""
    for a in node.attribute:
        if a.type == AttributeProto.GRAPH:
            yield a.name, a.g
        elif a.type == AttributeProto.GRAPHS:
            for k, g in enumerate(a.graphs):
                yield f"{a.name}[{k}]", g


def captures(graph: GraphProto) -> Iterator[str]:
    """Names that a nested graph reads from outside itself (an over-approximation: shadowed names count too)."""
    for node in graph.node:
        yield from node.input
        for _, inner in subgraphs(node):
            yield from captures(inner)
    for out in graph.output:
        yield out.name


def tensor_is_small(tensor: TensorProto) -> bool:
    """At most SMALL elements, held whole in the file itself, and no strings: those may be no text."""
    if tensor.data_type == TensorProto.STRING or tensor.HasField("segment"):
        return False
    count = 1
    for d in tensor.dims:
        count *= d
    return count <= SMALL and tensor.data_location != TensorProto.EXTERNAL


class View:
    """Index over `graph` (main graph, subgraph or function body); built once, never edited."""

    def __init__(
        self,
        graph: GraphProto | FunctionProto,
        opset: int,
        types: Mapping[str, TensorType],
        outer: Mapping[str, Constant] | None = None,
        overridable: bool = True,
        templates: bool = False,
        assumed: Container[str] = frozenset(),
    ) -> None:
        """`templates`: a function's nodes, whose attributes may be its callers'. `assumed`: values whose type rests on
        an assumption about run-time sizes, or on what the model declares.
        """
        self.assumed = assumed
        self.graph = graph
        self.opset = opset
        self.types = types
        self._outer = outer or {}
        self._overridable = overridable
        self.nodes: tuple[Node, ...] = tuple(
            Node(i, n.op_type, "" if n.domain == "ai.onnx" else n.domain, tuple(n.input), tuple(n.output), n)
            for i, n in enumerate(graph.node)
        )
        if templates:  # of the default domain, but nothing follows from the operator's name alone
            self.nodes = tuple(replace(n, domain=TEMPLATE) if n.is_template else n for n in self.nodes)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the graph's inputs, overridable initializers included."""
        if isinstance(self.graph, FunctionProto):
            return tuple(self.graph.input)
        return tuple(v.name for v in self.graph.input)

    @cached_property
    def outputs(self) -> frozenset[str]:
        """Names of the graph's outputs."""
        if isinstance(self.graph, FunctionProto):
            return frozenset(self.graph.output)
        return frozenset(v.name for v in self.graph.output)

    @cached_property
    def producers(self) -> Mapping[str, int]:
        """Value name → index of the node that makes it."""
        return {o: n.index for n in self.nodes for o in n.outputs if o}

    @cached_property
    def _readers(self) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for n in self.nodes:
            read = dict.fromkeys(i for i in n.inputs if i)
            for _, inner in subgraphs(n.proto):
                read.update(dict.fromkeys(captures(inner)))
            for name in read:
                found.setdefault(name, []).append(n.index)
        return {k: tuple(v) for k, v in found.items()}

    def producer(self, name: str) -> Node | None:
        """The node that makes the value, None for inputs, initializers and outer values."""
        index = self.producers.get(name)
        return None if index is None else self.nodes[index]

    def readers(self, name: str) -> tuple[int, ...]:
        """Indices of the nodes that read the value, each once; a node whose subgraph captures it counts."""
        return self._readers.get(name, ())

    def is_output(self, name: str) -> bool:
        """Whether the value is an output of the graph."""
        return name in self.outputs

    @cached_property
    def initializers(self) -> Mapping[str, TensorProto]:
        """The graph's initializers by name; a function has none."""
        if isinstance(self.graph, FunctionProto):
            return {}
        return {t.name: t for t in self.graph.initializer}

    def is_overridable(self, name: str) -> bool:
        """Whether the value is an initializer that the caller may replace (also a graph input)."""
        return self._overridable and name in self.initializers and name in self._input_set

    @cached_property
    def _input_set(self) -> frozenset[str]:
        return frozenset(self.inputs)

    def type_of(self, name: str) -> TensorType:
        """Type and shape; unknown ones are ("", None)."""
        return self.types.get(name, TensorType("", None))

    def constant(self, name: str) -> Constant | None:
        """The value of a small constant (Constant node or initializer that nobody can override), else None."""
        if name in self._constants:
            return self._constants[name]
        return self._outer.get(name) if name not in self.producers else None

    @cached_property
    def _constants(self) -> Mapping[str, Constant]:
        found: dict[str, Constant] = {}
        for name, t in self.initializers.items():
            if not self.is_overridable(name) and tensor_is_small(t):
                found[name] = numpy_helper.to_array(t)
        for n in self.nodes:
            if n.op == "Constant" and n.domain == "" and n.outputs:
                value = constant_value(n.proto)
                if value is not None:
                    found[n.outputs[0]] = value
        return found


def constant_value(node: NodeProto) -> Constant | None:
    """The value of a Constant node when it is small and dense, else None."""
    for a in node.attribute:
        if a.ref_attr_name:
            return None
        if a.name == "value":
            return numpy_helper.to_array(a.t) if tensor_is_small(a.t) else None
        if a.name == "value_float":
            return np.asarray(a.f, np.float32)
        if a.name == "value_int":
            return np.asarray(a.i, np.int64)
        if a.name == "value_floats" and len(a.floats) <= SMALL:
            return np.asarray(list(a.floats), np.float32)
        if a.name == "value_ints" and len(a.ints) <= SMALL:
            return np.asarray(list(a.ints), np.int64)
    return None


def model_opset(model: ModelProto | FunctionProto) -> int:
    """The version of the default domain that the model imports, 0 when it imports none."""
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
