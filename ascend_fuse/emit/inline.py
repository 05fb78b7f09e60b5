"""Giving the original graph back: fused nodes replaced by their bodies, with each node's own names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any, cast

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from ascend_fuse.emit.body import DOMAIN
from ascend_fuse.emit.edit import OPTIONS_KEY, REDIRECT_KEY, SOURCE_KEY
from ascend_fuse.error import ModelError
from ascend_fuse.graph.name import Names
from ascend_fuse.graph.order import sorted_nodes
from ascend_fuse.graph.proto import copied, replace
from ascend_fuse.graph.scope import Scope, scopes


def is_fused(model: ModelProto) -> bool:
    """Whether the model has fused nodes, in any scope."""
    return any(o.domain == DOMAIN for o in model.opset_import) and count_fused(model) > 0


def count_fused(model: ModelProto) -> int:
    """How many fused nodes the model has, in all scopes."""
    return sum(n.domain == DOMAIN for s in scopes(model) for n in s.graph.node)


def recorded(model: ModelProto) -> Mapping[str, object]:
    """The options that the model was fused with, as its metadata have them; empty without any."""
    text = next((p.value for p in model.metadata_props if p.key == OPTIONS_KEY), "{}")
    try:
        options = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return cast("dict[str, object]", options) if isinstance(options, dict) else {}


def _source(node: NodeProto, count: int) -> list[list[Any]]:
    """The body's provenance; entries without names when the node carries none that fits."""
    text = next((p.value for p in node.metadata_props if p.key == SOURCE_KEY), "")
    if not text:
        text = next((a.s.decode() for a in node.attribute if a.name == "source"), "")
    try:
        entries = cast(list[list[Any]], json.loads(text)) if text else []
    except json.JSONDecodeError:
        entries = []
    return entries if len(entries) == count else [[-1, "", []] for _ in range(count)]


class _Inliner:
    """Expands the fused nodes of one scope; `outside`: names that the graphs around it make."""

    def __init__(self, functions: Mapping[str, FunctionProto], names: Names, scope: Scope, outside: Set[str]) -> None:
        self.functions = functions
        self.names = names
        self.made = made_in(scope.graph) | outside
        self.constants: dict[str, bytes] = {}
        self.positions: dict[str, int] = {}  # first output → place in the original list

    def expand(self, node: NodeProto) -> list[NodeProto]:
        """The nodes behind one fused node. Raises ModelError when its function is missing or does not fit."""
        function = self.functions.get(node.op_type)
        if function is None or len(function.input) < len(node.input) or len(function.output) < len(node.output):
            raise ModelError(
                "the fused node has no body that fits",
                where=f"node {node.name}",
                do="fuse the original again",
            )
        values = dict(zip(function.input, node.input, strict=False)) | dict(
            zip(function.output, node.output, strict=False)
        )
        out: list[NodeProto] = []
        for inner, entry in zip(function.node, _source(node, len(function.node)), strict=True):
            made = self._node(inner, entry, values, node.name)
            if made is not None:
                out.append(made)
        return out

    def _node(self, inner: NodeProto, entry: Sequence[Any], values: dict[str, str], owner: str) -> NodeProto | None:
        position, name, outputs, *more = entry
        wanted = [str(o) for o in outputs] or [""] * len(inner.output)
        node = copied(inner)
        if inner.op_type == "Constant":
            known = self._known_constant(inner, wanted[0])
            if known:
                values[inner.output[0]] = known
                return None
        for own, want in zip(inner.output, wanted, strict=True):
            if own and own not in values:
                free = want and want not in self.made
                values[own] = want if free else self.names.fresh(want or f"{owner}/{own}")
                self.made.add(values[own])
        if inner.op_type == "Constant":
            self.constants[values[inner.output[0]]] = _value(inner)
        if name:
            node.name = str(name)
        if more and more[0]:
            node.doc_string = str(more[0])
        for key, value in more[1:]:
            node.metadata_props.add(key=str(key), value=str(value))
        replace_names(node, values)
        self.positions[next((o for o in node.output if o), "")] = int(position)
        return node

    def _known_constant(self, inner: NodeProto, name: str) -> str:
        """The name under which the constant is still in the graph, or came back with an earlier body."""
        if name and name in self.made and self.constants.get(name, _value(inner)) == _value(inner):
            return name
        return ""


