"""Inputs of the user's for a model, from files of NumPy and of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from ascend_fuse.error import UsageError
from ascend_fuse.graph.contract import required_inputs
from ascend_fuse.verify.feed import Array, Feed

WHERE = "--inputs"


def read_inputs(model: onnx.ModelProto, given: Sequence[str]) -> Feed:
    """All inputs of the model from files: .npz by name; .npy and .pb as NAME=FILE, by the name inside, or the only one.

    Raises UsageError for what the model does not take or lacks.
    """
    values: dict[str, Array] = {}
    only = [v.name for v in required_inputs(model.graph)]
    for text in given:
        name, _, path = text.rpartition("=")
        if Path(text).exists():  # a file whose own name has the sign
            name, path = "", text
        for own, array in _read(Path(path)).items():
            chosen = name or own or (only[0] if len(only) == 1 else "")
            if not chosen:
                raise UsageError("it does not say which input", where=f"{WHERE} {text}", do=f"write NAME={text}")
            values[chosen] = array
    _check(model, values)
    return Feed(values, {}, (), is_drawn=False)


def _read(path: Path) -> Mapping[str, Array]:
    where = f"{WHERE} {path}"
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as held:
                return {name: held[name] for name in held.files}
        if path.suffix == ".npy":
            return {"": np.load(path, allow_pickle=False)}
        if path.suffix == ".pb":
            tensor = TensorProto()
            tensor.ParseFromString(path.read_bytes())
            return {tensor.name: numpy_helper.to_array(tensor)}
    except OSError as e:
        raise UsageError(f"cannot be read: {e.strerror or e}", where=where, do="give a readable file") from e
    except (ValueError, EOFError, DecodeError, TypeError, KeyError) as e:
        what = " ".join(str(e).split())[:200]
        raise UsageError(f"holds no arrays: {what}", where=where, do="write it again, without pickled objects") from e
    raise UsageError("of a kind that is not read", where=where, do="give .npz, .npy or .pb (TensorProto)")


def _check(model: onnx.ModelProto, values: Mapping[str, Array]) -> None:
    taken = {v.name: v for v in model.graph.input}
    needed = [v.name for v in required_inputs(model.graph)]
    for name in values:
        if name not in taken:
            do = f"its inputs are: {', '.join(taken) or 'none'}"
            raise UsageError(f"the model has no input {name!r}", where=WHERE, do=do)
    if lacking := [name for name in needed if name not in values]:
        raise UsageError(f"the inputs {', '.join(lacking)} are not given", where=WHERE, do="give all of them, or none")
    for name, array in values.items():
        kind = taken[name].type.tensor_type
        wanted = np.dtype(np.object_)
        if kind.elem_type != TensorProto.STRING:
            wanted = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if array.dtype != wanted:
            raise UsageError(f"input {name} is {array.dtype}, not {wanted}", where=WHERE, do="convert it")
        sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
        fits = len(sizes) == array.ndim and all(s in (-1, n) for s, n in zip(sizes, array.shape, strict=True))
        if kind.HasField("shape") and not fits:
            told = ", ".join("?" if s < 0 else str(s) for s in sizes)
            raise UsageError(f"input {name} is {list(array.shape)}, not [{told}]", where=WHERE, do="reshape it")
