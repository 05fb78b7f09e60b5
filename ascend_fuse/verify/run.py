"""A model on ONNX Runtime's CPU provider, as written: without optimisation, what is in the file runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto

from ascend_fuse.error import VerificationError
from ascend_fuse.graph.load import read_model
from ascend_fuse.graph.name import named_apart
from ascend_fuse.verify.walk import all_nodes

EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
SILENT = 4  # ONNX Runtime's log severity: what fails is raised as well, and told in our words


@cache
def runtime_errors() -> tuple[type[Exception], ...]:
    """ONNX Runtime's own exceptions, which have no common class."""
    state = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state"))
    own = [value for value in state.values() if isinstance(value, type) and issubclass(value, Exception)]
    return (*own, RuntimeError, ValueError)


class Runner:
    """One session; its first `run` draws the first numbers of every seeded random node.

    Give a path, or a ModelProto with the folder of its external weights (needs no file then: the model may be
    edited, its weights stay where they are).  Nodes that share a name, which ONNX Runtime refuses, run under names of
    their own.  Raises VerificationError if ONNX Runtime cannot load the model.
    """

    def __init__(self, model: Path | onnx.ModelProto, where: str, folder: Path | None = None) -> None:
        # Imported by name: the package is slow to import, and has no types.
        onnxruntime: Any = import_module("onnxruntime")
        self.where = where
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = SILENT
        # Prepacking copies each weight: over the memory of a machine that holds the weights once.
        options.add_session_config_entry("session.disable_prepacking", "1")
        if folder is not None:
            options.add_session_config_entry(EXTERNAL_FOLDER, str(folder.resolve()))
        source = str(model) if isinstance(model, Path) else model.SerializeToString()
        try:
            self._session: Any = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except runtime_errors() as error:
            proto = read_model(model) if isinstance(model, Path) else model
            apart = named_apart(proto)
            if apart is proto:
                raise _unloadable(proto, where, error) from error
            self._session = Runner(apart, where, model.parent if isinstance(model, Path) else folder)._session
        self.outputs: tuple[str, ...] = tuple(output.name for output in self._session.get_outputs())

    def run(self, values: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, Any]:
        """The outputs by name: arrays, or lists for sequences.  Raises VerificationError if the run fails."""
        try:
            return dict(zip(self.outputs, self._session.run(None, dict(values)), strict=True))
        except runtime_errors() as error:
            raise VerificationError(
                f"does not run: {first_line(error)}",
                where=self.where,
                do="it runs on other inputs, if at all",
            ) from error


def _unloadable(model: onnx.ModelProto, where: str, error: Exception) -> VerificationError:
    if uses_bfloat16(model):
        advice = "bfloat16 has no CPU kernels: verify a float32 or float16 export of the same model"
    else:
        advice = "verify where every operator of the model has a kernel, or leave verification out"
    what = f"not runnable: ONNX Runtime's CPU provider cannot load it: {first_line(error)}"
    return VerificationError(what, where=where, do=advice)


def uses_bfloat16(model: onnx.ModelProto) -> bool:
    """Whether a weight, a value with a known type, or a Cast is bfloat16."""
    known = (*model.graph.input, *model.graph.output, *model.graph.value_info)
    types = {value.type.tensor_type.elem_type for value in known}
    types.update(tensor.data_type for tensor in model.graph.initializer)
    casts = (node for node in all_nodes(model) if node.op_type == "Cast")
    types.update(attribute.i for node in casts for attribute in node.attribute if attribute.name == "to")
    return TensorProto.BFLOAT16 in types


def first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
