"""A model as a drawing takes it: the nodes of each scope with what they read and write, and types as text.

No weights, no protobuf: an outline of the graph before outlives the edit that makes the one after of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx import FunctionProto, GraphProto, ModelProto

from ascend_fuse.graph.launch import operator_name
from ascend_fuse.graph.proto import node_label
from ascend_fuse.graph.scope import Scope, scopes
from ascend_fuse.graph.view import captures, subgraphs

if TYPE_CHECKING:
    from ascend_fuse.graph.shape import Inference
    from ascend_fuse.graph.type import TensorType


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """`inputs`: without omitted ones; of a node with bodies, with what those read from the graph around them."""

    label: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutlineScope:
    """One list of nodes; `inputs` are those that the caller gives, not the initializers."""

    path: str
    nodes: tuple[OutlineNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Outline:
    """The scopes of a model, the main graph first."""

    scopes: tuple[OutlineScope, ...]


def outline(model: ModelProto, inferred: Mapping[str, Inference] | None = None) -> Outline:
    """The outline; with the types of values, where they were inferred."""
    known = inferred or {}
    return Outline(tuple(_scope(s, known.get(s.path)) for s in reversed(scopes(model))))


def _scope(scope: Scope, inference: Inference | None) -> OutlineScope:
    graph = scope.graph
    if isinstance(graph, FunctionProto):
        inputs, outputs = tuple(graph.input), tuple(graph.output)
    else:
        held = {t.name for t in graph.initializer}
        inputs = tuple(v.name for v in graph.input if v.name not in held)
        outputs = tuple(v.name for v in graph.output)
    types = {} if inference is None else {name: _text(t) for name, t in inference.types.items()}
    return OutlineScope(scope.path, _nodes(graph), inputs, outputs, types)


def _nodes(graph: GraphProto | FunctionProto) -> tuple[OutlineNode, ...]:
    found: list[OutlineNode] = []
    for node in graph.node:
        read = dict.fromkeys(n for n in node.input if n)
        for _, inner in subgraphs(node):
            read |= dict.fromkeys(n for n in captures(inner) if n)
        outputs = tuple(o for o in node.output if o)
        found.append(OutlineNode(node_label(node), operator_name(node), tuple(read), outputs))
    return tuple(found)


def _text(kind: TensorType) -> str:
    """`f32[batch, 128]`; `f32` when the rank is not known, "" when nothing is."""
    return kind.dtype if kind.shape is None else f"{kind.dtype}[{', '.join(map(str, kind.shape))}]"
