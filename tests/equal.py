"""Running models on ONNX Runtime with its own optimisations off, and equality bit by bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    """One thread: the order of additions must not depend on the machine."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """The outputs of a fresh session, so that a seeded random operator makes its first draw."""
    return session(model).run(None, dict(feeds))


def bits(value: Any) -> object:
    """A value that is equal to another's only if both are the same bits of the same type and shape.

    Sequences are lists, an absent optional is None, strings are arrays of objects.
    """
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [bits(item) for item in value]
    array = np.asarray(value)
    held = array.tolist() if array.dtype == object else array.tobytes()
    return (array.dtype.str, array.shape, held)


def assert_equal(want: Sequence[Any], got: Sequence[Any], what: str = "") -> None:
    """Raises AssertionError that names the first output which differs."""
    assert len(want) == len(got), f"{what}: {len(got)} outputs instead of {len(want)}"
    for k, (a, b) in enumerate(zip(want, got, strict=True)):
        assert bits(a) == bits(b), f"{what}: output {k} differs\n{a}\n{b}"


def feeds_of(model: onnx.ModelProto, size: int = 3, seed: int = 0) -> dict[str, np.ndarray]:
    """Normal random inputs; every symbolic size is `size`, booleans are even odds, integers within 0 to 3."""
    rng = np.random.default_rng(seed)
    held = {t.name for t in model.graph.initializer}
    feeds: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else size for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind in "iub":
            drawn = rng.integers(0, 2 if dtype.kind == "b" else 4, shape)
        else:
            drawn = rng.standard_normal(shape)
        feeds[value.name] = np.asarray(drawn).astype(dtype)
    return feeds
