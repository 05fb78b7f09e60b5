"""What a process does on the acl backend, line by line on standard output: python -m tests.runtime.acl_scenario NAME DIR.

DIR is the folder of kernels. The tests run this apart from themselves, with a libascendcl that has no device.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import parser
from onnxruntime.capi import _pybind_state

from ascend_fuse import runtime
from ascend_fuse.runtime.provider import REGISTRATION
from tests.runtime.acl_model import FUSED, chain, chained
from tests.runtime.runtime_model import (
    ADD_RELU,
    BODY,
    DROPOUT,
    HEADER,
    add_relu,
    arrays,
    claimed,
    fused_model,
    open_session,
)  # fmt: skip

Array = np.ndarray


def bind_on_device(binding: Any, name: str) -> None:
    """As `bind_output` does with a device's name, which stands for a vendor in newer versions only."""
    device = _pybind_state.OrtDevice
    huawei = device(device.npu(), device.default_memory(), 0x19E5, 0)
    binding._iobinding.bind_output(name, huawei)


def opened(model: onnx.ModelProto, **options: Any) -> Any:
    return open_session(model, **{"backend": "acl", "kernels_dir": sys.argv[2]} | options)


def mark(line: str) -> None:
    """A line in the log of calls."""
    with open(os.environ["ACL_STAND_IN_LOG"], "a") as log:
        log.write(f"MARK {line}\n")


