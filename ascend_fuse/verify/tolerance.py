"""How far outputs may lie apart where bitwise equality is not asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.error import UsageError


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far an element may be off: `absolute`, and `relative` times the right one."""

    absolute: float = 0.0
    relative: float = 0.0

    @classmethod
    def of(cls, absolute: float | None, relative: float | None) -> Tolerance | None:
        """None where neither is given. Raises UsageError for what is no number."""
        for name, value in (("--atol", absolute), ("--rtol", relative)):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{value} is no distance", where=name, do="give a number")
        return None if absolute is None and relative is None else cls(absolute or 0.0, relative or 0.0)

    def beyond(self, wanted: Any, found: Any) -> int | None:
        """How many elements are further off; None for what no distance is known of: other types, shapes, no arrays."""
        numbers = wanted.__class__ is found.__class__ is np.ndarray and wanted.dtype.kind in "fiub"
        if not numbers or (wanted.shape, wanted.dtype) != (found.shape, found.dtype):
            return None
        x: npt.NDArray[np.float64] = wanted.astype(np.float64)
        y: npt.NDArray[np.float64] = found.astype(np.float64)
        with np.errstate(all="ignore"):
            within = np.abs(x - y) <= self.absolute + self.relative * np.abs(x)
        # infinities are within a tolerance of nothing but themselves, NaN of NaN
        alike = (x == y) | (np.isnan(x) & np.isnan(y))
        close: npt.NDArray[np.bool_] = np.where(np.isfinite(x) & np.isfinite(y), within, alike)
        return int(np.count_nonzero(~close))
