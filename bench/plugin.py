"""What a fused node costs through the plugin beside a built-in operator, kernel aside, and how long sessions take.

    python -m bench.plugin

Both models are chains of `--nodes` nodes on (1, 16) in one process: built-in ones are Relu, fused ones scale and clamp.
They run in turn; figures are the first decile of `--repeats` short batches, since what else the machine does only adds
time. The plugin is built on an emulator that runs nothing (bench/hollow): an emulated kernel, tens of thousands of
instructions, would leave ONNX Runtime and the plugin with cold caches. So do long chains: 100 nodes are a GPT-2 of 12
layers. Sessions are timed with 400.

With `--acl` the fused nodes are on the `acl` backend of the installed plugin and a libascendcl whose calls do nothing
(bench/acl_nothing.cpp): the host's side of a node, without what the calls themselves take on a device.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, parser

from ascend_fuse import runtime
from ascend_fuse.runtime.provider import REGISTRATION

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


def batch_us(session: onnxruntime.InferenceSession, nodes: int) -> float:
    """µs a node of a batch of runs."""
    feeds = {"v0": np.ones((1, 16), np.float32)}
    session.run(None, feeds)
    start = time.perf_counter()
    for _ in range(BATCH):
        session.run(None, feeds)
    return (time.perf_counter() - start) * 1e6 / nodes / BATCH


def opened(model: bytes, **options: str) -> tuple[onnxruntime.InferenceSession, float]:
    """A session with our provider whose graph is left as it is, and the seconds that it took."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    start = time.perf_counter()
    session = runtime.session(model, session_options=settings, **options)
    return session, time.perf_counter() - start


def pair(nodes: int, **options: str) -> tuple[onnxruntime.InferenceSession, onnxruntime.InferenceSession]:
    """Sessions of the built-in chain and of the fused one."""
    plain, plain_s = opened(chain(nodes, "Relu"))
    fused, fused_s = opened(chain(nodes, "Fused_0", program=PROGRAM, soc="Ascend910B3"), **options)
    print(f"session of {nodes} nodes: {plain_s:.3f} s built-in, {fused_s:.3f} s fused")
    return plain, fused


def compare(nodes: int, repeats: int, **options: str) -> None:
    pair(400, **options)
    plain, fused = pair(nodes, **options)
    pairs = [(batch_us(plain, nodes), batch_us(fused, nodes)) for _ in range(repeats)]
    built_in, whole = (statistics.quantiles(times, n=10)[0] for times in zip(*pairs, strict=True))
    print(f"(1, 16): {built_in:.3f} us built-in, {whole:.3f} us fused: {whole / built_in:.2f} of a built-in node")


def on_hollow(nodes: int, repeats: int) -> None:
    source = Path(__file__).with_name("hollow")
    with tempfile.TemporaryDirectory() as folder:
        for command in (["cmake", "-S", source, "-B", folder], ["cmake", "--build", folder, "-j2"]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        onnxruntime.register_execution_provider_library(REGISTRATION, f"{folder}/libascend_fuse_hollow.so")
        compare(nodes, repeats)


def with_nothing(arguments: list[str]) -> None:
    """Runs this in a process that finds the libascendcl that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libascendcl.so"
        source = Path(__file__).with_name("acl_nothing.cpp")
        subprocess.run(["g++", "-std=c++17", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        command = [sys.executable, "-m", "bench.plugin", *arguments, "--kernels", folder]
        subprocess.run(command, check=True, env=os.environ | {"LD_LIBRARY_PATH": folder})


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=100)
    arguments.add_argument("--repeats", type=int, default=300)
    arguments.add_argument("--acl", action="store_true")
    arguments.add_argument("--kernels", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.acl and not chosen.kernels:
        return with_nothing(sys.argv[1:])
    print(f"onnxruntime {onnxruntime.__version__}")
    if chosen.acl:
        compare(chosen.nodes, chosen.repeats, backend="acl", kernels_dir=chosen.kernels)
    else:
        on_hollow(chosen.nodes, chosen.repeats)


if __name__ == "__main__":
    main()
