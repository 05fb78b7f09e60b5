"""Random matmul programs with inputs: dtypes, batches, strides of either operand, what follows, where outputs lie."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.program.evaluate import dtype_of

Array = npt.NDArray[Any]
SIDES = (1, 2, 15, 16, 17, 31, 33, 48, 64, 100, 130, 257)
UNARY = ("relu", "sigmoid", "tanh", "abs", "gelu")


@dataclass
class RandomGemm:
    """One program over constant sizes: `text`, and `arrays` in the order of its lines."""

    seed: int
    dtypes: tuple[str, ...] = ("f16", "f16", "bf16", "f32", "i8")
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.r = random.Random(self.seed)
        self.rng = np.random.default_rng(self.seed)
        self.dtype = self.r.choice(self.dtypes)
        self.lead = [self.r.choice((1, 2, 3)) for _ in range(self.r.choice((0, 0, 1, 1, 2)))]
        self.m = self.r.choice(SIDES)
        self.n, self.k = self.side(), self.side()
        self.space = [*self.lead, self.m, *self.n]
        self.bar = len(self.lead) + 1
        self.operands()
        self.body = [f"v0: {self.type(self.out, self.space)} = matmul x0, x1"]
        self.last = (0, self.out)
        outputs = self.epilogue()
        head = f"matmul 1 {self.dims(self.space, self.bar)}"
        self.text = "\n".join([head, *self.lines, *self.body, "out " + ", ".join(outputs)])

    def side(self) -> list[int]:
        """One axis, or heads of whole blocks."""
        return [self.r.choice(SIDES)] if self.r.random() < 0.7 else [self.r.choice((2, 3)), self.r.choice((32, 64))]

    @staticmethod
    def dims(sizes: list[int], bar: int) -> str:
        return "[" + ", ".join(map(str, sizes[:bar])) + " | " + ", ".join(map(str, sizes[bar:])) + "]"

    def type(self, dtype: str, sizes: list[int]) -> str:
        return dtype + self.dims(sizes, len(sizes) - len(self.n))

    def draw(self, dtype: str, shape: list[int]) -> Array:
        if dtype == "i8":
            return self.rng.integers(-128, 128, shape).astype(np.int8)
        return self.rng.standard_normal(shape).astype(dtype_of(dtype))

    def tensor(self, kind: str, dtype: str, sizes: list[int], bar: int, order: list[int]) -> None:
        """A line of the program, and the array in its memory's order."""
        plain = order == list(range(len(sizes)))
        own = "" if plain else " <" + " ".join(map(str, order)) + ">"
        self.lines.append(f"x{len(self.lines)}: {dtype}{self.dims(sizes, bar)} = {kind}{own}")
        self.arrays.append(self.draw(dtype, [sizes[i] for i in order]))

    def mixed(self, axes: list[int]) -> list[int]:
        return self.r.sample(axes, len(axes)) if self.r.random() < 0.4 else axes

    def operands(self) -> None:
        leads = len(self.lead)
        keep = self.r.random() < 0.6
        own = self.lead if keep else []
        rows = [*self.lead, self.m, *self.k]
        front, k_axes = list(range(leads)), list(range(leads + 1, len(rows)))
        order = [*self.mixed([*front, leads]), *k_axes]
        if self.r.random() < 0.3:
            order = [*front, *k_axes, leads]
        elif len(k_axes) == 2 and self.r.random() < 0.5:
            order = [*front, k_axes[0], leads, k_axes[1]]
        self.tensor("left", self.dtype, rows, leads + 1, order)
        cols = [*[d if self.r.random() < 0.7 else 1 for d in own], *self.k, *self.n]
        front = list(range(len(own)))
        k_axes = list(range(len(own), len(own) + len(self.k)))
        n_axes = list(range(len(own) + len(self.k), len(cols)))
        order = [*front, *n_axes, *k_axes] if self.r.random() < 0.5 else [*front, *k_axes, *n_axes]
        self.tensor("right", self.dtype, cols, len(own) + len(self.k), order)
        floats = self.r.choice(("f32", self.dtype))
        self.out = "i32" if self.dtype == "i8" else floats

    def step(self, op: str, *operands: str, dtype: str | None = None) -> None:
        at, own = len(self.body), dtype or self.last[1]
        self.body.append(f"v{at}: {self.type(own, self.space)} = {op} {', '.join(operands)}")
        self.last = (at, own)

    def addend(self) -> str:
        """Another input of the last value's dtype: of all axes, of some, or of none."""
        kind = self.r.choice(("full", "line", "line", "row", "scalar", "moved"))
        sizes = list(self.space)
        if kind in ("line", "scalar"):
            sizes[: self.bar] = [1] * self.bar
        if kind in ("row", "scalar"):
            sizes[self.bar :] = [1] * len(self.n)
        order = list(range(len(sizes)))
        if kind == "moved":
            order[: self.bar] = self.r.sample(order[: self.bar], self.bar)
        self.tensor("in", self.last[1], sizes, self.bar, order)
        return f"x{len(self.lines) - 1}"

    def epilogue(self) -> list[str]:
        steps = self.r.choice((0, 0, 1, 2, 3)) if self.out != "i32" else self.r.choice((0, 0, 1))
        for _ in range(steps):
            roll = self.r.random()
            value = f"v{self.last[0]}"
            if roll < 0.5 or self.out == "i32":
                self.step("add" if roll < 0.35 else "mul", value, self.addend())
            elif roll < 0.6 and self.last[1] == "f32":
                self.step("cast", value, dtype=self.r.choice(("f16", "bf16")))
            elif roll < 0.7:
                self.step("mul", value, "0.5")
            else:
                self.step(self.r.choice(UNARY), value)
        outputs = [self.placed(self.last[0])]
        if self.last[0] != 0 and self.r.random() < 0.25:
            outputs.append("v0")
        return outputs

    def placed(self, value: int) -> str:
        """An output in an order that keeps n innermost, or behind a past."""
        order = list(range(len(self.space)))
        roll = self.r.random()
        if roll < 0.3:
            order[: self.bar] = self.r.sample(order[: self.bar], self.bar)
        elif roll < 0.45 and len(self.n) == 2:
            order = [*order[: self.bar - 1], self.bar, self.bar - 1, self.bar + 1]
        text = f"v{value}"
        if any(a > b for a, b in pairwise(order)):
            text += " <" + " ".join(map(str, order)) + ">"
        if len(order) < 2 or self.r.random() < 0.8:
            return text
        axis = self.r.randrange(len(order) - 1)
        sizes = [self.space[i] for i in order]
        sizes[axis] = self.r.choice((1, 5))
        self.lines.append(f"x{len(self.lines)}: {self.last[1]}[{', '.join(map(str, sizes))}] = past")
        self.arrays.append(self.draw(self.last[1], sizes) if self.last[1] != "i32" else np.ones(sizes, np.int32))
        return f"{text} {self.r.choice(('behind', 'before'))} x{len(self.lines) - 1} @{axis}"