def same(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and np.array_equal(found, wanted)


def one() -> None:
    """A fused node between two of the CPU, at two sizes."""
    session = opened(fused_model())
    print("claimed", claimed(session))
    for rows in (5, 5, 3):
        feeds = arrays(rows)
        print("same", same(session.run(None, feeds)[0], add_relu(**feeds)))
    print("launches", runtime.counters().total.launches)


def row() -> None:
    """Eight fused nodes, nothing between them."""
    session = opened(chain(8))
    for _ in range(4):
        mark("run")
        print("same", same(session.run(None, arrays())[0], chained(8, **arrays())))
    mark("end")


def between() -> None:
    """Nodes of the CPU between fused ones."""
    session = opened(chain(4, "Neg"))
    for rows in (5, 7, 5):
        feeds = arrays(rows)
        print("same", same(session.run(None, feeds)[0], chained(4, **feeds, between="Neg")))


def sizes() -> None:
    """Many sizes, each twice: schedules come and go, and so do blocks."""
    session = opened(chain(3))
    for rows in [*range(1, 40), *range(1, 40)]:
        feeds = arrays(rows)
        if not same(session.run(None, feeds)[0], chained(3, **feeds)):
            print("wrong at", rows)
    mark("one size")
    for _ in range(70):
        session.run(None, arrays(2))
    mark("end")
    print("done")


def beside() -> None:
    """Two sessions, each called by two threads at once."""
    sessions = [opened(chain(3)), opened(chain(4, "Neg"))]

    def run(call: int) -> bool:
        feeds = arrays(3 + call % 5)
        if call % 2:
            return same(sessions[1].run(None, feeds)[0], chained(4, **feeds, between="Neg"))
        return same(sessions[0].run(None, feeds)[0], chained(3, **feeds))

    with ThreadPoolExecutor(4) as pool:
        print("same", all(pool.map(run, range(40))))


def draw() -> None:
    """Two nodes that draw: what a session on the emulator with that seed draws."""
    model = parser.parse_model(
        f"""{HEADER} g (float[N,16] x) => (float[N,16] y) {{ t = {FUSED} (x) u = {FUSED} (t) y = Identity(u) }}
        {BODY} Fused_0 <program, soc> (a) => (y) {{ y = Identity(a) }}"""
    )
    for i, node in enumerate(model.graph.node[:2]):
        node.name = f"f{i}"
        node.attribute[0].s = DROPOUT.encode()
    x = {"x": np.ones((8, 16), np.float32)}
    device, emulator = opened(model, seed=7), open_session(model, seed=7)
    for _ in range(3):
        mark("run")
        found = device.run(None, x)[0]
        print("same", same(found, emulator.run(None, x)[0]), "of", np.unique(found).tolist())


def steps() -> None:
    """A node that runs step by step, whose values in between are the run's own."""
    session = opened(chain(3), fuse=False)
    for _ in range(3):
        print("same", same(session.run(None, arrays())[0], chained(3, **arrays())))
    print("launches", runtime.counters().total.launches)


def kept() -> None:
    """An output that stays on the device while its session runs again, and is read in the end."""
    session = opened(chain(2))
    binding, results = session.io_binding(), []
    for rows in (3, 3, 4):
        feeds = arrays(rows)
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        bind_on_device(binding, "y")
        session.run_with_iobinding(binding)
        results.append((binding.get_outputs()[0], chained(2, **feeds)))
        binding.clear_binding_outputs()
    for value, wanted in results:
        print(value.device_name(), "same", same(value.numpy(), wanted))


PRODUCT = """matmul 1 [d0 | d1]
x0: f32[d0 | 16] = left
x1: f32[16 | d1] = right
x2: f32[d0 | d1] = in
v0: f32[d0 | d1] = matmul x0, x1
v1: f32[d0 | d1] = mul v0, x2
out v1"""


def product() -> None:
    """Kernels on both kinds of cores, with a workspace, behind another node and before one."""
    model = parser.parse_model(
        f"""{HEADER} g (float[N,16] x, float[16,16] w, float[16] b) => (float[N,16] y)
        {{ u = {FUSED} (x, b) p = ai.ascendfuse.Fused_1 <program = "", soc = "Ascend910B3"> (u, w, u) y = {FUSED} (p, b) }}
        {BODY} Fused_0 <program, soc> (a, b) => (y) {{ c = Add(a, b) y = Relu(c) }}
        {BODY} Fused_1 <program, soc> (a, b, c) => (y) {{ d = MatMul(a, b) y = Mul(d, c) }}"""
    )
    for i, (node, program) in enumerate(zip(model.graph.node, (ADD_RELU, PRODUCT, ADD_RELU), strict=True)):
        node.name = f"f{i}"
        node.attribute[0].s = program.encode()
    session = opened(model)
    w = np.random.default_rng(1).integers(-3, 4, (16, 16)).astype(np.float32)
    for rows in (40, 40, 64):
        x, b = (np.round(3 * a) for a in arrays(rows).values())  # whole numbers: no order of sums matters
        u = np.maximum(x + b, 0)
        print("same", same(session.run(None, {"x": x, "w": w, "b": b})[0], np.maximum(u @ w * u + b, 0)))


def branch() -> None:
    """Fused nodes in the body of a Loop, which read what one outside of it left on the device."""
    model = parser.parse_model(
        f"""{HEADER} g (float[N,16] x, float[N,16] b, int64 n) => (float[N,16] y)
        {{ t = {FUSED} (x, b) w = {FUSED} (t, b) yes = Constant <value = bool {{1}}> ()
           u = Loop (n, yes, x) <body = body (int64 i, bool go, float[N,16] a) => (bool go_on, float[N,16] c)
               {{ go_on = Identity(go) c0 = {FUSED} (a, w) c1 = Neg(c0) c = {FUSED} (c1, w) }}>
           y = {FUSED} (u, t) }}
        {BODY} Fused_0 <program, soc> (a, b) => (y) {{ c = Add(a, b) y = Relu(c) }}"""
    )
    body = next(n for n in model.graph.node if n.op_type == "Loop").attribute[0].g
    for i, node in enumerate(n for n in (*model.graph.node, *body.node) if n.domain):
        node.name = f"f{i}"
        node.attribute[0].s = ADD_RELU.replace("x1: f32[16]", "x1: f32[d0, 16]").encode()
    session = opened(model)
    print("claimed", len(claimed(session)))

    def add_relu(a: Array, b: Array) -> Array:
        return np.maximum(a + b, 0)

    for rows, times in ((5, 3), (5, 0), (2, 4)):
        x = arrays(rows)["x"]
        t = add_relu(x, 1 - x / 2)
        w, u = add_relu(t, 1 - x / 2), x
        for _ in range(times):
            u = add_relu(-add_relu(u, w), w)
        found = session.run(None, {"x": x, "b": 1 - x / 2, "n": np.array(times)})[0]
        print("same", same(found, add_relu(u, t)))


def streams() -> None:
    """Nodes on two streams in turn, as a partition file of ONNX Runtime's wants it."""
    partition = Path(sys.argv[2]) / "partition.json"

    def split() -> Any:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        settings.add_session_config_entry("session.node_partition_config_file", str(partition))
        return runtime.session(chain(6), session_options=settings, backend="acl", kernels_dir=sys.argv[2])

    split()  # writes the file, with one stream
    written = json.loads(partition.read_text())
    (nodes,) = written["streams"]
    written |= {"devices": written["devices"] * 2, "streams": [nodes[0::2], nodes[1::2]]}
    partition.write_text(json.dumps(written))
    session = split()
    for rows in (5, 5, 5, 3):
        print("same", same(session.run(None, arrays(rows))[0], chained(6, **arrays(rows))))


def late() -> None:
    """A run that returns before its work has ended, as ONNX Runtime's option wants it."""
    session, options = opened(chain(4)), onnxruntime.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    binding = session.io_binding()
    for rows in (3, 5):
        feeds = arrays(rows)
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        bind_on_device(binding, "y")
        mark("run")
        session.run_with_iobinding(binding, options)
        mark("returned")
        binding.synchronize_outputs()
        mark("waited")
        print("same", same(binding.get_outputs()[0].numpy(), chained(4, **feeds)))


def apart() -> None:
    """A session runs while what another queued is not done yet, nor are the blocks that it gave back."""

    def unplanned() -> Any:
        settings = onnxruntime.SessionOptions()
        settings.enable_mem_pattern = False  # else all tensors of a run are one block
        return runtime.session(chain(6), session_options=settings, backend="acl", kernels_dir=sys.argv[2])

    first, second, options = unplanned(), unplanned(), onnxruntime.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    binding = first.io_binding()
    for name, array in arrays().items():
        binding.bind_cpu_input(name, array)
    bind_on_device(binding, "y")
    for _ in range(3):
        first.run_with_iobinding(binding, options)
        print("same", same(second.run(None, arrays())[0], chained(6, **arrays())))
    print("same", same(binding.get_outputs()[0].numpy(), chained(6, **arrays())))


def nowhere() -> None:
    """A session that is not told where kernels are."""
    opened(fused_model(), kernels_dir="")


SCENARIOS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (one, row, between, sizes, beside, draw, steps, kept, late, product, branch, streams, apart, nowhere)
}


def main() -> None:
    try:
        SCENARIOS[sys.argv[1]]()
    except Exception as e:  # ONNX Runtime's own exceptions have no common base
        print("stopped", e)
    gc.collect()
    onnxruntime.unregister_execution_provider_library(REGISTRATION)
    print("left")


if __name__ == "__main__":
    main()
