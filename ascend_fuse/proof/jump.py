"""Values at which rounding alone decides between results that lie apart: floors, comparisons, conversions.

`ceil(x)` is 0 or 1 where x is a number of which rounding leaves no more than the sign. What such a line decides by is
watched in noisy evaluations; of two values that are compared it is their difference, so that one which is compared
with itself is never in doubt. Then the program is evaluated with every such number pushed to either side, as far as it
moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import Run, dtype_of
from ascend_fuse.program.noise import EXACT, Noise
from ascend_fuse.program.program import Instr, Program, Value

Array = npt.NDArray[Any]
Side = Callable[[str, tuple[int, ...]], Array | float]  # where a line of that shape is pushed: 1 up, -1 down
STEPS: Mapping[str, Callable[[Array], Array]] = {
    "floor": np.floor, "ceil": np.ceil, "round": np.rint,
}  # fmt: skip
ORDERS: Mapping[str, Callable[[Array, float], Array]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
LOGIC = frozenset(("eq", "and", "or", "xor", "not", *ORDERS))
WATCHED, MOVED, PUSHED = 8, 4, 16  # evaluations: to see what moves, of each outcome, and outcomes
HUGE = 1e38
FACTOR = 8.0  # the greatest move of WATCHED random ones underestimates the greatest possible one


def decisions(program: Program) -> frozenset[str]:
    """The lines whose result jumps where what they decide by moves, if rounding may have moved that."""
    inexact: set[str] = set()
    found: set[str] = set()
    for line in program.instrs:
        moved = any(isinstance(o, Value) and o.name in inexact for o in line.operands)
        if moved or line.op not in EXACT | LOGIC:
            inexact.add(line.name)
        if moved and (line.op in STEPS or line.op in ORDERS or line.op in ("eq", "mod", "sign") or _to_whole(line)):
            found.add(line.name)
    return frozenset(found)


def _to_whole(line: Instr) -> bool:
    return line.op == "cast" and line.type.dtype[0] in "iub"


class _Watching(Run):
    """Keeps what the lines of interest decide by."""

    def __init__(
        self, program: Program, masks: Mapping[str, Array], lines: frozenset[str], noise: Noise | None = None
    ) -> None:
        super().__init__(program, masks, noise)
        self._lines = lines
        self.seen: dict[str, Array] = {}

    def execute(self, line: Instr) -> Array:
        if line.name in self._lines:
            self.seen[line.name] = self.decider(line)
        return super().execute(line)

    def decider(self, line: Instr) -> Array:
        """The number in float64, of comparisons the difference, of remainders the quotient."""
        first = next(o for o in line.operands if isinstance(o, Value))
        like = self.types[first.name].dtype
        a, *others = (self.operand(o, like).astype(np.float64) for o in line.operands)
        if line.op == "mod":
            return np.asarray(a / others[0])
        return np.asarray(a - others[0]) if others else a

    def outputs(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs for these inputs."""
        self.bind(arrays)
        with np.errstate(all="ignore"):
            for line in self.program.instrs:
                self.values[line.name] = self.shaken(line, self.execute(line))
        return [self.output(o) for o in self.program.outputs]


