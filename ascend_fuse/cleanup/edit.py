"""Claims applied: nodes go, and their readers take what stays, in nested graphs as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import FunctionProto, GraphProto, NodeProto, ValueInfoProto, helper, numpy_helper

from ascend_fuse.cleanup.claim import Claim
from ascend_fuse.graph.proto import replace
from ascend_fuse.graph.view import Constant, Node, View, subgraphs

Names = Mapping[str, str]


def clean(graph: GraphProto | FunctionProto, view: View, claims: Sequence[Claim]) -> tuple[int, ...]:
    """Edit the scope in place; for each node that is left, its index in the old list.

    `view` is that of the graph before the edit and of no use behind it.
    """
    if not claims:
        return tuple(range(len(view.nodes)))
    by_node = {c.node: c for c in claims}
    names = new_names(view, claims)
    left: list[int] = []
    nodes: list[NodeProto] = []
    for node in view.nodes:
        claim = by_node.get(node.index)
        if claim is None:
            _rename(node.proto, names)
            nodes.append(node.proto)
        elif claim.constant is not None:
            nodes.append(_constant(node, claim.constant, names))
        else:
            continue
        left.append(node.index)
    gone = {o for c in claims if c.constant is None for o in view.nodes[c.node].outputs} | names.keys()
    made = {o for n in nodes for o in n.output}
    replace(graph.node, nodes)
    kept: list[ValueInfoProto] = [v for v in graph.value_info if v.name not in gone or v.name in made]
    if len(kept) < len(graph.value_info):
        replace(graph.value_info, kept)
    return tuple(left)


def new_names(view: View, claims: Sequence[Claim]) -> dict[str, str]:
    """Old name → new name of every value that is called otherwise after the edit."""
    names: dict[str, str] = {}
    for c in claims:  # ascending: what is kept has its own final name already
        if c.kept:
            names[c.output] = names.get(c.kept, c.kept)
    taken = {root: output for output, root in names.items() if view.is_output(output)}
    names = {old: taken.get(new, new) for old, new in names.items()} | taken
    return {old: new for old, new in names.items() if old != new}


def _constant(node: Node, value: Constant, names: Names) -> NodeProto:
    output = names.get(node.outputs[0], node.outputs[0])
    return helper.make_node("Constant", [], [output], node.proto.name or None, value=numpy_helper.from_array(value))


def _rename(node: NodeProto, names: Names) -> None:
    """Operands, outputs and what nested graphs capture."""
    for field in (node.input, node.output):
        for k, name in enumerate(field):
            if name in names:
                field[k] = names[name]
    for _, inner in subgraphs(node):
        _rename_inside(inner, names)


def _rename_inside(graph: GraphProto, names: Names) -> None:
    """The same for a nested graph, whose own names hide those around it."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {s.values.name for s in graph.sparse_initializer} | {o for n in graph.node for o in n.output}
    visible = {old: new for old, new in names.items() if old not in own} if own & names.keys() else names
    for node in graph.node:
        _rename(node, visible)
    for v in graph.output:
        if v.name in visible:
            v.name = visible[v.name]
