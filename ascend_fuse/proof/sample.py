"""A program and its body on one choice of inputs: what differs, what rounding excuses, what says something at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.program import Program
from ascend_fuse.proof.doubt import Doubt

Array = npt.NDArray[Any]
Bound = tuple[float, float]  # of the value, and of the outputs' upper-quartile magnitude
EDGE = 3e38  # there one side may overflow float32 where the other does not
MASK = 1e30  # no activation is that large; fill values of masks are


class Sample:
    """The outputs of both. `masks`: what the body drew; `clean`: nothing in it overflowed or was no number."""

    def __init__(
        self,
        program: Program,
        arrays: Sequence[Array],
        masks: Mapping[str, Array],
        wanted: Sequence[Array],
        bound: Bound,
        clean: bool,
    ) -> None:
        self.wanted = wanted
        self.found = evaluate(program, arrays, masks)
        self._bound = bound
        self._doubt = Doubt(program, arrays, masks, clean)

    def excused(self, k: int) -> int:
        """How many elements of output k differ as rounding may make them differ, -1 when others do."""
        want, got = self.wanted[k], self.found[k]
        if not self.is_alike(k):
            return -1
        agree = self._agree(k)
        if agree.all():
            return 0
        covered = self._doubt.covers(k, want, got, self._slack(k))
        return int(np.count_nonzero(~agree)) if (agree | covered).all() else -1

    def decides(self, k: int) -> bool:
        """Whether an element of output k is equal that rounding could not have made another."""
        return bool((self._agree(k) & ~self._doubt.open(k, self.found[k], self._slack(k))).any())

    def is_alike(self, k: int) -> bool:
        """Whether output k has one shape and type on both sides."""
        want, got = self.wanted[k], self.found[k]
        return want.shape == got.shape and want.dtype == got.dtype

    def is_whole(self, k: int) -> bool:
        """Whether output k is a number here wherever it is one there."""
        return bool((np.isfinite(self.found[k]) | ~np.isfinite(self.wanted[k])).all())

    def _agree(self, k: int) -> Array:
        """Element by element, for equal shapes and dtypes."""
        want, got = self.wanted[k], self.found[k]
        if want.dtype.kind in "biu":
            return np.asarray(want == got)
        w, g = want.astype(np.float64), got.astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.abs(w - g) <= self._slack(k)
            over = (np.abs(w) >= EDGE) & (np.abs(g) >= EDGE) & (np.sign(w) == np.sign(g))
        return np.asarray(near | over | (w == g) | (np.isnan(w) & np.isnan(g)))

    def _slack(self, k: int) -> Array:
        """How far elements of output k may lie apart."""
        want = self.wanted[k].astype(np.float64)
        if self.wanted[k].dtype.kind in "biu":
            return np.zeros(want.shape)
        with np.errstate(all="ignore"):
            return np.asarray(self._bound[0] * np.abs(want) + self._bound[1] * _typical(want))


def _typical(w: Array) -> float:
    """The upper quartile of the magnitudes, without the huge values that stand for a mask."""
    sizes = np.abs(w[np.isfinite(w) & (np.abs(w) < MASK)])
    return float(np.quantile(sizes, 0.75)) if sizes.size else 0.0
