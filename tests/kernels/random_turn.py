"""Random programs with turned tensors: movements of any order and dtype, steps between Transposes, norms over channels."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import dtype_of

Array = npt.NDArray[Any]
DTYPES = ("f32", "f16", "bf16", "i32", "i16", "i8", "u8", "bool", "i64", "u32")
SIDES = (1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 100)
UNARY = ("relu", "tanh", "abs", "neg", "gelu")


@dataclass
class RandomTurn:
    """One program over constant sizes: `text`, and `arrays` in the order of its lines."""

    seed: int
    dtypes: tuple[str, ...] = DTYPES
    most: int = 60_000  # elements of the space
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.r = random.Random(self.seed)
        self.rng = np.random.default_rng(self.seed)
        self.dtype = self.r.choice(self.dtypes)
        self.space = [self.r.choice(SIDES) for _ in range(self.r.choice((2, 3, 3, 4, 4)))]
        while np.prod(self.space) > self.most:
            self.space[self.space.index(max(self.space))] = self.r.choice(SIDES[:6])
        self.bar = self.r.randrange(1, len(self.space))
        self.body: list[str] = []
        kind = self.r.choice(("move", "move", "steps", "norm"))
        floats = self.dtype in ("f32", "f16")
        outputs = (
            self.norm() if kind == "norm" and floats else self.steps() if kind == "steps" and floats else self.move()
        )
        self.family = "rowwise" if any("reduce" in line for line in self.body) else "transform"
        head = f"{self.family} 1 {self.dims(self.space)}"
        self.text = "\n".join([head, *self.lines, *self.body, "out " + ", ".join(outputs)])

    def dims(self, sizes: list[int]) -> str:
        return "[" + ", ".join(map(str, sizes[: self.bar])) + " | " + ", ".join(map(str, sizes[self.bar :])) + "]"

    def order(self, side: str | None = None) -> list[int]:
        """An order whose innermost axis is the last of the cols (straight) or of the rows (turned), if longer than 1."""
        side = side or self.r.choice(("straight", "turned"))
        cols = [k for k in range(self.bar, len(self.space)) if self.space[k] > 1]
        rows = [k for k in range(self.bar) if self.space[k] > 1]
        last = (cols or [len(self.space) - 1])[-1] if side == "straight" or not rows else rows[-1]
        if not cols:
            last = (rows or [0])[-1]
        rest = [k for k in range(len(self.space)) if k != last]
        return [*self.r.sample(rest, len(rest)), last]

    def suffix(self, order: list[int]) -> str:
        return " <" + " ".join(map(str, order)) + ">" if any(a > b for a, b in pairwise(order)) else ""

    def input(self, order: list[int], sizes: list[int] | None = None) -> str:
        name, sizes = f"x{len(self.lines)}", sizes or self.space
        self.lines.append(f"{name}: {self.dtype}{self.dims(sizes)} = in{self.suffix(order)}")
        self.arrays.append(self.draw([sizes[k] for k in order]))
        return name

    def draw(self, shape: list[int]) -> Array:
        kind = dtype_of(self.dtype)
        if self.dtype == "bool":
            return self.rng.random(shape) < 0.5
        if kind.kind in "iu":
            info = np.iinfo(kind)
            return self.rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
        return self.rng.standard_normal(shape).astype(kind)

    def line(self, op: str, *operands: str, dtype: str = "", row: bool = False) -> str:
        name = f"v{len(self.body)}"
        sizes = [*self.space[: self.bar], *([1] * (len(self.space) - self.bar))] if row else self.space
        self.body.append(f"{name}: {dtype or self.dtype}{self.dims(sizes)} = {op} {', '.join(operands)}")
        return name

    def ordered(self) -> tuple[list[int], list[int]]:
        """Orders of an input and an output, at least one of which is not the type's."""
        plain = list(range(len(self.space)))
        into, out = self.r.choice(((plain, self.order()), (self.order(), plain), (self.order(), self.order())))
        return (into, out) if self.suffix(into) or self.suffix(out) else (into, self.other(out))

    def other(self, order: list[int]) -> list[int]:
        """The order with two axes changed, one of them of one element, or the first two."""
        order = list(order)
        order[0], order[1] = order[1], order[0]
        return order

    def move(self) -> list[str]:
        into, out = self.ordered()
        x = self.input(into)
        outputs = [f"{self.line('copy', x)}{self.suffix(out)}"]
        if self.r.random() < 0.2:
            outputs.append(f"{self.line('copy', x)}{self.suffix(self.order())}")
        return outputs

    def steps(self) -> list[str]:
        into, out = self.ordered()
        value = self.input(into)
        outputs: list[str] = []
        for _ in range(self.r.choice((1, 2, 3))):
            roll = self.r.random()
            if roll < 0.4:
                value = self.line(self.r.choice(UNARY), value)
            elif roll < 0.7:
                value = self.line("add", value, self.input(self.order()))
            elif roll < 0.85:
                value = self.line("mul", value, self.row_value())
            else:
                flag = self.line("gt", value, "0.25", dtype="bool")
                outputs.append(f"{flag}{self.suffix(self.order())}")
                value = self.line("where", flag, value, "0.5")
        return [f"{value}{self.suffix(out)}", *outputs]

    def row_value(self) -> str:
        sizes = [*self.space[: self.bar], *([1] * (len(self.space) - self.bar))]
        return self.input(list(range(len(sizes))), sizes)

    def norm(self) -> list[str]:
        into, out = self.ordered()
        x = self.input(into)
        mean = self.line("reduce_mean", x, row=True)
        value = self.line("sub", x, mean)
        if self.r.random() < 0.5:
            value = self.line("mul", value, self.row_value())
        return [f"{value}{self.suffix(out)}", *([mean] if self.r.random() < 0.3 else [])]