def _value(node: NodeProto) -> bytes:
    return next((a.t.SerializeToString(deterministic=True) for a in node.attribute if a.name == "value"), b"")


def replace_names(node: NodeProto, values: dict[str, str]) -> None:
    """Rename a node's operands and results."""
    ins = [values.get(i, i) if i else "" for i in node.input]
    outs = [values.get(o, o) if o else "" for o in node.output]
    del node.input[:], node.output[:]
    node.input.extend(ins)
    node.output.extend(outs)


def made_in(graph: GraphProto | FunctionProto) -> set[str]:
    """The names of values that the graph itself has."""
    found = {o for n in graph.node for o in n.output if o}
    if isinstance(graph, FunctionProto):
        return found.union(graph.input)
    return found.union((t.name for t in graph.initializer), (v.name for v in graph.input))


def inline_model(model: ModelProto) -> None:
    """Replace every fused node of the model (edited in place) by its body; our functions, import and metadata go."""
    functions = {f.name: f for f in model.functions if f.domain == DOMAIN}
    names = Names.of(model)
    depth = 0
    while scoped := [
        s for s in scopes(model) if s.depth == depth
    ]:  # outer ones first: inner bodies read their constants
        for scope in scoped:  # listed anew for each depth, as an edit copies what it holds
            if any(n.domain == DOMAIN for n in scope.graph.node):
                _inline_scope(scope, functions, names)
        depth += 1
    _read_old_shapes(model)
    kept: list[FunctionProto] = [f for f in model.functions if f.domain != DOMAIN]
    replace(model.functions, kept)
    for holder in (model, *model.functions):
        replace(holder.opset_import, [o for o in holder.opset_import if o.domain != DOMAIN])
    replace(model.metadata_props, [p for p in model.metadata_props if p.key not in (OPTIONS_KEY, REDIRECT_KEY)])


def _inline_scope(scope: Scope, functions: Mapping[str, FunctionProto], names: Names) -> None:
    outside, around = set[str](), scope.around
    while around is not None:
        outside |= made_in(around.graph)
        around = around.around
    inliner = _Inliner(functions, names, scope, outside)
    nodes: list[NodeProto] = []
    for node in scope.graph.node:
        nodes += inliner.expand(node) if node.domain == DOMAIN else [node]
    replace(scope.graph.node, sorted_nodes(_placed(nodes, inliner.positions)))


def _placed(nodes: Sequence[NodeProto], positions: Mapping[str, int]) -> list[NodeProto]:
    """The nodes in their original order: those from bodies at their positions, the others in between as they stand."""
    at: dict[int, NodeProto] = {}
    rest: list[NodeProto] = []
    for node in nodes:
        position = positions.get(next((o for o in node.output if o), ""), -1)
        if 0 <= position < len(nodes) and position not in at:
            at[position] = node
        else:
            rest.append(node)
    others = iter(rest)
    return [at[k] if k in at else next(others) for k in range(len(nodes))]


def _read_old_shapes(model: ModelProto) -> None:
    """Undo AF001: the values that Shape nodes read in the original are there again."""
    text = next((p.value for p in model.metadata_props if p.key == REDIRECT_KEY), "{}")
    try:
        old = cast(dict[str, str], json.loads(text))
    except json.JSONDecodeError:
        return
    made = {o for n in model.graph.node for o in n.output}
    found = [n for n in model.graph.node if n.op_type == "Shape" and n.output and old.get(n.output[0]) in made]
    for node in found:
        node.input[0] = old[node.output[0]]
    if found:
        replace(model.graph.node, sorted_nodes(model.graph.node))
