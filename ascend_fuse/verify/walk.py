"""Every node of a model: the graph's, those of subgraphs, those of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import NodeProto

from ascend_fuse.graph.view import subgraphs


def walk(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, each before those inside it."""
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from walk(graph.node)


def all_nodes(model: onnx.ModelProto) -> Iterator[NodeProto]:
    """Function bodies count once, however often they are called."""
    yield from walk(model.graph.node)
    for function in model.functions:
        yield from walk(function.node)
