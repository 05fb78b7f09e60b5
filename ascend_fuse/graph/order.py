"""Stable topological order: a node moves behind what it reads, and nothing else moves."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from onnx import NodeProto

from ascend_fuse.error import ModelError
from ascend_fuse.graph.view import captures, subgraphs


def _reads(node: NodeProto) -> set[str]:
    names = {i for i in node.input if i}
    for _, inner in subgraphs(node):
        names.update(captures(inner))
    return names


def sorted_nodes(nodes: Sequence[NodeProto]) -> list[NodeProto]:
    """The nodes, each behind its producers, otherwise in their order. Raises ModelError on a cycle."""
    maker = {o: k for k, n in enumerate(nodes) for o in n.output if o}
    waits = [0] * len(nodes)
    after: list[list[int]] = [[] for _ in nodes]
    for k, n in enumerate(nodes):
        for m in {maker[r] for r in _reads(n) if r in maker}:
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
        name = stuck.name or stuck.op_type
        raise ModelError("the graph has a cycle", where=f"node {name}", do="export the model again")
    return out


def _on_cycle(nodes: Sequence[NodeProto], waiting: set[int], maker: Mapping[str, int]) -> NodeProto:
    """A node that waits for itself; going up from any waiting node comes to one."""
    at, seen = min(waiting), set[int]()
    while at not in seen:
        seen.add(at)
        at = min(maker[r] for r in _reads(nodes[at]) if maker.get(r) in waiting)
    return nodes[at]
