"""Value by value through every scope of a model: made once, made before it is read, by a node that its operator allows.

A name may hide one of a graph around it where ONNX Runtime lets it: as an input or initializer of the inner graph, or
when the outer value is made later.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import FunctionProto, GraphProto, NodeProto

from ascend_fuse.error import ModelError
from ascend_fuse.graph.order import reads, sorted_nodes
from ascend_fuse.graph.proto import node_label, replace
from ascend_fuse.graph.schema import misuse, signature
from ascend_fuse.graph.tensor import fault
from ascend_fuse.graph.view import subgraphs

AGAIN = "export the model again"
Scope = GraphProto | FunctionProto


class Flow:
    """Checks scopes and sorts the nodes of those that are not in order (in place)."""

    def __init__(self, opset: int) -> None:
        self._opset = opset
        self._in_function = False
        self._sorted: dict[str, None] = {}

    def notes(self) -> tuple[str, ...]:
        """Whether nodes have been sorted, and where."""
        places = [place for place in self._sorted if place][:3]
        told = f" ({', '.join(places)})" if places else ""
        return (f"nodes were not in topological order and have been sorted{told}",) if self._sorted else ()

    def graph(self, graph: GraphProto) -> None:
        """Check the main graph. Raises ModelError."""
        self._scope(graph, [], "")

    def function(self, function: FunctionProto, opset: int, label: str) -> None:
        """Check a function, which sees nothing of the graph. Raises ModelError."""
        outer, self._opset, self._in_function = self._opset, opset, True
        self._scope(function, [], label)
        self._opset, self._in_function = outer, False

    def _scope(self, scope: Scope, around: list[set[str]], inside: str) -> None:
        """`around`: what is made so far in each graph around; `inside` says where the scope is."""
        given = _given(scope, inside)
        own = _made_by_nodes(scope.node, given, inside)
        made = set(given)
        if not self._walk(scope.node, made, own, around, inside):
            replace(scope.node, sorted_nodes(scope.node))
            self._sorted[inside] = None
            made = set(given)
            self._walk(scope.node, made, own, around, inside)
        outputs = scope.output if isinstance(scope, FunctionProto) else [v.name for v in scope.output]
        for name in outputs:
            if not name:
                raise ModelError("an output has no name", where=_at("the graph", inside), do=AGAIN)
            if name not in made and not any(name in m for m in around):
                raise ModelError(f"nothing makes output {name}", where=inside or "graph output", do=AGAIN)

    def _walk(
        self, nodes: Sequence[NodeProto], made: set[str], own: set[str], around: list[set[str]], inside: str
    ) -> bool:
        """Check the nodes in order; False as soon as one stands before what it reads. `made` grows."""
        for node in nodes:
            inputs = list(node.input)
            nested = [] if not node.attribute else list(subgraphs(node))
            for name in reads(node) if nested else inputs:
                if name and name not in made and not any(name in m for m in around):
                    if name in own:
                        return False
                    raise ModelError(f"reads {name}, which nothing makes", where=_where(node, inside), do=AGAIN)
            self._operator(node, inputs, inside)
            for attribute, inner in nested:
                self._scope(inner, [*around, made], _at(f"{attribute} of {_where(node, '')}", inside))
            if around:
                _check_hidden(node, around, inside)
            made.update(node.output)
        return True

    def _operator(self, node: NodeProto, inputs: list[str], inside: str) -> None:
        if not node.op_type:
            raise ModelError("the node names no operator", where=_where(node, inside), do=AGAIN)
        if node.domain in ("", "ai.onnx"):
            known = signature(node.op_type, self._opset)
            wrong = misuse(node, inputs, known, self._in_function) if known is not None else ""
            if wrong:
                raise ModelError(wrong, where=_where(node, inside), do=AGAIN)


def _where(node: NodeProto, inside: str) -> str:
    return _at(f"node {node_label(node)}", inside)


def _at(what: str, inside: str) -> str:
    return f"{what} in {inside}" if inside else what


def _given(scope: Scope, inside: str) -> set[str]:
    """What the scope has before its first node. Raises ModelError for inputs without a name or given twice."""
    made: set[str] = set()
    where = inside or "graph input"
    for name in scope.input if isinstance(scope, FunctionProto) else [v.name for v in scope.input]:
        if not name:
            raise ModelError("an input has no name", where=where, do=AGAIN)
        if name in made:
            raise ModelError(f"input {name} is given twice", where=where, do=AGAIN)
        made.add(name)
    if isinstance(scope, GraphProto):
        for t in scope.initializer:
            wrong = fault(t) if t.name else ""
            if wrong:
                raise ModelError(f"initializer {t.name} {wrong}", where=inside or "initializer", do=AGAIN)
            made.add(t.name)
        made.update(t.values.name for t in scope.sparse_initializer)
    made.discard("")
    return made


def _made_by_nodes(nodes: Sequence[NodeProto], given: set[str], inside: str) -> set[str]:
    own: set[str] = set()
    for node in nodes:
        for name in node.output:
            if name and (name in own or name in given):
                raise ModelError(f"value {name} is made twice", where=_where(node, inside), do=AGAIN)
            own.add(name)
    return own


def _check_hidden(node: NodeProto, around: list[set[str]], inside: str) -> None:
    hidden = next((o for o in node.output if o and any(o in m for m in around)), "")
    if hidden:
        what = f"value {hidden} shadows one of that name in a graph around it"
        raise ModelError(what, where=_where(node, inside), do="rename it, or export the model again")
