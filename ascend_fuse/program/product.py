"""The product of a matmul program on numpy arrays, and how far another order of its sums may lie from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
UNIT = 2.0**-24  # float32's unit roundoff, in which products sum


def multiply(left: Array, right: Array, k_axes: int, n_axes: int) -> Array:
    """[lead…, m, n] of left [lead…, m, k…] and right [lead…, k…, n…], in the operands' own precision."""
    k, n = left.shape[left.ndim - k_axes :], right.shape[right.ndim - n_axes :]
    rows = left.reshape(*left.shape[: left.ndim - k_axes], math.prod(k))
    lead = right.shape[: right.ndim - n_axes - k_axes]
    return np.asarray(np.matmul(rows, right.reshape(*lead, math.prod(k), math.prod(n))))


def bound_of_sums(left: Array, right: Array, k_axes: int, n_axes: int) -> Array:
    """|computed - exact| ≤ k·u / (1 - k·u) · |left|·|right| for any order of k float32 sums (Higham 2002, 3.5)."""
    k = math.prod(left.shape[left.ndim - k_axes :])
    sums = multiply(np.abs(left.astype(np.float64)), np.abs(right.astype(np.float64)), k_axes, n_axes)
    return np.asarray(sums * (k * UNIT / (1 - k * UNIT)))
