"""Two values of one output, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.verify.feed import Array
from ascend_fuse.verify.result import OutputComparison


def compare_values(name: str, a: Any, b: Any) -> list[OutputComparison]:
    """One comparison for an array, one for each element of a sequence (as `name[k]`)."""
    kinds = (a.__class__, b.__class__)
    if kinds == (np.ndarray, np.ndarray):
        return [compare_arrays(name, a, b)]
    if kinds == (list, list) and len(a) == len(b):
        return [found for k in range(len(a)) for found in compare_values(f"{name}[{k}]", a[k], b[k])]
    equal = kinds[0] is kinds[1] and bool(a == b)
    note = "" if equal else "unequal"
    return [OutputComparison(name, kinds[0].__name__, (), equal, int(not equal), note=note)]


def compare_arrays(name: str, a: Array, b: Array) -> OutputComparison:
    """Bitwise, with all NaNs equal; see `OutputComparison` for the figures."""
    dtype, shape = str(a.dtype), tuple(a.shape)
    if a.dtype != b.dtype or a.shape != b.shape:
        note = f"{dtype}{list(shape)} against {b.dtype}{list(b.shape)}"
        return OutputComparison(name, dtype, shape, False, a.size, note=note)
    if a.dtype.kind not in "fiub":
        unequal = int(np.count_nonzero(a != b))
        return OutputComparison(name, dtype, shape, not unequal, unequal, note="unequal" if unequal else "")
    if a.dtype.kind != "f":
        return _compare_integers(name, a, b)
    return _compare_floats(name, a, b)


def _compare_integers(name: str, a: Array, b: Array) -> OutputComparison:
    differs = a != b
    unequal = int(np.count_nonzero(differs))
    # Python's integers: 64-bit differences overflow in NumPy.
    largest = max((abs(int(x) - int(y)) for x, y in zip(a[differs], b[differs], strict=True)), default=0)
    return OutputComparison(name, str(a.dtype), tuple(a.shape), not unequal, unequal, float(largest))


def _compare_floats(name: str, a: Array, b: Array) -> OutputComparison:
    bits = np.dtype(f"u{a.dtype.itemsize}")
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    differs = (a.view(bits) != b.view(bits)) & ~(nan_a & nan_b)
    finite = differs & np.isfinite(a) & np.isfinite(b)
    infinite = differs & ~(nan_a | nan_b) & ~finite
    x, y = a[finite], b[finite]
    rank_x, rank_y = _rank(x), _rank(y)
    steps = np.maximum(rank_x, rank_y) - np.minimum(rank_x, rank_y)
    with np.errstate(over="ignore"):
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
    return OutputComparison(
        name=name,
        dtype=str(a.dtype),
        shape=tuple(a.shape),
        equal=not differs.any(),
        unequal=int(np.count_nonzero(differs)),
        max_abs=float(apart.max(initial=0.0)),
        max_ulp=int(steps.max(initial=0)),
        nan_mismatches=int(np.count_nonzero(nan_a != nan_b)),
        inf_mismatches=int(np.count_nonzero(infinite)),
    )


def _rank(x: Array) -> npt.NDArray[np.uint64]:
    """The place of each float among all of its width: neighbours differ by 1, both zeros share one."""
    width = x.dtype.itemsize * 8
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    middle = np.uint64(1 << (width - 1))
    return np.where(bits >= middle, middle - (bits - middle), middle + bits)
