"""The reference of truth: a program on numpy arrays, instruction by instruction, rounded once per instruction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.error import UsageError
from ascend_fuse.program.noise import Noise
from ascend_fuse.program.product import bound_of_sums, multiply
from ascend_fuse.program.program import (
    DRAW,
    Extent,
    Instr,
    Literal,
    Operand,
    Output,
    OwnShape,
    Program,
    Shape,
    Type,
    Value,
    literal_dtype,
)

Array = npt.NDArray[Any]


@cache
def _dtypes() -> Mapping[str, np.dtype[Any]]:
    import ml_dtypes  # comes with onnx

    names = {"f32": "float32", "f16": "float16", "f64": "float64", "bool": "bool"}
    names |= {f"{s}{b}": f"{'u' if s == 'u' else ''}int{b}" for s in "iu" for b in (8, 16, 32, 64)}
    return {k: np.dtype(v) for k, v in names.items()} | {"bf16": np.dtype(ml_dtypes.bfloat16)}


def dtype_of(name: str) -> np.dtype[Any]:
    """numpy's dtype for a name of the program text."""
    return _dtypes()[name]


def _erf(x: Array) -> Array:
    from math import erf

    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x.astype(np.float64))) if x.size else x


def _sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _silu(x: Array) -> Array:
    return x * _sigmoid(x)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + _erf(x / np.sqrt(2.0)))


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# Elementwise operators on the compute type (f64 for floats, so that one rounding follows; integers as they are).
_MAP: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "pow": np.power, "mod": np.fmod, "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "eq": np.equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "where": np.where, "not": np.logical_not,
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "rsqrt": _rsqrt,
    "recip": np.reciprocal, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": _sigmoid, "erf": _erf, "relu": _relu, "floor": np.floor, "ceil": np.ceil,
    "round": np.rint, "sign": np.sign, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "silu": _silu,
    "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor, "bit_not": np.invert,
}  # fmt: skip
_REDUCE: dict[str, Callable[..., Array]] = {
    "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_prod": np.prod,
    "reduce_max": partial(np.max, initial=-math.inf), "reduce_min": partial(np.min, initial=math.inf),
}  # fmt: skip
_FLOATS = ("f16", "bf16", "f32")


def _divide(a: Array, b: Array, is_float: bool) -> Array:
    """Floats divide; integers truncate towards zero, as ONNX's Div does."""
    if is_float:
        return np.divide(a, b)
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.maximum(np.abs(b), 1)))


