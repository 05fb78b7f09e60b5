"""Errors of fused nodes that lie inside: in the bodies of If, Loop and Scan, and in functions of the model.

What such a node is given nobody sees, so the bound of its program is not known there. Its values are moved by as much
as eight last places for each of its instructions, up or down, as vector libraries differ (`program/noise.py`).
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, NodeProto, helper, numpy_helper

from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.view import subgraphs
from ascend_fuse.program.bound import UNITS
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.program import Program
from ascend_fuse.program.text import parse_program
from ascend_fuse.verify.exposed import program_of

PLACES = 8.0


def shake_inside(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Moves the floats that fused nodes make below the main graph, in place."""
    for node in model.graph.node:
        _shake_bodies(node, rng)
    for function in model.functions:
        if function.domain != FUSED_DOMAIN:
            _shake(function, rng)


def _shake_bodies(node: NodeProto, rng: np.random.Generator) -> None:
    for _, graph in subgraphs(node):
        _shake(graph, rng)


def _shake(graph: GraphProto | FunctionProto, rng: np.random.Generator) -> None:
    nodes: list[NodeProto] = []
    for node in graph.node:
        _shake_bodies(node, rng)
        nodes += [node, *(_moved(node, rng) if node.domain == FUSED_DOMAIN else ())]
    kept = [NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def _moved(fused: NodeProto, rng: np.random.Generator) -> list[NodeProto]:
    """What moves the node's outputs, which get other names."""
    program = parse_program(program_of(fused))
    added: list[NodeProto] = []
    for k, (name, output) in enumerate(zip(fused.output, program.outputs, strict=True)):
        dtype = _dtype(program, output.name)
        if not name or dtype not in UNITS:
            continue
        share = PLACES * UNITS[dtype] * max(len(program.instrs), 1)
        factor = np.asarray(1 + share * rng.choice((-1.0, 1.0)), dtype_of(dtype))
        fused.output[k], by = f"{name}/of kernel", f"{name}/noise"
        added.append(helper.make_node("Constant", [], [by], value=numpy_helper.from_array(factor)))
        added.append(helper.make_node("Mul", [fused.output[k], by], [name]))
    return added


def _dtype(program: Program, name: str) -> str:
    return next(line.type.dtype for line in (*program.inputs, *program.instrs) if line.name == name)
