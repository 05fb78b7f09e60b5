"""Stable topological order: a node moves behind what it reads, and nothing else moves."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from onnx import GraphProto, NodeProto

from ascend_fuse.error import ModelError
from ascend_fuse.graph.proto import node_label
from ascend_fuse.graph.view import subgraphs


def free_names(graph: GraphProto) -> set[str]:
    """What a nested graph reads from around it: names that it does not make itself."""
    made = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    made |= {t.values.name for t in graph.sparse_initializer}
    read = {v.name for v in graph.output}
    for node in graph.node:
        made.update(node.output)
        read |= reads(node)
    return read - made - {""}


def reads(node: NodeProto) -> set[str]:
    """The values that the node needs, those that its graphs read from around it included."""
    names = set(node.input)
    for _, inner in subgraphs(node):
        names |= free_names(inner)
    names.discard("")
    return names


def sorted_nodes(nodes: Sequence[NodeProto]) -> list[NodeProto]:
    """The nodes, each behind its producers, otherwise in their order. Raises ModelError on a cycle."""
    maker = {o: k for k, n in enumerate(nodes) for o in n.output if o}
    waits = [0] * len(nodes)
    after: list[list[int]] = [[] for _ in nodes]
    for k, n in enumerate(nodes):
        for m in {maker[r] for r in reads(n) if r in maker}:
            after[m].append(k)
            waits[k] += 1
    ready = [k for k, w in enumerate(waits) if w == 0]
    heapq.heapify(ready)
    out: list[NodeProto] = []
    while ready:
        k = heapq.heappop(ready)
        out.append(nodes[k])
        for m in after[k]:
            waits[m] -= 1
            if waits[m] == 0:
                heapq.heappush(ready, m)
    if len(out) < len(nodes):
        stuck = _on_cycle(nodes, {k for k, w in enumerate(waits) if w > 0}, maker)
        raise ModelError("the graph has a cycle", where=f"node {node_label(stuck)}", do="export the model again")
    return out


def _on_cycle(nodes: Sequence[NodeProto], waiting: set[int], maker: Mapping[str, int]) -> NodeProto:
    """A node that waits for itself; going up from any waiting node comes to one."""
    at, seen = min(waiting), set[int]()
    while at not in seen:
        seen.add(at)
        at = min(maker[r] for r in reads(nodes[at]) if maker.get(r) in waiting)
    return nodes[at]
