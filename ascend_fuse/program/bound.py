"""How far a kernel's outputs may lie from the reference: |computed - exact| ≤ c·u·Σ|terms| per line, carried on.

Each line of the program adds an error of its own and carries those of its operands on, as far as it moves when these
move by their errors. A bool or a number that may fall either way takes both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import Run, dtype_of
from ascend_fuse.program.product import bound_of_sums
from ascend_fuse.program.program import Instr, Program, Value

Array = npt.NDArray[Any]
# Unit roundoff, and the step of the smallest numbers (float32's below 2^-126 may be flushed to zero).
UNITS = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38}
SMALLEST = {"f16": 2.0**-24, "bf16": 2.0**-126, "f32": 2.0**-126}
GREATEST = 65504.0  # of float16
SUMS = ("reduce_sum", "reduce_mean", "matmul")
QUOTIENT, DIVISOR = 2.0**29, (2.0**-90, 2.0**100)  # for which the kernel's remainder is exact
TILE = 512  # a streamed row adds up tile by tile, of at least as many elements


@dataclass(frozen=True, slots=True)
class Local:
    """A line's own error: c · u · terms. `narrow`: f16 computes in f16, else in f32 with one rounding at the end.

    `flushed`: a factor of the operand, too small for float32, may be zero.
    """

    c: float
    terms: str  # y: the result | x: the operand | one+x | power | sum | product
    why: str
    narrow: bool = False
    flushed: bool = False


_ROUNDED = Local(0, "y", "one rounding, which every line has")
EXACT = frozenset(  # never rounded
    "max min where neg abs relu floor ceil round sign reduce_max reduce_min copy index random_uniform".split()
)
LOCAL: Mapping[str, Local] = {
    "div": Local(3, "y", "by a literal: its reciprocal, a product, and a scale where that is not normal", narrow=True),
    "sqrt": Local(1, "y", "one unit, as documented for the vector unit", narrow=True),
    "exp": Local(2, "y", "one unit in the last place, as documented for the vector unit", narrow=True),
    "log": Local(2, "y", "one unit in the last place, as documented for the vector unit", narrow=True),
    "rsqrt": Local(2, "y", "a root and a division"),
    "sin": Local(4, "one+x", "x loses its multiple of pi in four parts, the last exact to a unit of x"),
    "cos": Local(4, "one+x", "x loses its multiple of pi in four parts, the last exact to a unit of x"),
    "tanh": Local(8, "y", "two polynomials of five terms, their quotient, and the fit"),
    "erf": Local(8, "y", "two polynomials of seven and six terms, their quotient, and the fit"),
    "sigmoid": Local(6, "y", "exp of two units, a sum, a division"),
    "silu": Local(
        6, "y", "exp of two units, a sum, a division; exp(-x) overflows where x is under -88.7", flushed=True
    ),
    "gelu": Local(8, "x", "1 + erf(x / sqrt(2)) cancels where x is negative: units are of x"),
    "gelu_tanh": Local(8, "x", "exp's argument has four roundings, which its decay outweighs: units are of x"),
    "pow": Local(6, "power", "exp(b ln|a|), or up to sixteen products"),
    "sinh": Local(20, "y", "tanh of eight units times cosh"),
    "cosh": Local(8, "y", "squares of two exponentials, and their sum"),
    "atan": Local(10, "y", "two polynomials of four terms, their quotient, the fit, and a difference from pi / 2"),
    "asin": Local(14, "y", "a root and a division before atan, which passes on no more than it gets"),
    "acos": Local(14, "y", "a division and a root before atan, which passes on no more than it gets"),
    "asinh": Local(16, "y", "ln(1 + w) of two units and what rounding lost, with w of eight"),
    "acosh": Local(16, "y", "ln(1 + w) of two units and what rounding lost, with w of eight"),
    "atanh": Local(12, "y", "ln(1 + w) of two units and what rounding lost, with w of three"),
    "reduce_prod": Local(2, "product", "a product for each element"),
    "reduce_sum": Local(20, "sum", "trees of 64 lanes, stage by stage, then tile by tile"),
    "reduce_mean": Local(21, "sum", "as the sum, and a factor"),
}


class _Bounds(Run):
    """One evaluation with the error of each value beside it."""

    def __init__(self, program: Program, masks: Mapping[str, Array], saturates: bool) -> None:
        super().__init__(program, masks)
        self.saturates = saturates
        self.made = {Value(line.name) for line in program.instrs}
        self.errors: dict[str, Array] = {}

    def wide(self, line: Instr, values: Mapping[str, Array]) -> Array:
        """The line in float64, unrounded, on other operands."""
        kept, self.values = self.values, {**self.values, **values}
        is_float = line.type.dtype in UNITS
        try:
            found = self.execute(replace(line, type=replace(line.type, dtype="f64")) if is_float else line)
        finally:
            self.values = kept
        return found.astype(np.float64)

    def carried(self, line: Instr) -> Array:
        """The most that the line moves when its operands move by their errors, each both ways."""
        if line.op in ("reduce_prod", "mod"):
            return self.grown(line) if line.op == "reduce_prod" else self.left_over(line)
        moving = sorted({o.name for o in line.operands if isinstance(o, Value) and self.errors[o.name].any()})
        centre = self.wide(line, {})
        most = np.zeros_like(centre)
        for signs in product((-1.0, 0.0, 1.0), repeat=len(moving)):
            moved = {name: self.moved(name, sign) for name, sign in zip(moving, signs, strict=True)}
            most = np.maximum(most, distance(self.wide(line, moved), centre))
        if line.op == "eq" and moving:
            most = np.maximum(most, self.meets(line))
        most = np.where(self.unknown(line, centre.shape), 1.0 if line.type.dtype == "bool" else np.inf, most)
        return np.where(self.overflows(line), np.inf, most) if line.op in SUMS else most

    def overflows(self, line: Instr) -> Array:
        """Where a part of a sum may overflow float32, in which it is taken in any order: then anything comes."""
        names = [o.name for o in line.operands if isinstance(o, Value)]
        sizes = {n: np.nan_to_num(np.abs(self.values[n].astype(np.float64)), posinf=0.0) for n in names}
        total = self.wide(line, sizes) * (self.row_length(line) if line.op == "reduce_mean" else 1)
        return total > LARGEST["f32"]

    def beyond(self, line: Instr) -> Array:
        """Where what is to be an integer is no number or beyond its ends: ONNX leaves open what it becomes."""
        ends = np.iinfo(dtype_of(line.type.dtype))
        value = self.values[_name(line)]
        if value.dtype.kind in "iub":
            return np.zeros((), np.bool_)
        trunc = np.trunc(value.astype(np.float64))
        return ~((trunc >= ends.min) & (trunc <= ends.max))

    def grown(self, line: Instr) -> Array:
        """The most that a product of a row moves: its factors' errors may all be away from zero.

        It is taken in any order: a part of it may overflow, or be flushed before large factors come.
        """
        name = _name(line)
        size = np.abs(self.values[name].astype(np.float64))
        most = size + self.errors[name]
        parts = self.wide(line, {name: np.maximum(most, 1)})
        moved = self.wide(line, {name: most}) - self.wide(line, {name: size})
        moved += parts * self.row_length(line) * SMALLEST["f32"]
        return np.where(parts < LARGEST["f32"], np.nan_to_num(moved, nan=np.inf, posinf=np.inf), np.inf)

    def left_over(self, line: Instr) -> Array:
        """What a remainder moves: as its operands do, times the quotient, or by a divisor beside one of its ends.

        The kernel takes quotients of 29 bits, and divisors whose halves are normal; beyond, anything may come.
        """
        dtype = line.type.dtype
        a, b = (np.abs(self.operand(o, dtype).astype(np.float64)) for o in line.operands)
        moves = [self.errors[o.name] if isinstance(o, Value) else np.zeros(()) for o in line.operands]
        rest, quotient = np.fmod(a, b), a / b
        moved = moves[0] + moves[1] * (quotient + 1)
        turns = (moved > 0) & ((rest <= moved) | (b - rest <= moved))
        held = ~(quotient >= QUOTIENT) & ~(np.maximum(a, b) > DIVISOR[1]) & ~((b > 0) & (b < DIVISOR[0]))
        known = np.isnan(rest) & (moved == 0)
        return np.where(held | known, np.nan_to_num(np.where(turns, b + moved, moved), nan=np.inf), np.inf)

    def meets(self, line: Instr) -> Array:
        """1 where the operands of a comparison may be equal."""
        like = self.types[_name(replace(line, operands=tuple(o for o in line.operands if isinstance(o, Value))))].dtype
        a, b = (self.operand(o, like).astype(np.float64) for o in line.operands)
        errors = [self.errors[o.name] if isinstance(o, Value) else np.zeros(()) for o in line.operands]
        return np.where(np.abs(a - b) <= errors[0] + errors[1], 1.0, 0.0) * (errors[0] + errors[1] > 0)

    def unknown(self, line: Instr, shape: tuple[int, ...]) -> Array:
        """Where anything may come of an operand, be it a zero whose sign decides or a number that no integer holds."""
        open_ones = [np.isinf(self.errors[o.name]) for o in line.operands if isinstance(o, Value)]
        if line.op == "cast" and line.type.dtype[0] in "iu":
            open_ones.append(self.beyond(line))
        if line.op == "pow":
            base, exponent = (self.operand(o, line.type.dtype) for o in line.operands)
            open_ones.append((base == 0) & (exponent < 0))
        if line.op in ("div", "recip", "rsqrt") and line.operands[-1] in self.made:
            open_ones.append(self.operand(line.operands[-1], line.type.dtype) == 0)  # a maximum of both zeros is either
        if line.op == "gelu":  # x · (1 + erf) is halved behind
            open_ones.append(self.magnitudes(line)[0] > LARGEST["f32"] / 2)
        if not any(o.any() for o in open_ones):
            return np.zeros(shape, np.bool_)
        if line.op.startswith("reduce_"):
            row = self.aligned(open_ones[0], self.types[_name(line)].extents)
            full = np.broadcast_to(open_ones[0], row)
            axes = tuple(range(-len(self.types[_name(line)].cols or ()), 0))
            return np.asarray(full.any(axis=axes, keepdims=True))
        return np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*open_ones)), shape)

    def moved(self, name: str, sign: float) -> Array:
        value, error = self.values[name], self.errors[name]
        if value.dtype == np.bool_:
            return np.where((error > 0) & (sign > 0), ~value, value)
        if value.dtype.kind in "iu":
            return value + np.where(np.isfinite(error), sign * error, 0).astype(value.dtype)
        return value.astype(np.float64) + sign * error

    def rounding(self, line: Instr) -> Array | float:
        """The line's own error; the reference rounds as well as the kernel."""
        dtype = line.type.dtype
        if dtype not in UNITS:
            return 0.0
        y = np.abs(np.nan_to_num(self.wide(line, {}), nan=0.0, posinf=0.0, neginf=0.0))
        if line.op in EXACT:
            return np.where(y < SMALLEST[dtype], y, 0.0)  # flushed to zero at most
        if line.op == "matmul":
            left, right = (self.operand(o, dtype) for o in line.operands)
            sums = bound_of_sums(left, right, *self.ends(line)).reshape(y.shape)
            return 2 * y * UNITS[dtype] + sums * (1 + UNITS[dtype]) + SMALLEST[dtype]
        local = LOCAL.get(line.op, _ROUNDED)
        unit = UNITS[dtype] if local.narrow and dtype == "f16" else UNITS["f32"]
        own = 2 * y * UNITS[dtype] + local.c * unit * self.terms(line, local, y) + SMALLEST[dtype]
        return own + SMALLEST["f32"] * self.magnitudes(line)[0] if local.flushed else own

    def terms(self, line: Instr, local: Local, y: Array) -> Array:
        if local.terms == "y" or local.c == 0:
            return y
        if local.terms == "product":
            return y * self.row_length(line)
        x = self.magnitudes(line)
        if local.terms == "power":
            log = np.nan_to_num(np.log(np.maximum(x[0], 1e-300)))
            return y * (16 + np.minimum(np.abs(x[1] * log), 100))
        if local.terms != "sum":
            return x[0] + (1 if local.terms == "one+x" else 0)
        source = _name(line)
        total = self.wide(line, {source: np.abs(self.values[source].astype(np.float64))})
        return np.nan_to_num(total) * (1 + self.row_length(line) / TILE / local.c)

    def row_length(self, line: Instr) -> int:
        """How many elements a reduction takes together."""
        return math.prod(self.shape(self.types[_name(line)].cols or ()))

    def magnitudes(self, line: Instr) -> list[Array]:
        """|operand|, of each."""
        return [np.abs(np.nan_to_num(self.operand(o, line.type.dtype).astype(np.float64))) for o in line.operands]

    def follow(self, line: Instr) -> None:
        """Values and errors of a line."""
        if line.op in ("slice", "concat", "broadcast", "copy"):
            errors = {o.name: self.errors[o.name] for o in line.operands if isinstance(o, Value)}
            error = self.wide(replace(line, type=replace(line.type, dtype="f64")), errors)
        else:
            error = self.carried(line) + self.rounding(line)
        value = self.values[line.name] = self.execute(line)
        if line.type.dtype in LARGEST:  # one of two may overflow where the other just does not
            size = np.abs(value.astype(np.float64))
            error = np.where(np.isfinite(size) & (size + error > LARGEST[line.type.dtype]), np.inf, error)
        if self.saturates and line.type.dtype == "f16":
            size = np.abs(value.astype(np.float64)) + error
            error = np.where(size < GREATEST, error, np.inf)
        self.errors[line.name] = np.broadcast_to(error, value.shape)


