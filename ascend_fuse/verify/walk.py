"""Every node of a model: the graph's, those of subgraphs, those of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import AttributeProto, NodeProto


def subgraphs(node: NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs in the node's attributes."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def walk(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, each before those inside it."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from walk(graph.node)


def all_nodes(model: onnx.ModelProto) -> Iterator[NodeProto]:
    """Function bodies count once, however often they are called."""
    yield from walk(model.graph.node)
    for function in model.functions:
        yield from walk(function.node)
