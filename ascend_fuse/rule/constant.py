"""Comparison of a model's constant with the real number that a rule wants, in the constant's precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ascend_fuse.graph.view import Constant
from ascend_fuse.rule.condition import Literal

# Explicit bits of the significand, exponent of the smallest normal number (IEEE 754; bfloat16 as in ONNX).
_FORMATS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126), "float64": (52, -1022)}
)


def single(constant: Constant) -> bool | int | float | None:
    """The one element as a Python value, None when there are more, none, or when it is no number."""
    if constant.size != 1:
        return None
    dtype = constant.dtype
    if dtype == np.bool_:
        return bool(constant.reshape(-1)[0])
    if np.issubdtype(dtype, np.integer):
        return int(constant.reshape(-1)[0])
    return float(constant.reshape(-1)[0]) if dtype.name in _FORMATS else None


def equals(constant: Constant, wanted: Literal) -> bool:
    """Whether the one element is `wanted` rounded to the constant's dtype, give or take one ulp."""
    found = single(constant)
    if found is None or isinstance(wanted, str) or isinstance(found, bool) != isinstance(wanted, bool):
        return False
    if constant.dtype.name not in _FORMATS or wanted == 0 or not math.isfinite(wanted):
        return found == wanted
    if not math.isfinite(found):
        return False
    bits, lowest = _FORMATS[constant.dtype.name]
    unit = math.ldexp(1.0, max(math.frexp(wanted)[1] - 1, lowest) - bits)
    return abs(found - round(wanted / unit) * unit) <= unit
