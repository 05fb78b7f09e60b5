"""Models as text, and both forms of one on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import ModelProto, TensorProto, numpy_helper

import ascend_fuse
from ascend_fuse import Result

NUMPY = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.BOOL: np.bool_}
CODES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}


def parse(text: str, opset: int = 18, ir: int = 10) -> ModelProto:
    """The model of a graph's text."""
    return onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["": {opset}, "com.example": 1]>\n{text}')


def typed(model: ModelProto, dtype: str) -> ModelProto:
    """The model in another float type; a Dropout's `ratio` stays f32."""
    out = ModelProto.FromString(model.SerializeToString())
    for v in (*out.graph.input, *out.graph.output):
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = CODES[dtype]
    for t in out.graph.initializer:
        if t.data_type == TensorProto.FLOAT and t.name != "ratio":
            value = numpy_helper.to_array(t).astype(onnx.helper.tensor_dtype_to_np_dtype(CODES[dtype]))
            t.CopyFrom(numpy_helper.from_array(value, t.name))
    return out


def save(model: ModelProto, path: Path) -> Path:
    """The model as a file."""
    onnx.save(model, path)
    return path


def feeds(model: ModelProto, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    """Normal numbers for the inputs; `sizes` for symbols."""
    rng = np.random.default_rng(0)
    out: dict[str, np.ndarray] = {}
    for v in model.graph.input:
        shape = [d.dim_value or (sizes or {})[d.dim_param] for d in v.type.tensor_type.shape.dim]
        kind = NUMPY[v.type.tensor_type.elem_type]
        out[v.name] = rng.random(shape) > 0.5 if kind is np.bool_ else rng.standard_normal(shape).astype(kind)
    return out


def run(model: ModelProto, values: Mapping[str, np.ndarray], names: Sequence[str] | None = None) -> list[np.ndarray]:
    """The outputs of a fresh session without optimisation."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session: Any = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(names, dict(values)))


def same_bits(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> bool:
    """Bitwise equality, NaN included."""
    return all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True)
    )


def fuse(model: ModelProto, **options: Any) -> Result:
    """`optimize` on the proto."""
    return ascend_fuse.optimize(model, **options)


def launches(model: ModelProto) -> list[str]:
    """The operators left in the main graph, constants aside."""
    return [n.op_type if n.domain == "" else f"{n.domain}:{n.op_type.split('_')[0]}" for n in model.graph.node
            if n.op_type != "Constant"]  # fmt: skip
