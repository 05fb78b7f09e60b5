"""What a fused node costs through the plugin beside a built-in operator, kernel time aside, and how long sessions take.

    python -m bench.plugin

Both models are chains of `--nodes` nodes on (1, 16) in one process: built-in ones are Relu, fused ones scale and clamp.
They run in turn; figures are the first decile of `--repeats` short batches, since what else the machine does only adds
time. An emulated kernel runs tens of thousands of instructions, and ONNX Runtime and the plugin find their caches cold
behind it; so the same is measured without rows too, where no kernel runs.

With `--hollow` the plugin is built on an emulator that runs nothing (bench/hollow): what a node costs but its kernel.

With `--acl` the fused nodes are on the `acl` backend and a libascendcl whose calls do nothing (bench/acl_nothing.cpp):
the host's side of a node, without what the calls themselves take on a device.
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


def opened(model: bytes, **options: str) -> tuple[onnxruntime.InferenceSession, float]:
    """A session with our provider whose graph is left as it is, and the seconds that it took."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    start = time.perf_counter()
    session = runtime.session(model, session_options=settings, **options)
    return session, time.perf_counter() - start


def deciles(pairs: list[tuple[float, ...]]) -> list[float]:
    """The first decile of each column."""
    return [statistics.quantiles(times, n=10)[0] for times in zip(*pairs, strict=True)]


def on_emulator(nodes: int, repeats: int) -> None:
    fused, fused_s = opened(chain(nodes, "Fused_0", program=PROGRAM, soc="Ascend910B3"))
    plain, plain_s = opened(chain(nodes, "Relu"))
    print(f"session: {fused_s:.3f} s fused, {plain_s:.3f} s built-in")
    for rows in (1, 0):
        pairs = [(batch_us(plain, nodes, rows)[0], *batch_us(fused, nodes, rows)) for _ in range(repeats)]
        built_in, whole, aside = deciles(pairs)
        print(
            f"({rows}, 16): {built_in:.2f} us built-in; {whole:.2f} us fused, {aside:.2f} us without the kernel; "
            f"overhead {aside / built_in:.2f} of a built-in node"
        )


def on_hollow(nodes: int, repeats: int) -> None:
    source = Path(__file__).with_name("hollow")
    with tempfile.TemporaryDirectory() as folder:
        for command in (["cmake", "-S", source, "-B", folder], ["cmake", "--build", folder]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        onnxruntime.register_execution_provider_library(REGISTRATION, f"{folder}/libascend_fuse_hollow.so")
        fused, _ = opened(chain(nodes, "Fused_0", program=PROGRAM, soc="Ascend910B3"))
        plain, _ = opened(chain(nodes, "Relu"))
        pairs = [(batch_us(plain, nodes, 1)[0], batch_us(fused, nodes, 1)[0]) for _ in range(repeats)]
    built_in, whole = deciles(pairs)
    print(
        f"(1, 16): {built_in:.2f} us built-in; {whole:.2f} us fused; overhead {whole / built_in:.2f} of a built-in node"
    )


def on_acl(nodes: int, repeats: int, kernels: str) -> None:
    plain, _ = opened(chain(nodes, "Relu"))
    options = {"backend": "acl", "kernels_dir": kernels}
    fused, _ = opened(chain(nodes, "Fused_0", program=PROGRAM, soc="Ascend910B3"), **options)
    pairs = [(batch_us(plain, nodes, 1)[0], batch_us(fused, nodes, 1)[0]) for _ in range(repeats)]
    built_in, whole = deciles(pairs)
    print(
        f"(1, 16): {built_in:.2f} us built-in; {whole:.2f} us fused on acl; {whole / built_in:.2f} of a built-in node"
    )


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
    arguments.add_argument("--nodes", type=int, default=400)
    arguments.add_argument("--repeats", type=int, default=100)
    arguments.add_argument("--acl", action="store_true")
    arguments.add_argument("--hollow", action="store_true")
    arguments.add_argument("--kernels", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.acl and not chosen.kernels:
        return with_nothing(sys.argv[1:])
    print(f"onnxruntime {onnxruntime.__version__}, {chosen.nodes} nodes")
    if chosen.hollow:
        on_hollow(chosen.nodes, chosen.repeats)
    elif chosen.acl:
        on_acl(chosen.nodes, chosen.repeats, chosen.kernels)
    else:
        on_emulator(chosen.nodes, chosen.repeats)


if __name__ == "__main__":
    main()