class Run:
    """One evaluation: the sizes that the inputs bind, and the values so far, each broadcastable to its type."""

    def __init__(self, program: Program, masks: Mapping[str, Array], noise: Noise | None = None) -> None:
        self.program = program
        self.masks = masks
        self.noise = noise
        self.sizes: dict[str, int] = {}
        self.values: dict[str, Array] = {}
        self.types = program.types()

    def size(self, extent: Extent) -> int:
        if isinstance(extent, int):
            return extent
        if extent not in self.sizes:
            raise UsageError(f"no input binds {extent}")
        return self.sizes[extent]

    def shape(self, extents: Shape) -> tuple[int, ...]:
        return tuple(self.size(e) for e in extents)

    def own(self, shape: OwnShape) -> tuple[int, ...]:
        return tuple(math.prod(self.shape(size)) for size in shape)

    def bind(self, arrays: Sequence[Array]) -> None:
        """Symbols that stand alone take the real sizes; then every size must agree."""
        read = [(i, a) for i, a in zip(self.program.inputs, arrays, strict=True) if not i.host]
        for line, array in read:
            if len(line.tensor_shape) != array.ndim:
                raise UsageError(f"input {line.name} has shape {array.shape}, not {line.tensor_shape}")
            for factors, size in zip(line.tensor_shape, array.shape, strict=True):
                if factors[0] in line.bound and len(factors) == 1:
                    self.sizes.setdefault(str(factors[0]), size)
        for line, array in read:
            wanted = self.own(line.tensor_shape)
            if wanted != array.shape:
                raise UsageError(f"input {line.name} has shape {array.shape} where the program has {wanted}")
            if line.side == "past":  # it lies on no axes
                self.values[line.name] = array.astype(dtype_of(line.type.dtype))
                continue
            typed = array.reshape(self.shape(line.memory)).astype(dtype_of(line.type.dtype))
            self.values[line.name] = typed.transpose(np.argsort(line.order)) if line.order else typed

    def operand(self, operand: Operand, like: str) -> Array:
        if not isinstance(operand, Value):
            return np.asarray(operand, dtype_of(like))
        return self.values[operand.name]

    def shaken(self, line: Instr, x: Array) -> Array:
        """The line's value, beside the right one when there is noise."""
        if self.noise is None or line.type.dtype not in _FLOATS:
            return x
        if line.op == "matmul":
            left, right = (self.values[_name(o)] for o in line.operands)
            return self.noise.beside(x, bound_of_sums(left, right, *self.ends(line)).reshape(x.shape))
        return self.noise.shake(line.op, x)

    def execute(self, line: Instr) -> Array:
        out = dtype_of(line.type.dtype)
        like = literal_dtype(line, {n: t.dtype for n, t in self.types.items()})
        operands = [self.operand(o, like) for o in line.operands]
        wide = [o.astype(np.float64) if o.dtype.kind not in "iub" else o for o in operands]
        if line.op == "cast":
            return operands[0].astype(out)
        if line.op == "matmul":
            # Integers sum in 64 bits and wrap to the result's.
            left, right = (w if w.dtype == np.float64 else w.astype(np.int64) for w in wide)
            full = multiply(left, right, *self.ends(line))
            return full.reshape(self.shape(line.type.extents)).astype(out)
        if line.op == "div":
            return _divide(wide[0], wide[1], like in (*_FLOATS, "f64")).astype(out)
        if line.op in _MAP:
            return np.asarray(_MAP[line.op](*wide)).astype(out)
        return self.row(line, operands, wide, out)

    def ends(self, line: Instr) -> tuple[int, int]:
        """How many k and n axes a product's operands end in."""
        left = self.types[_name(line.operands[0])]
        return len(left.cols or ()), len(self.program.cols or ())

    def row(self, line: Instr, operands: list[Array], wide: list[Array], out: np.dtype[Any]) -> Array:
        if line.op in _REDUCE:
            source = self.types[_name(line.operands[0])]
            full = np.broadcast_to(wide[0], self.aligned(wide[0], source.extents))
            axes = tuple(range(-len(source.cols or ()), 0))
            return np.asarray(_REDUCE[line.op](full, axis=axes, keepdims=True)).astype(out)
        if line.op == "slice":
            return np.atleast_1d(operands[0])[..., int(line.attributes["start"]) : int(line.attributes["stop"])]
        if line.op == "concat":
            operands = [np.atleast_1d(o) for o in operands]
            lead = np.broadcast_shapes(*(o.shape[:-1] for o in operands))
            parts = [np.broadcast_to(o, (*lead, o.shape[-1])) for o in operands]
            return np.concatenate(parts, axis=-1)
        if line.op in ("broadcast", "copy"):
            return np.broadcast_to(operands[0], self.shape(line.type.extents))
        if line.op == "index":
            row = self.shape(line.type.cols or ())
            return np.arange(math.prod(row), dtype=out).reshape(row)
        if line.op.startswith(DRAW):
            return np.broadcast_to(self.masks[line.name], self.shape(line.type.extents)).astype(out)
        raise UsageError(f"operator {line.op!r} has no reference")

    def output(self, line: Output) -> Array:
        """The tensor, with its other part if it has one."""
        full = np.broadcast_to(self.values[line.name], self.shape(self.types[line.name].extents))
        full = full.transpose(line.order) if line.order else full
        own = full if line.shape is None else full.reshape(self.own(line.shape))
        if line.join is None:
            return own
        parts = (self.values[line.join.past], own)
        return np.concatenate(parts if line.join.behind else parts[::-1], axis=line.join.axis)

    def aligned(self, array: Array, extents: Shape) -> tuple[int, ...]:
        """The full extents, for a value that broadcasts inside its row."""
        return np.broadcast_shapes(array.shape, self.shape(extents))


def _name(operand: Operand) -> str:
    assert isinstance(operand, Value)
    return operand.name


def evaluate(
    program: Program,
    arrays: Sequence[Array],
    masks: Mapping[str, Array] | None = None,
    noise: Noise | None = None,
) -> list[Array]:
    """The outputs for inputs in the order of the `in` lines; `masks`: what is drawn, by line name.

    Floats compute in float64 and round once per instruction, with `noise` a few last places beside the right value.
    Raises UsageError when a shape contradicts the program.
    """
    run = Run(program, masks or {}, noise)
    run.bind(arrays)
    with np.errstate(all="ignore"):
        for line in program.instrs:
            run.values[line.name] = run.shaken(line, run.execute(line))
    return [run.output(o) for o in program.outputs]


def fold(op: str, numbers: Sequence[Literal], dtype: str) -> Literal:
    """The number that an elementwise operator, whose result has its operands' dtype, makes of numbers."""
    line = Instr("", Type(dtype, (1,)), op, tuple(numbers))
    with np.errstate(all="ignore"):
        found = Run(Program("elementwise", (1,), None, (), (), ()), {}).execute(line).item()
    return found if isinstance(found, bool | int) else float(found)


def operators() -> frozenset[str]:
    """Every operator that the reference computes."""
    rest = {"matmul", "div", "cast", "slice", "concat", "broadcast", "copy", "index", "random_keep", "random_uniform"}
    return frozenset(_MAP) | frozenset(_REDUCE) | rest
