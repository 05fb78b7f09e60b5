"""The tools that bench/fusion.py compares, each as its users call it, and the process that each runs in."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto

from bench.fusion_count import Count, Original, counted
from bench.fusion_openvino import executed

Fuse = Callable[[Path], ModelProto]


def _ascend_fuse(path: Path) -> ModelProto:
    return import_module("ascend_fuse").optimize(path).model


def _onnxruntime(level: str, path: Path) -> ModelProto:
    """As saved for the CPU at a level of optimisation."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = f"{folder}/model.onnx"
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def _onnxscript(path: Path) -> ModelProto:
    return import_module("onnxscript.optimizer").optimize(onnx.load(path))


def _ort_fusions(path: Path) -> ModelProto:
    """Behind onnxscript's optimizer, as its documentation has it."""
    ir: Any = import_module("onnx_ir")
    model = ir.serde.deserialize_model(_onnxscript(path))
    model, _ = import_module("onnxscript.rewriter.ort_fusions").optimize_for_ort(model)
    return ir.serde.serialize_model(model)


def _onnxsim(path: Path) -> ModelProto:
    return import_module("onnxsim").simplify(onnx.load(path))[0]


def _onnxslim(path: Path) -> ModelProto:
    return import_module("onnxslim").slim(onnx.load(path))


EXPORTED, OURS, OPENVINO = "as exported", "ascend-fuse", "OpenVINO"
FUSES: dict[str, tuple[str, Fuse]] = {  # the package, and the call
    EXPORTED: ("onnx", onnx.load),
    OURS: ("ascend-fuse", _ascend_fuse),
    "ORT basic": ("onnxruntime", partial(_onnxruntime, "BASIC")),
    "ORT extended": ("onnxruntime", partial(_onnxruntime, "EXTENDED")),
    "ORT all": ("onnxruntime", partial(_onnxruntime, "ALL")),
    "onnxscript": ("onnxscript", _onnxscript),
    "onnxscript, ORT fusions": ("onnxscript", _ort_fusions),
    "onnxsim": ("onnxsim", _onnxsim),
    "OnnxSlim": ("onnxslim", _onnxslim),
}
PACKAGES = {**{name: package for name, (package, _) in FUSES.items()}, OPENVINO: "openvino"}
PEERS = tuple(name for name in PACKAGES if name not in (EXPORTED, OURS))


def installed(tool: str) -> str:
    """The version of the tool's package, "" if it is not here; ours is what runs."""
    if tool == OURS:
        return import_module("ascend_fuse").__version__
    try:
        return version(PACKAGES[tool])
    except PackageNotFoundError:
        return ""


def _count(tool: str, path: Path, before: Original, sized: bool) -> Count:
    if tool == OPENVINO:
        return executed(path, before, sized)
    return counted(FUSES[tool][1](path), before, sized)


def _serve(tool: str, answers: Connection) -> None:
    """Counts each model that is asked for.  What the tool prints goes nowhere; what it raises is the answer."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    while True:
        question = answers.recv()
        try:
            answers.send(_count(tool, *question))
        except Exception as error:  # whatever a tool raises is its result
            first = next(iter(str(error).strip().splitlines()), "").replace(str(question[0]), "the model")
            answers.send(Count(problem=f"{type(error).__name__}: {first}"))


class Tool:
    """A tool in a process of its own, begun again where it dies or takes too long."""

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self._timeout = timeout
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._questions, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.name, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def count(self, path: Path, before: Original, sized: bool = False) -> Count:
        """What the tool makes of the model in the file, the bytes too if `sized`."""
        if not installed(self.name):
            return Count(problem="not installed")
        problem = f"more than {self._timeout:.0f} s"
        try:
            self._questions.send((path, before, sized))
            if self._questions.poll(self._timeout):
                return self._questions.recv()
        except (EOFError, OSError):
            self._process.join()
            problem = f"the process ended with {self._process.exitcode}"
        self.stop()
        self._start()
        print(f"{self.name}: {path.name}: {problem}", file=sys.stderr)
        return Count(problem=problem)

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.join()
