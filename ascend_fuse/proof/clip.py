"""Clips of half types in a body that runs in float32: an absent bound stays that of the half type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from ascend_fuse.program.bound import LARGEST

HALVES: Mapping[int, str] = {TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16"}
BY_INPUT = 11  # from this opset on bounds are operands
BOUNDS = (("min", -1), ("max", 1))


def bounded(nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], opset: int) -> list[NodeProto]:
    """The nodes of a body (before they are made to run in float32) with both bounds in each Clip of a half type."""
    if not any(n.op_type == "Clip" for n in nodes):
        return list(nodes)
    graph = helper.make_graph(nodes, "body", inputs, [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    kinds = _kinds(model)
    found: list[NodeProto] = []
    for node in nodes:
        dtype = HALVES.get(kinds.get(node.input[0], 0)) if node.op_type == "Clip" else None
        found += [node] if dtype is None else _with_bounds(node, LARGEST[dtype], opset)
    return found


def _kinds(model: ModelProto) -> dict[str, int]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    return {v.name: v.type.tensor_type.elem_type for v in (*graph.input, *graph.value_info)}


def _with_bounds(clip: NodeProto, largest: float, opset: int) -> list[NodeProto]:
    """The Clip, and in front of it the numbers that it lacks."""
    out = NodeProto()
    out.CopyFrom(clip)
    if opset < BY_INPUT:
        given = {a.name for a in clip.attribute}
        out.attribute.extend(helper.make_attribute(n, sign * largest) for n, sign in BOUNDS if n not in given)
        return [out]
    made: list[NodeProto] = []
    out.input.extend([""] * (1 + len(BOUNDS) - len(out.input)))
    for k, (name, sign) in enumerate(BOUNDS, start=1):
        if not out.input[k]:
            out.input[k] = f"{clip.output[0]}/{name}"
            made.append(helper.make_node("Constant", [], [out.input[k]], value_float=sign * largest))
    return [*made, out]