class _Pushing(_Watching):
    """What the lines decide by goes to a side: up, down, or each element to one of its own."""

    def __init__(
        self,
        program: Program,
        masks: Mapping[str, Array],
        noise: Noise | None,
        widths: Mapping[str, Array],
        side: Side,
        decided: Mapping[str, Array] | None = None,
    ) -> None:
        """`decided`: what lines came to in another evaluation, to be kept."""
        super().__init__(program, masks, frozenset(), noise)
        self._widths = widths
        self._side = side
        self.decided = dict(decided or {})

    def execute(self, line: Instr) -> Array:
        if line.name in self.decided:
            return self.decided[line.name]
        found = super().execute(line)
        width = self._widths.get(line.name)
        if width is None:
            return found
        found = self._pushed(line, found, width)
        if line.op != "mod":  # what is left of a number moves on with it
            self.decided[line.name] = found
        return found

    def _pushed(self, line: Instr, found: Array, width: Array) -> Array:
        number, side = self.decider(line), self._side(line.name, width.shape)
        number = np.where(np.isfinite(number) | (width == 0), number, 0.0)
        at = np.abs(number) <= width  # of what jumps at one point alone, which no push would meet
        if line.op == "sign":
            return np.asarray(np.where(at & (width > 0), np.sign(side), found)).astype(found.dtype)
        if line.op == "eq" or (line.op == "cast" and line.type.dtype == "bool"):
            return np.asarray(np.where(at & (width > 0), (line.op == "eq") == (np.asarray(side) > 0), found))
        if line.op == "mod":
            return np.asarray(np.where(width > 0, self._left_over(line, number, side * width, width), found))
        moved = self._moved(line, number + side * width)
        return np.asarray(np.where(width > 0, moved, found)).astype(found.dtype)

    def _moved(self, line: Instr, number: Array) -> Array:
        """The line's value when it decides by that number."""
        if line.op in ORDERS:
            return ORDERS[line.op](number, 0.0)
        return STEPS[line.op](number) if line.op in STEPS else number.astype(dtype_of(line.type.dtype))

    def _left_over(self, line: Instr, quotient: Array, push: Array, width: Array) -> Array:
        """What is left when the quotient is cut at another whole number; anything where rounding leaves none of it."""
        a, b = (self.operand(o, line.type.dtype).astype(np.float64) for o in line.operands)
        left = np.fmod(a, b) + (np.trunc(quotient) - np.trunc(quotient + push)) * b
        none = np.zeros(left.shape)
        anything = none if self.noise is None else self.noise.beside(none, np.abs(b))
        return np.where(width < 0.5, left, anything).astype(dtype_of(line.type.dtype))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outputs where everything was decided in one way: as the program computes them, and a few last places off."""

    still: list[Array]
    noisy: list[list[Array]]

    def move(self, k: int) -> Array:
        """How far rounding moves output k."""
        moves = [np.abs(run[k].astype(np.float64) - self.still[k].astype(np.float64)) for run in self.noisy]
        return np.asarray(FACTOR * np.max(moves, axis=0))


def is_mixed(program: Program, lines: frozenset[str]) -> bool:
    """Whether one element of a result may depend on more decisions than are tried in every combination."""
    decided = set(lines)
    for line in program.instrs:
        if any(isinstance(o, Value) and o.name in decided for o in line.operands):
            if line.op.startswith("reduce_"):
                return True
            decided.add(line.name)
    return prod(map(len, _choices(program, lines).values())) > PUSHED


def _choices(program: Program, lines: frozenset[str]) -> dict[str, tuple[float, ...]]:
    """The sides of each line: up and down, of a sign nothing as well."""
    return {i.name: (1.0, -1.0, 0.0) if i.op == "sign" else (1.0, -1.0) for i in program.instrs if i.name in lines}


def _sides(program: Program, lines: frozenset[str]) -> Iterator[Side]:
    """Every combination of sides; where there are too many, up, down, and elements to sides of their own."""
    choices = _choices(program, lines)
    if not is_mixed(program, lines):
        yield from (partial(_of_line, dict(zip(choices, signs, strict=True))) for signs in product(*choices.values()))
        return
    for sign in (1.0, -1.0):
        yield partial(_of_line, dict.fromkeys(lines, sign))
    rng = np.random.default_rng(0)
    for _ in range(PUSHED):
        yield partial(_of_element, rng, choices)


def _of_line(signs: Mapping[str, float], line: str, shape: tuple[int, ...]) -> float:
    """The same side for all elements."""
    return signs[line]


def _of_element(
    rng: np.random.Generator, choices: Mapping[str, tuple[float, ...]], line: str, shape: tuple[int, ...]
) -> Array:
    """A side for each element."""
    return rng.choice(choices[line], shape)


def outcomes(
    program: Program, arrays: Sequence[Array], masks: Mapping[str, Array], lines: frozenset[str], clean: bool
) -> list[Outcome]:
    """What the program computes when what the lines decide by is pushed to its sides.

    What is no number decides as it is, but where another library may have one: unless the body was `clean`.
    """
    noise = Noise(0)
    still = _Watching(program, masks, lines)
    still.outputs(arrays)
    widths = {name: np.zeros(found.shape) for name, found in still.seen.items()}
    with np.errstate(all="ignore"):
        for _ in range(WATCHED):
            run = _Watching(program, masks, lines, noise)
            run.outputs(arrays)
            for name, found in run.seen.items():
                moved = np.nan_to_num(np.abs(found - still.seen[name]), nan=0.0, posinf=HUGE)
                widths[name] = np.maximum(widths[name], FACTOR * moved)
    made: list[Outcome] = []
    for name, found in still.seen.items():
        widths[name] = np.where(np.isfinite(found), widths[name], 0.0 if clean else HUGE)
    for side in _sides(program, lines):
        first = _Pushing(program, masks, None, widths, side)
        outputs = first.outputs(arrays)
        others = [_Pushing(program, masks, noise, widths, side, first.decided) for _ in range(MOVED)]
        made.append(Outcome(outputs, [run.outputs(arrays) for run in others]))
    return made
