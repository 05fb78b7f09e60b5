"""Models for the verification tests: small ones on disk, and copies with nodes moved into function bodies."""

from collections.abc import Callable, Sequence
from pathlib import Path

import onnx
from onnx import helper

Nodes = Sequence[onnx.NodeProto]
Save = Callable[..., Path]

DOMAIN = "ai.ascendfuse"


def make_model(
    nodes: Nodes,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", opset)]
    if functions:
        opsets.append(helper.make_opsetid(DOMAIN, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)


def fuse(model: onnx.ModelProto, groups: Sequence[Sequence[int]]) -> onnx.ModelProto:
    """A copy in which each group of node positions is one node with a function body, shared if equal."""
    fused = onnx.ModelProto()
    fused.CopyFrom(model)
    nodes = list(model.graph.node)
    read_later = {value.name for value in model.graph.output}
    for node in nodes:
        read_later.update(node.input)
    calls: dict[int, onnx.NodeProto] = {}
    bodies: dict[bytes, onnx.FunctionProto] = {}
    for group in groups:
        call, body = _call(model, [nodes[k] for k in group], read_later)
        name = f"FusedElementwise_{len(bodies)}"
        key = body.SerializeToString(deterministic=True)
        call.op_type = bodies[key].name if key in bodies else name
        if key not in bodies:
            bodies[key] = onnx.FunctionProto.FromString(key)
            bodies[key].name = name
        calls[max(group)] = call
    inside = {k for group in groups for k in group}
    del fused.graph.node[:]
    for k, node in enumerate(nodes):
        if k in calls:
            fused.graph.node.append(calls[k])
        elif k not in inside:
            fused.graph.node.append(node)
    fused.functions.extend(bodies.values())
    fused.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    fused.ir_version = max(fused.ir_version, 8)
    return fused


def _call(model: onnx.ModelProto, group: Nodes, read_later: set[str]) -> tuple[onnx.NodeProto, onnx.FunctionProto]:
    made = [name for node in group for name in node.output]
    inputs = list(dict.fromkeys(name for node in group for name in node.input if name and name not in made))
    inner_uses = [name for node in group for name in node.input]
    uses = {value.name for value in model.graph.output}
    uses.update(name for node in model.graph.node if node not in group for name in node.input)
    outputs = [name for name in made if name in read_later and (name in uses or name not in inner_uses)]
    # Values are renamed, so that equal bodies of different nodes are equal.
    names = {name: f"i{k}" for k, name in enumerate(inputs)} | {name: f"v{k}" for k, name in enumerate(made)}
    body_nodes: list[onnx.NodeProto] = []
    for node in group:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = ""
        for field in (copy.input, copy.output):
            field[:] = [names.get(name, name) for name in field]
        body_nodes.append(copy)
    opsets = [entry for entry in model.opset_import if entry.domain == ""]
    body = helper.make_function(
        DOMAIN,
        "body",
        [names[name] for name in inputs],
        [names[name] for name in outputs],
        body_nodes,
        opsets,
    )
    return helper.make_node("body", inputs, outputs, domain=DOMAIN), body
