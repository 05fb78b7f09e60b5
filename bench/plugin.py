"""What a fused node costs through the plugin beside a built-in operator, kernel time aside, and how long sessions take.

    python -m bench.plugin

Both models are chains of `--nodes` nodes on (1, 16) in one process: built-in ones are Relu, fused ones scale and clamp.
They run in turn; figures are the first decile of `--repeats` short batches, since what else the machine does only adds
time. An emulated kernel runs tens of thousands of instructions, and ONNX Runtime and the plugin find their caches cold
behind it; so the same is measured without rows too, where no kernel runs.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, parser

from ascend_fuse import runtime

BATCH = 3  # runs: so short that some batches are disturbed by nothing
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


def batch_us(session: onnxruntime.InferenceSession, nodes: int, rows: int) -> tuple[float, float]:
    """µs a node of a batch of runs: the whole, and what of it is not the run of a kernel."""
    feeds = {"v0": np.ones((rows, 16), np.float32)}
    session.run(None, feeds)
    runtime.reset_counters()
    start = time.perf_counter()
    for _ in range(BATCH):
        session.run(None, feeds)
    whole = (time.perf_counter() - start) * 1e6
    aside = whole - runtime.counters().total.kernel_us
    return whole / nodes / BATCH, aside / nodes / BATCH


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
    arguments.add_argument("--repeats", type=int, default=100)
    chosen = arguments.parse_args()
    runtime.register()
    fused, fused_s = opened(chain(chosen.nodes, "Fused_0", program=PROGRAM, soc="Ascend910B3"))
    plain, plain_s = opened(chain(chosen.nodes, "Relu"))
    print(f"onnxruntime {onnxruntime.__version__}, {chosen.nodes} nodes")
    print(f"session: {fused_s:.3f} s fused, {plain_s:.3f} s built-in")
    for rows in (1, 0):
        pairs = [
            (batch_us(plain, chosen.nodes, rows)[0], *batch_us(fused, chosen.nodes, rows))
            for _ in range(chosen.repeats)
        ]
        built_in, whole, aside = (statistics.quantiles(times, n=10)[0] for times in zip(*pairs, strict=True))
        print(
            f"({rows}, 16): {built_in:.2f} us built-in; {whole:.2f} us fused, {aside:.2f} us without the kernel; "
            f"overhead {aside / built_in:.2f} of a built-in node"
        )


if __name__ == "__main__":
    main()
