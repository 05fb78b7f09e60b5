"""What a fused node costs through the plugin beside a built-in operator, kernel time aside, and how long sessions take.

    python -m bench.plugin

Both models are chains of `--nodes` nodes on (1, 16) in one process: built-in ones are Relu, fused ones add and clamp.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, parser

from ascend_fuse import runtime

BATCH = 20
PROGRAM = """elementwise 1 [d0, 16]
x0: f32[d0, 16] = in
v0: f32[d0, 16] = mul x0, 0.5
v1: f32[d0, 16] = relu v0
out v1"""


def chain(nodes: int, op_type: str, **attributes: str) -> bytes:
    """A model of equal nodes, one behind the other."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "ai.ascendfuse" : 1]>
        g (float[N,16] v0) => (float[N,16] y) { y = Relu(v0) }
        <domain: "ai.ascendfuse", opset_import: ["" : 17]> Fused_0 <program, soc> (a) => (y)
        { h = Constant <value_float = 0.5> () m = Mul(a, h) y = Relu(m) }"""
    )
    domain = "ai.ascendfuse" if attributes else ""
    made = [
        helper.make_node(op_type, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}", domain=domain, **attributes)
        for i in range(nodes)
    ]
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.extend(made)
    model.graph.output.append(helper.make_tensor_value_info(f"v{nodes}", TensorProto.FLOAT, ["N", 16]))
    return model.SerializeToString()


def node_us(session: onnxruntime.InferenceSession, nodes: int, repeats: int) -> tuple[float, float]:
    """µs a node, of the best of `repeats` batches of runs: the whole, and what of it is not the run of a kernel."""
    feeds = {"v0": np.ones((1, 16), np.float32)}
    session.run(None, feeds)
    batches: list[tuple[float, float]] = []
    for _ in range(repeats):
        runtime.reset_counters()
        start = time.perf_counter()
        for _ in range(BATCH):
            session.run(None, feeds)
        whole = (time.perf_counter() - start) * 1e6
        aside = whole - runtime.counters().total.kernel_us
        batches.append((aside / nodes / BATCH, whole / nodes / BATCH))
    aside, whole = min(batches)
    return whole, aside


def opened(model: bytes) -> tuple[onnxruntime.InferenceSession, float]:
    """A session with our provider whose graph is left as it is, and the seconds that it took."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    start = time.perf_counter()
    session = runtime.session(model, session_options=settings)
    return session, time.perf_counter() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=400)
    arguments.add_argument("--repeats", type=int, default=30)
    chosen = arguments.parse_args()
    runtime.register()
    fused, fused_s = opened(chain(chosen.nodes, "Fused_0", program=PROGRAM, soc="Ascend910B3"))
    plain, plain_s = opened(chain(chosen.nodes, "Relu"))
    _, built_in = node_us(plain, chosen.nodes, chosen.repeats)
    whole, aside = node_us(fused, chosen.nodes, chosen.repeats)
    print(f"onnxruntime {onnxruntime.__version__}, {chosen.nodes} nodes on (1, 16)")
    print(f"session:  {fused_s:.3f} s fused, {plain_s:.3f} s built-in")
    print(f"node:     {built_in:.2f} us built-in; {whole:.2f} us fused, {aside:.2f} us without the kernel")
    print(f"overhead: {aside / built_in:.2f} of a built-in node")


if __name__ == "__main__":
    main()
