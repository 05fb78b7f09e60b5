"""Random inputs that a model accepts: sizes, index ranges and masks follow from its own graph."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.graph.contract import required_inputs
from ascend_fuse.verify.bound import Bounds, trace

Array = npt.NDArray[np.generic]

BATCH_SIZE, SEQUENCE_SIZE, OTHER_SIZE = 1, 128, 64
_BATCH = re.compile(r"batch|^(b|bs|n)$", re.IGNORECASE)
_SEQUENCE = re.compile(r"seq|len|time|token|past", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_]\w*|\d+")

MASKED_SHARE = 0.15  # of a mask's elements, zero
SMALL = 4  # integers that select nothing known are drawn below this
MAX_ELEMENTS = 2**40  # of one input: no machine that this runs on holds more
BYTES = 128  # and integers of 8 bits, mostly pixels and text, below this


@dataclass(frozen=True, slots=True)
class Feed:
    """`values` by input name, the symbolic `sizes` they have, and the names of integer inputs among them.

    `is_drawn`: at random, not a user's.
    """

    values: dict[str, Array]
    sizes: dict[str, int]
    integers: tuple[str, ...]
    is_drawn: bool = True

    def zeroed(self) -> Feed:
        """The same with every integer input zero: valid wherever a drawn index was out of range."""
        zeros = {name: np.zeros_like(self.values[name]) for name in self.integers}
        return replace(self, values={**self.values, **zeros})


def size_names(model: onnx.ModelProto) -> set[str]:
    """What `make_feed` takes sizes for: symbols, those in sums, and `input:axis`."""
    names: set[str] = set()
    for value in required_inputs(model.graph):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value"):
                names |= {f"{value.name}:{axis}", dim.dim_param, *(w.strip() for w in dim.dim_param.split("+"))}
    return names - {""}


def make_feed(model: onnx.ModelProto, sizes: Mapping[str, int] | None = None, seed: int = 0) -> Feed:
    """Inputs for `model` (its external weights need not be loaded), the same for the same seed.

    `sizes` are by symbol, or by `input:axis` for a size without a name.  Unknown ones: 1 for a batch (by its
    name, or the first axis), 128 for a sequence, else 64; a sum of symbols is the sum of their sizes.
    Raises UsageError for a negative size, VerificationError for an input that cannot be fed.
    """
    given = dict(sizes or {})
    for symbol, size in given.items():
        if size < 0:
            raise UsageError(f"size {symbol}={size} is negative", do="give a size of 0 or more")
    inputs = required_inputs(model.graph)
    bounds = trace(model, [value.name for value in inputs])
    used: dict[str, int] = {}
    values: dict[str, Array] = {}
    integers: list[str] = []
    for k, value in enumerate(inputs):
        np_dtype = _np_dtype(value)
        shape = tuple(
            _size(value.name, axis, dim, given, used) for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        )
        if math.prod(shape) > MAX_ELEMENTS:
            where = f"input {value.name}"
            raise UsageError(f"{list(shape)} does not fit in memory", where=where, do="give smaller sizes")
        # One generator per input: a further input does not change the values of the others.
        rng = np.random.default_rng((seed, k))
        values[value.name] = _draw(rng, value.name, np_dtype, shape, bounds)
        if np_dtype.kind in "iu":
            integers.append(value.name)
    return Feed(values, used, tuple(integers))


def _np_dtype(value: onnx.ValueInfoProto) -> np.dtype[np.generic]:
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value")
        raise VerificationError(
            f"not runnable: input {value.name} is a {kind}, for which no values are drawn",
            where=value.name,
            do="give values for it",
        )
    elem_type = value.type.tensor_type.elem_type
    if elem_type == TensorProto.STRING:
        return np.dtype(np.object_)
    np_dtype = helper.tensor_dtype_to_np_dtype(elem_type)
    if np_dtype.kind not in "fiub":
        name = TensorProto.DataType.Name(elem_type)
        raise VerificationError(
            f"not runnable: ONNX Runtime's Python interface takes no {name} input",
            where=value.name,
            do="verify a float32 or float16 export of the same model",
        )
    return np_dtype


def _size(
    name: str, axis: int, dim: onnx.TensorShapeProto.Dimension, given: dict[str, int], used: dict[str, int]
) -> int:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    symbol = dim.dim_param
    place = f"{name}:{axis}"
    key = place if place in given or not symbol else symbol
    used[key] = given[key] if key in given else _default(symbol, axis, given)
    return used[key]


def _default(symbol: str, axis: int, given: dict[str, int]) -> int:
    if symbol in given:
        return given[symbol]
    words = [word.strip() for word in symbol.split("+")]
    if len(words) > 1 and all(_WORD.fullmatch(word) for word in words):
        return sum(int(word) if word.isdigit() else _default(word, axis, given) for word in words)
    if _BATCH.search(symbol):
        return BATCH_SIZE
    if _SEQUENCE.search(symbol):
        return SEQUENCE_SIZE
    return BATCH_SIZE if axis == 0 and not _WORD.search(symbol) else OTHER_SIZE


def _draw(
    rng: np.random.Generator,
    name: str,
    np_dtype: np.dtype[np.generic],
    shape: tuple[int, ...],
    bounds: Bounds,
) -> Array:
    kind = np_dtype.kind
    if kind == "O":
        return rng.integers(0, 10, shape).astype(np.str_).astype(np.object_)
    rows = bounds.rows.get(name, 0)
    if kind == "b" or name in bounds.masks or ("mask" in name.lower() and not rows):
        return _mask(rng, shape).astype(np_dtype)
    if kind == "f":
        return np.asarray(rng.standard_normal(shape)).astype(np_dtype)
    choices = bounds.choices.get(name, [])
    if choices and np.prod(shape, dtype=np.int64) == 1:
        return np.full(shape, choices[int(rng.integers(len(choices)))]).astype(np_dtype)
    default = BYTES if np_dtype.itemsize == 1 else SMALL
    return np.asarray(rng.integers(0, max(rows or default, 1), shape)).astype(np_dtype)


def _mask(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Ones with some zeros; the first of a row is a one, since a row of zeros makes NaN in Softmax."""
    mask = np.asarray(rng.random(shape) >= MASKED_SHARE)
    if shape:
        mask[..., :1] = True
    else:
        mask[...] = True
    return mask
