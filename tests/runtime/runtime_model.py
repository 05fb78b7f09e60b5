"""Small models with one fused node, written out by hand so that a test says what the node holds."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import parser

from ascend_fuse import runtime

PROVIDER = runtime.get_ep_name()
ADD_RELU = """elementwise 1 [d0, 16]
x0: f32[d0, 16] = in
x1: f32[16] = in
v0: f32[d0, 16] = add x0, x1
v1: f32[d0, 16] = relu v0
out v1"""
SOFTMAX = """rowwise 1 [d0 | d1]
x0: f32[d0 | d1] = in
v0: f32[d0 | 1] = reduce_max x0
v1: f32[d0 | d1] = sub x0, v0
v2: f32[d0 | d1] = exp v1
v3: f32[d0 | 1] = reduce_sum v2
v4: f32[d0 | d1] = div v2, v3
out v4"""
DROPOUT = """elementwise 1 [d0, 16]
x0: f32[d0, 16] = in
v0: bool[d0, 16] = random_keep {ratio=0.5}
v1: f32[d0, 16] = mul x0, 2.0
v2: f32[d0, 16] = where v0, v1, 0.0
out v2"""
HEADER = '<ir_version: 8, opset_import: ["" : 17, "ai.ascendfuse" : 1]>'
BODY = '<domain: "ai.ascendfuse", opset_import: ["" : 17]>'


def fused_model(
    program: str = ADD_RELU,
    graph: str = "(float[N,16] x, float[16] b) => (float[N,16] y)",
    inputs: str = "t, b",
    body: str = "(a, b) => (y) { c = Add(a, b) y = Relu(c) }",
    soc: str = "Ascend910B3",
) -> onnx.ModelProto:
    """y = -Fused(x * x, …): nodes of the CPU around the fused one, whose name is `fused`."""
    model = parser.parse_model(
        f"""{HEADER}
        g {graph} {{ t = Mul(x, x) z = ai.ascendfuse.Fused_0 <program = "", soc = "{soc}"> ({inputs}) y = Neg(z) }}
        {BODY} Fused_0 <program, soc> {body}"""
    )
    node = model.graph.node[1]
    node.name = "fused"
    node.attribute[0].s = program.encode()
    return model


def add_relu(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What `fused_model()` computes."""
    return -np.maximum(x * x + b, 0)


def arrays(rows: int = 5) -> dict[str, np.ndarray]:
    """Inputs of `fused_model()`."""
    rng = np.random.default_rng(rows)
    return {
        "x": rng.standard_normal((rows, 16)).astype(np.float32),
        "b": rng.standard_normal(16).astype(np.float32),
    }


def open_session(model: onnx.ModelProto, **options: object):
    """A session that records which provider has which node."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return runtime.session(model, session_options=settings, **options)


def claimed(session) -> list[str]:
    """Operators that our provider has."""
    return [
        n.op_type
        for part in session.get_provider_graph_assignment_info()
        if part.ep_name == PROVIDER
        for n in part.get_nodes()
    ]
