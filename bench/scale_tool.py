"""The tools that bench/scale.py times, each as its users call it from Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from onnx import ModelProto, TensorProto, helper, load

Call = Callable[[ModelProto], ModelProto]


def _ascend_fuse() -> Call:
    optimize = import_module("ascend_fuse").optimize
    return lambda model: optimize(model).model


def _onnxsim() -> Call:
    simplify = import_module("onnxsim").simplify
    return lambda model: simplify(model)[0]


def _onnxslim() -> Call:
    return import_module("onnxslim").slim


def _graphsurgeon() -> Call:
    surgeon = import_module("onnx_graphsurgeon")
    return lambda model: surgeon.export_onnx(surgeon.import_onnx(model).fold_constants().cleanup().toposort())


OURS = "ascend-fuse"
TOOLS: dict[str, Callable[[], Call]] = {
    OURS: _ascend_fuse,
    "onnxsim": _onnxsim,
    "OnnxSlim": _onnxslim,
    "graphsurgeon": _graphsurgeon,
}


def _small() -> ModelProto:
    """Two nodes: a first call loads what a tool imports late."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 8)) for name in ("x", "z")]
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def measure(tool: str, path: Path) -> tuple[float, int, int]:
    """CPU seconds of all threads for one call, peak MiB of the process, nodes of the result; in a fresh process."""
    call = TOOLS[tool]()
    call(_small())
    model = load(path)
    begin = time.process_time()
    result = call(model)
    seconds = time.process_time() - begin
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM")).split()[1]
    return seconds, int(peak) // 1024, len(result.graph.node)
