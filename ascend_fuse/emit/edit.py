"""Applying a plan: the one edit of the model. What no region holds comes out as it went in."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, helper

from ascend_fuse.emit.body import DOMAIN, VERSION, Body, attributes_of, make_body
from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.name import Names
from ascend_fuse.graph.order import sorted_nodes
from ascend_fuse.graph.proto import replace
from ascend_fuse.graph.scope import Scope
from ascend_fuse.graph.type import ONNX_OF_DTYPE, TensorType
from ascend_fuse.graph.view import View, captures, subgraphs
from ascend_fuse.planning import Chosen

SOURCE_KEY = "ascend_fuse.source"
OPTIONS_KEY = "ascend_fuse.options"
REDIRECT_KEY = "ascend_fuse.redirected"


@dataclass(frozen=True, slots=True)
class Fused:
    """A fused node and its body."""

    node: NodeProto
    body: Body
    chosen: Chosen


def fuse(view: View, chosen: Chosen, soc: str, name: str, ir_version: int) -> Fused:
    """The node of one region."""
    nodes = [view.nodes[k] for k in chosen.nodes]
    family = chosen.built.program.family
    body = make_body(view, nodes, chosen.built.inputs, chosen.built.outputs, family)
    values = {
        "program": chosen.part[0], "rules": ",".join(chosen.rules), "soc": soc, "fuse_enable": 1,
        **asdict(chosen.tiling), "source": body.source if ir_version < 10 else "",
    }  # fmt: skip
    ins, outs = list(chosen.built.inputs), list(chosen.built.outputs)
    node = helper.make_node(body.function.name, ins, outs, name, domain=DOMAIN)
    node.attribute.extend(helper.make_attribute(k, values[k]) for k in attributes_of(family))
    if ir_version >= 10:
        entry = node.metadata_props.add()
        entry.key, entry.value = SOURCE_KEY, body.source
    return Fused(node, body, chosen)


class Editor:
    """Replaces regions by fused nodes, scope by scope (inner ones first), in one model that is edited in place."""

    def __init__(self, model: ModelProto, soc: str) -> None:
        self.model = model
        self.soc = soc
        self.names = Names.of(model)
        self.fused: list[Fused] = []

    def apply(self, scope: Scope, view: View, chosen: Sequence[Chosen], doubted: Container[str]) -> list[Fused]:
        """Edit the graph that `view` indexes; returns its fused nodes in list order.

        Of `doubted` values no size is told.
        """
        graph = scope.graph
        if not chosen:
            return []
        fused: list[Fused] = []
        for c in chosen:
            made = fuse(view, c, self.soc, "", self.model.ir_version)
            made.node.name = self.names.fresh(f"{c.rules[0]}_{made.node.op_type}")
            fused.append(made)
        gone = {k for c in chosen for k in c.nodes}
        # as early as what it reads allows: then what reads it need not move, and `inline` finds all in their order
        at = {c.nodes[0]: f.node for c, f in zip(chosen, fused, strict=True)}
        kept: list[NodeProto] = []
        for n in view.nodes:
            if n.index in at:
                kept.append(at[n.index])
            elif n.index not in gone:
                kept.append(n.proto)
        replace(graph.node, sorted_nodes(_without_dead_constants(kept, view, gone)))
        _describe(graph, view, fused, doubted)
        if isinstance(scope.outermost.graph, FunctionProto):
            _import(scope.outermost.graph)
        self.fused += fused
        return fused

    def finish(self, options: Mapping[str, object]) -> None:
        """The bodies, in front of the functions that call them, our import, and what decided the result."""
        if not self.fused:
            return
        functions = {f.body.function.name: f.body.function for f in self.fused}
        own = [f for f in self.model.functions if f.domain != DOMAIN]
        replace(self.model.functions, [*functions.values(), *own] if own else list(functions.values()))
        _import(self.model)
        _set_metadata(self.model, OPTIONS_KEY, options)


def _without_dead_constants(nodes: Sequence[NodeProto], view: View, gone: set[int]) -> list[NodeProto]:
    """Constant nodes that only regions read are in their bodies now."""
    read = {i for n in nodes for i in n.input} | set(view.outputs)
    read |= {c for n in nodes for _, g in subgraphs(n) for c in captures(g)}
    freed = {i for k in gone for i in view.nodes[k].inputs}
    return [n for n in nodes if n.op_type != "Constant" or n.output[0] in read or n.output[0] not in freed]


def _describe(graph: GraphProto | FunctionProto, view: View, fused: Iterable[Fused], doubted: Container[str]) -> None:
    """value_info of what fused nodes make; that of values which exist no more goes."""
    inner = {o for f in fused for k in f.chosen.nodes for o in view.nodes[k].outputs if o}
    made = {o for f in fused for o in f.node.output}
    kept = [v for v in graph.value_info if v.name not in inner or v.name in made]
    if isinstance(graph, GraphProto):  # a function's body serves calls of many shapes
        have = {v.name for v in kept} | {v.name for v in graph.output}
        new = [o for f in fused for o in f.node.output if o not in have]
        kept += [_value_info(o, view.type_of(o), o not in doubted) for o in new]
    replace(graph.value_info, kept)


def _value_info(name: str, kind: TensorType, sure: bool) -> ValueInfoProto:
    """Sizes that are numbers or names that the model declares, and only `sure` ones: the runtime allocates by them."""
    shape = None
    if kind.shape is not None:
        shape = [_told(d) if sure else None for d in kind.shape]
    return helper.make_tensor_value_info(name, ONNX_OF_DTYPE[kind.dtype], shape)


def _told(d: Dim) -> int | str | None:
    if isinstance(d, int):
        return d
    return str(d) if str(d) in d.symbols and not str(d).startswith("?") else None


def _import(graph: ModelProto | FunctionProto) -> None:
    if all(o.domain != DOMAIN for o in graph.opset_import):
        graph.opset_import.append(helper.make_opsetid(DOMAIN, VERSION))


def describe_redirects(model: ModelProto, redirected: Mapping[str, str]) -> None:
    """Note for `inline` which Shape nodes (by their output) read another value in the original."""
    if redirected:
        _set_metadata(model, REDIRECT_KEY, redirected)


def _set_metadata(model: ModelProto, key: str, value: Mapping[str, object]) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    for p in model.metadata_props:
        if p.key == key:
            p.value = text
            return
    entry = model.metadata_props.add()
    entry.key, entry.value = key, text