def _name(line: Instr) -> str:
    source = line.operands[0]
    assert isinstance(source, Value)
    return source.name


def distance(a: Array, b: Array) -> Array:
    """|a - b|; 0 where both are the same infinity or both no number, infinite where only one is."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))


def outside(found: Array, wanted: Array, bound: Array) -> Array:
    """Where an array is beyond its bound; a NaN or an infinity that only one has is, unless anything may come."""
    return distance(found, wanted) > bound


def bounds(
    program: Program, arrays: Sequence[Array], masks: Mapping[str, Array] | None = None, saturates: bool = False
) -> list[tuple[Array, Array]]:
    """For each output: the reference, and how far a kernel's result may lie from it (infinite: anything).

    `arrays`: inputs in the order of the `in` lines; `masks`: what is drawn, by line name. `saturates`: the chip's
    float16 has neither infinity nor NaN (910A, 310P, 310B). Raises UsageError when a shape contradicts the program.
    """
    run = _Bounds(program, masks or {}, saturates)
    run.bind(arrays)
    with np.errstate(all="ignore"):
        run.errors = {name: np.zeros(value.shape) for name, value in run.values.items()}
        for line in program.instrs:
            run.follow(line)
        outputs = [run.output(o) for o in program.outputs]
        run.values = run.errors
        return list(zip(outputs, (run.output(o) for o in program.outputs), strict=True))
