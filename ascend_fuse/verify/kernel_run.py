"""A model on ONNX Runtime with its fused nodes on our kernels, emulated, and everything else on the CPU provider."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx

from ascend_fuse.config import BOUNDS
from ascend_fuse.error import KernelError, VerificationError
from ascend_fuse.graph.name import named_apart
from ascend_fuse.preparation import Preparation
from ascend_fuse.runtime import counters, get_ep_name, reset_counters, session
from ascend_fuse.verify.feed import Array
from ascend_fuse.verify.kernel_result import Traffic
from ascend_fuse.verify.run import EXTERNAL_FOLDER, SILENT, first_line, runtime_errors

BACKEND = "emulator"
SESSION_KEY = 0  # of random numbers: the same in every session


class KernelRunner:
    """One session; optimisations are off, so that the same nodes run as on the CPU provider alone.

    Raises UsageError where the plugin cannot be loaded, VerificationError if ONNX Runtime cannot load the model.
    """

    def __init__(self, model: onnx.ModelProto, ready: Preparation, where: str, folder: Path) -> None:
        onnxruntime: Any = import_module("onnxruntime")
        self.where, self.ready = where, ready
        self.backend = BACKEND
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = SILENT
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        options.add_session_config_entry(EXTERNAL_FOLDER, str(folder.resolve()))
        limits = {name: getattr(ready.engine.limits, name) for name in BOUNDS}
        model = named_apart(model)
        try:
            self._session = session(model, soc=ready.options.soc, session_options=options, seed=SESSION_KEY, **limits)
        except runtime_errors() as error:
            what = f"does not load with the plugin: {first_line(error)}"
            raise VerificationError(what, where=where, do="please report it") from error
        self.claimed = _claimed(self._session)
        self.outputs: tuple[str, ...] = tuple(output.name for output in self._session.get_outputs())
        reset_counters()

    def run(self, values: Mapping[str, Array]) -> dict[str, Any]:
        """The outputs by name. Raises KernelError when a kernel stops, which is our bug."""
        try:
            return dict(zip(self.outputs, self._session.run(None, dict(values)), strict=True))
        except runtime_errors() as error:
            raise KernelError(first_line(error).rpartition("ascend-fuse: ")[2], where=self.where) from error

    def traffic(self) -> Traffic:
        """What was counted since this session was made."""
        found = counters()
        ran = [n for n in found.nodes if n.runs]
        total = found.total
        return Traffic(len(ran), total.launches, total.loaded_bytes, total.stored_bytes)


def _claimed(session: Any) -> tuple[str, ...]:
    """The nodes that our provider has, as ONNX Runtime assigned them, subgraphs included."""
    parts = session.get_provider_graph_assignment_info()
    ours = (part for part in parts if part.ep_name == get_ep_name())
    return tuple(node.name for part in ours for node in part.get_nodes())
