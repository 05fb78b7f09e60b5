"""Paths of scopes: "" for the main graph, `node.attribute` joined by `/` a nested one, `function domain::Name`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnx import FunctionProto, GraphProto, NodeProto

from ascend_fuse.graph.view import subgraphs

NESTING = frozenset(("If", "Loop", "Scan"))


def is_nesting(node: NodeProto) -> bool:
    """Whether the node has bodies that run in the scope around it."""
    return node.op_type in NESTING and node.domain in ("", "ai.onnx")


def function_path(function: FunctionProto) -> str:
    """The path of a function's scope."""
    return f"function {function.domain}::{function.name}" + (f":{function.overload}" if function.overload else "")


def bodies(graph: GraphProto | FunctionProto, path: str) -> dict[str, list[tuple[str, GraphProto]]]:
    """Paths and bodies of each node that has them, by the node's first output."""
    found: dict[str, list[tuple[str, GraphProto]]] = {}
    for node, at, inner in nested_graphs(graph, path):
        found.setdefault("".join(node.output[:1]), []).append((at, inner))
    return found


def nested_graphs(graph: GraphProto | FunctionProto, path: str) -> Iterator[tuple[NodeProto, str, GraphProto]]:
    """Each body in the graph: its node, its own path, itself. A node without a name of its own is counted."""
    nodes = [n for n in graph.node if is_nesting(n)]
    names = Counter(n.name for n in nodes)
    for k, node in enumerate(nodes):
        label = node.name if node.name and names[node.name] == 1 else f"{node.op_type}#{k}"
        for attribute, inner in subgraphs(node):
            yield node, f"{path}/{label}.{attribute}".lstrip("/"), inner
