"""Programs on numpy arrays through the kernels, without a model or ONNX Runtime."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.config import DEFAULT_SOC
from ascend_fuse.error import KernelError, UsageError
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.runtime.counter import NodeCounters, read_node
from ascend_fuse.runtime.library import CTensor, load

Array = npt.NDArray[Any]
Option = str | int | float | bool
# As kernels/engine/dtype.h numbers them.
DTYPES: tuple[str, ...] = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of the kernels, and what they did."""

    outputs: tuple[Array, ...]
    counters: NodeCounters


def option_text(value: Option) -> str:
    """An option as the library reads it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _last_error() -> str:
    return load().ascend_fuse_error().decode()


def _tensors(arrays: Sequence[Array]) -> Any:
    numbers = {dtype_of(name): number for number, name in enumerate(DTYPES)}
    tensors = (CTensor * len(arrays))()
    for tensor, array in zip(tensors, arrays, strict=True):
        if array.dtype not in numbers:
            raise UsageError(f"an array of dtype {array.dtype}, which programs do not have", do=", ".join(DTYPES))
        sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor.dtype, tensor.rank, tensor.sizes = numbers[array.dtype], array.ndim, sizes
        tensor.address = array.ctypes.data
    return tensors


@contextmanager
def _prepared(program: str, options: str, arrays: Sequence[Array]) -> Generator[int]:
    call = load().ascend_fuse_prepare(program.encode(), options.encode(), _tensors(arrays), len(arrays))
    if not call:
        raise UsageError(_last_error(), where="program")
    try:
        yield call
    finally:
        load().ascend_fuse_release(call)


def _outputs(call: int) -> Iterator[Array]:
    for i in range(load().ascend_fuse_outputs(call)):
        form: CTensor = load().ascend_fuse_output(call, i)
        yield np.empty(form.sizes[: form.rank], dtype_of(DTYPES[int(form.dtype)]))


def run(
    program: str,
    arrays: Sequence[Array],
    soc: str = DEFAULT_SOC,
    bounds: Mapping[str, Option] | None = None,
    **options: Option,
) -> Outcome:
    """The program's outputs for inputs in the order of its lines (any array for a `host` one), and the counters.

    `bounds` and `options` are provider options by name: `fuse=False` runs each instruction as a launch of its own,
    `seed` keys the random numbers. Raises UsageError when the program, a shape or an option is wrong or the chip cannot
    run it, KernelError when a kernel stops.
    """
    settings = {"soc": soc, **(bounds or {}), **options}
    lines = "\n".join(f"{name}={option_text(value)}" for name, value in settings.items())
    inputs = [np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays]
    with _prepared(program, lines, inputs) as call:
        outputs = tuple(_outputs(call))
        addresses = (ctypes.c_void_p * len(outputs))(*(o.ctypes.data for o in outputs))
        if load().ascend_fuse_execute(call, addresses):
            raise KernelError(_last_error(), where=soc)
        return Outcome(outputs, read_node(json.loads(load().ascend_fuse_report(call))))
