"""A model, its profile by ONNX Runtime, and what an msprof op_summary looks like."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.parser import parse_model

MODEL = """
<ir_version: 10, opset_import: ["" : 17]>
m (float[batch, 64] x, float[64, 64] w) => (float[batch, 64] y, float[batch, 64] z) {
  [first] a = Add (x, x)
  [second] b = Sigmoid (a)
  c = Neg (b)
  [third] y = Exp (c)
  [product] p = MatMul (x, w)
  [last] z = Sqrt (p)
}
"""
RUNS = 3


def save(path: Path, text: str = MODEL) -> Path:
    onnx.save(parse_model(text), path)
    return path


def profiled(model: Path, folder: Path) -> Path:
    """The trace of a few runs, with optimisations off."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "trace")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {"x": np.ones((2, 64), np.float32), "w": np.ones((64, 64), np.float32)}
    for _ in range(RUNS):
        session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    return Path(session.end_profiling())


def event(name: str, us: object, op: str, index: int = 99, provider: str = "CANNExecutionProvider") -> dict[str, Any]:
    args = {"op_name": op, "provider": provider, "node_index": str(index)}
    return {"cat": "Node", "name": f"{name}_kernel_time", "dur": us, "ph": "X", "args": args}


def trace(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(events), "utf-8")
    return path


def summary(path: Path, times: Mapping[str, object]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["Device_id", "Op Name", "OP Type", "Task Type", "Task Duration(us)", "Task Wait Time(us)"])
        rows.writerows([0, name, "Any", "AI_VECTOR_CORE", us, 1.5] for name, us in times.items())
    return path
