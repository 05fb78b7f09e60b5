"""Which elements of a result say something: those that rounding, overflow or NaN do not decide.

`x - tanh(x)` near zero, `floor(sigmoid(x))` near one or the maximum of a row with a NaN differ between any two correct
libraries. The program is evaluated again with every instruction a few last places off; what moves by as much as two
results differ is no evidence against either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import Run, evaluate
from ascend_fuse.program.noise import Noise
from ascend_fuse.program.program import Program, Value

Array = npt.NDArray[Any]
RUNS = 8
FACTOR = 8.0  # the greatest move of RUNS random ones underestimates the greatest possible one


class Doubt:
    """Noisy evaluations of one program on one feed, made when the first difference asks for them."""

    def __init__(self, program: Program, arrays: Sequence[Array], masks: Mapping[str, Array]) -> None:
        self._program = program
        self._arrays = arrays
        self._masks = masks
        self._runs: list[list[Array]] = []

    def covers(self, k: int, want: Array, got: Array, clean: bool) -> Array:
        """Where output k's difference between `want` and `got` (equal shapes and dtypes) may come from rounding.

        `clean`: nothing in the body overflowed or was no number; then neither may the program, or it is another one.
        """
        if not self._runs:
            noise = Noise(0)
            self._runs = [evaluate(self._program, self._arrays, self._masks, noise) for _ in range(RUNS)]
        runs = [r[k] for r in self._runs]
        if not clean and any(line.op == "index" for line in self._program.instrs):
            return self._moved(runs, want, got, clean) | self._rows_without_a_greatest(k)
        return self._moved(runs, want, got, clean)

    def _rows_without_a_greatest(self, k: int) -> Array:
        """Where output k lies in a row with a NaN whose greatest is asked for: libraries differ in which it is."""
        run = Run(self._program, self._masks)
        run.bind(self._arrays)
        lost: Array = np.zeros((), np.bool_)
        with np.errstate(all="ignore"):
            for line in self._program.instrs:
                run.values[line.name] = run.execute(line)
                source = line.operands[0] if line.op == "reduce_max" else None
                if isinstance(source, Value) and (row := len(run.types[source.name].cols or ())):
                    bad = np.isnan(run.values[source.name].astype(np.float64))
                    lost = lost | bad.any(axis=tuple(range(-min(row, bad.ndim), 0)), keepdims=True)
        output = self._program.outputs[k]
        run.values = {**{n: np.zeros_like(v, np.bool_) for n, v in run.values.items()}, output.name: lost}
        return run.output(output)

    def _moved(self, runs: Sequence[Array], want: Array, got: Array, clean: bool) -> Array:
        if want.dtype.kind in "biu":
            return np.asarray(np.any([r != got for r in runs], axis=0))
        with np.errstate(all="ignore"):
            moves = [np.abs(r.astype(np.float64) - got.astype(np.float64)) for r in runs]
            move = np.max(np.nan_to_num(moves, nan=np.inf), axis=0)
            near = np.abs(want.astype(np.float64) - got) <= FACTOR * move
        met = np.any([r == want for r in runs], axis=0)
        if clean:
            return np.asarray(met | (near & np.isfinite(got) & np.isfinite(move)))
        # No number there says nothing of the number here: Dropout of infinity is 0 · inf in one library, 0 in another.
        return np.asarray(met | near | np.isinf(move) | np.isnan(want))
