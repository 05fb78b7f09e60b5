"""Models for the acl backend: fused nodes one behind the other, and what they compute."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import parser

from tests.runtime.runtime_model import ADD_RELU, BODY, HEADER

FUSED = 'ai.ascendfuse.Fused_0 <program = "", soc = "Ascend910B3">'


def chain(nodes: int, between: str = "", program: str = ADD_RELU) -> onnx.ModelProto:
    """y = relu(… relu(x + b) + b …); `between`: an operator of the CPU behind each of them but the last."""
    lines, last = [], "x"
    for i in range(nodes):
        lines.append(f"v{i} = {FUSED} ({last}, b)")
        last = f"v{i}"
        if between and i + 1 < nodes:
            lines.append(f"c{i} = {between}({last})")
            last = f"c{i}"
    graph = "(float[N,16] x, float[16] b) => (float[N,16] y)"
    model = parser.parse_model(
        f"""{HEADER} g {graph} {{ {" ".join(lines)} y = Identity({last}) }}
        {BODY} Fused_0 <program, soc> (a, b) => (y) {{ c = Add(a, b) y = Relu(c) }}"""
    )
    for i, node in enumerate(n for n in model.graph.node if n.domain):
        node.name = f"f{i}"
        node.attribute[0].s = program.encode()
    return model


def chained(nodes: int, x: np.ndarray, b: np.ndarray, between: str = "") -> np.ndarray:
    """What `chain(nodes, between)` computes, for Neg."""
    for i in range(nodes):
        x = np.maximum(x + b, 0)
        if between and i + 1 < nodes:
            x = -x
    return x
