"""Comparison of a model's constant with the real number that a rule wants, in the constant's precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from ascend_fuse.graph.view import Constant
from ascend_fuse.rule.condition import Literal

# Explicit bits of the significand, exponent of the smallest normal number (IEEE 754; bfloat16 as in ONNX).
_FORMATS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126), "float64": (52, -1022)}
)


@cache
def _format(dtype: np.dtype[np.generic]) -> tuple[int, int] | None:
    """The entry of _FORMATS: numpy makes the name of a dtype anew each time."""
    return _FORMATS.get(dtype.name)


def single(constant: Constant) -> bool | int | float | None:
    """The one element as a Python value, None when there are more, none, or when it is no number."""
    if constant.size != 1:
        return None
    if constant.dtype.kind == "b":
        return bool(constant.item())
    if constant.dtype.kind in "iu":
        return int(constant.item())
    return float(constant.item()) if _format(constant.dtype) else None


def equals(constant: Constant, wanted: Literal) -> bool:
    """Whether the one element is `wanted` rounded to the constant's dtype, give or take one ulp."""
    found = single(constant)
    if found is None or isinstance(wanted, str) or isinstance(found, bool) != isinstance(wanted, bool):
        return False
    form = _format(constant.dtype)
    if form is None or wanted == 0 or not math.isfinite(wanted):
        return found == wanted
    if not math.isfinite(found):
        return False
    bits, lowest = form
    unit = math.ldexp(1.0, max(math.frexp(wanted)[1] - 1, lowest) - bits)
    return abs(found - round(wanted / unit) * unit) <= unit
