"""What another correct library may compute instead of a value: the same, a few last places off.

Where a result is not a number, overflows, is a zero of either sign or flattens, libraries differ by more; there the
noise takes any such value, so that whatever these decide further on is seen to move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# Results that every implementation rounds alike, because it does not round them.
EXACT = frozenset(
    "max min mod where neg abs relu floor ceil round sign cast reduce_max reduce_min slice concat broadcast copy "
    "index random_uniform".split()
)
BOUNDED = frozenset("sigmoid tanh erf sin cos silu gelu gelu_tanh".split())  # cut off where they flatten
RELATIVE = 2.0**-20  # eight units in float32's last place: what vector libraries' exp, tanh or sums differ by
ABSOLUTE = RELATIVE / 4  # of bounded functions: sigmoid(-20) is 2e-9, or 0, or 1.5e-8
TAIL = 16.0  # x * sigmoid(x) has sigmoid's absolute error (7e-8 in ONNX Runtime) times x, until there is nothing left
TINY = 2.0**-126  # float32's smallest normal number, below which some flush to zero
HUGE = 1e38


class Noise:
    """A source of such values; every call draws anew."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def shake(self, op: str, x: Array) -> Array:
        """A value of x's shape and dtype that the operator could have had for x (floats)."""
        wide = x.astype(np.float64)
        size = np.nan_to_num(wide, nan=0.0, posinf=HUGE, neginf=-HUGE)
        if op in BOUNDED:
            absolute = ABSOLUTE * (TAIL if op == "silu" else 1)
            size = size + absolute * self._draw(x.shape) * np.maximum(np.abs(size), 1)
        if op == "exp":  # libraries clamp the argument, so that an underflow may end above zero
            size = np.where(size < TINY, np.abs(self._draw(x.shape)) * TINY, size)
        if op not in EXACT:
            size = size * (1 + RELATIVE * self._draw(x.shape))
        floor = RELATIVE if op in BOUNDED else TINY
        flushed = (np.abs(size) < floor) & (self._draw(x.shape) > 0)
        size = np.where(flushed, np.copysign(0.0, self._draw(x.shape)), size)
        size = np.where(np.isinf(wide), np.copysign(self._draw(x.shape) * HUGE, size), size)
        return np.where(np.isnan(wide), self._draw(x.shape), size).astype(x.dtype)

    def beside(self, x: Array, bound: Array) -> Array:
        """A value within the bound of x."""
        return np.asarray(x.astype(np.float64) + bound * self._draw(x.shape)).astype(x.dtype)

    def _draw(self, shape: tuple[int, ...]) -> Array:
        return self._rng.uniform(-1, 1, shape)
