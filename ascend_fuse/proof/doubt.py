"""Which elements of a result say something: those that rounding, overflow or NaN do not decide.

`x - tanh(x)` near zero, `floor(sigmoid(x))` near one or the maximum of a row with a NaN differ between any two correct
libraries. The program is evaluated again with every instruction a few last places off; what moves by as much as two
results differ is no evidence against either. Where something decides by a number that moves (`jump`), a result has to
be one of those that it may decide for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import Run, evaluate
from ascend_fuse.program.noise import Noise
from ascend_fuse.program.program import Program, Value
from ascend_fuse.proof.jump import FACTOR, WATCHED, Outcome, decisions, is_mixed, outcomes

Array = npt.NDArray[Any]


class Doubt:
    """Noisy evaluations of one program on one feed, made when the first difference asks for them."""

    def __init__(self, program: Program, arrays: Sequence[Array], masks: Mapping[str, Array], clean: bool) -> None:
        """`clean`: nothing in the body overflowed or was no number; then neither may the program."""
        self._clean = clean
        self._program = program
        self._arrays = arrays
        self._masks = masks
        self._decisions = decisions(program)

    @cached_property
    def _noisy(self) -> list[list[Array]]:
        noise = Noise(0)
        return [evaluate(self._program, self._arrays, self._masks, noise) for _ in range(WATCHED)]

    @cached_property
    def _outcomes(self) -> list[Outcome]:
        return outcomes(self._program, self._arrays, self._masks, self._decisions, self._clean)

    def covers(self, k: int, want: Array, got: Array, slack: Array) -> Array:
        """Where output k's difference between `want` and `got` (equal shapes and dtypes) may come from rounding.

        `slack`: how far two right results of one decision may lie apart.
        """
        if self._decisions:
            found = _met(self._outcomes, k, want, self._clean, slack, is_mixed(self._program, self._decisions))
        else:
            found = _moved([run[k] for run in self._noisy], want, got, self._clean)
        if not self._clean and any(line.op == "index" for line in self._program.instrs):
            return found | self._rows_without_a_greatest(k)
        return found

    def open(self, k: int, got: Array, slack: Array) -> Array:
        """Where output k may be another value than `got` by more than the slack, and so an equal one says nothing."""
        known = self._outcomes if self._decisions else [Outcome(run, [run]) for run in self._noisy]
        runs = [run[k] for outcome in known for run in (outcome.still, *outcome.noisy)]
        with np.errstate(all="ignore"):
            moves = [np.nan_to_num(_distance(r, got), nan=np.inf) for r in runs]
        return np.asarray(np.max(moves, axis=0) > slack)

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


def _distance(a: Array, b: Array) -> Array:
    """|a - b|, 0 for what is the same."""
    same = (a == b) | ((a != a) & (b != b))
    return np.where(same, 0.0, np.abs(a.astype(np.float64) - b.astype(np.float64)))


def _met(found: Sequence[Outcome], k: int, want: Array, clean: bool, slack: Array, mixed: bool) -> Array:
    """Where `want` is what an outcome has, or if many decisions are `mixed` between the least and greatest of them."""
    runs = [run[k] for outcome in found for run in (outcome.still, *outcome.noisy)]
    met = np.any([(r == want) | ((r != r) & (want != want)) for r in runs], axis=0)
    if want.dtype.kind == "b":
        return np.asarray(met)
    with np.errstate(all="ignore"):
        still = np.stack([outcome.still[k].astype(np.float64) for outcome in found])
        room = slack + np.stack([outcome.move(k) for outcome in found])
        if mixed:
            room = room.max(axis=0)
            near = (want >= still.min(axis=0) - room) & (want <= still.max(axis=0) + room)
        else:
            near = np.any(np.abs(still - want) <= room, axis=0)
    numbers = np.isfinite(room).all(axis=0) & np.isfinite(still).all(axis=0)
    if clean or want.dtype.kind != "f":
        return np.asarray(met | (near & numbers))
    return np.asarray(met | near | ~numbers | np.isnan(want))


def _moved(runs: Sequence[Array], want: Array, got: Array, clean: bool) -> Array:
    """Where the result moves by as much as `want` is off."""
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
