"""Products with an epilogue, as programs, and the parts that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_fuse import _engine

Part = tuple[_engine.Program, list[int]]

EPILOGUES: dict[str, tuple[str, ...]] = {
    "none": (),
    "bias": ("add bias",),
    "relu": ("relu",),
    "gelu": ("gelu",),
    "sigmoid": ("sigmoid",),
    "tanh": ("tanh",),
    "residual": ("add full",),
    "scale": ("mul 0.125",),
    "bias, relu": ("add bias", "relu"),
    "bias, gelu": ("add bias", "gelu"),
    "bias, residual": ("add bias", "add full"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One product [batch, m, k] x [batch, k, n] and the steps behind it; `shared`: one right operand for all."""

    batch: int
    m: int
    n: int
    k: int
    steps: tuple[str, ...] = ()
    dtype: str = "f16"
    result: str = "f16"
    shared: bool = False

    @property
    def sizes(self) -> list[int]:
        return [self.batch, self.m, self.n, self.k]

    def lines(self) -> tuple[list[str], list[str], str]:
        """Inputs, instructions and the last value of the epilogue alone."""
        inputs: list[str] = []
        instrs: list[str] = []
        last, dtype = "v0", self.result
        for i, step in enumerate(self.steps, 1):
            op, _, operand = step.partition(" ")
            words = [last]
            if op == "cast":
                dtype = operand
            elif operand in ("bias", "full", "row"):
                axes = {"bias": "d2", "full": "d0, d1 | d2", "row": "d0, d1 | 1"}[operand]
                inputs.append(f"x{i + 1}: {dtype}[{axes}] = in")
                words.append(f"x{i + 1}")
            elif operand:
                words.append(operand)
            last = f"v{i}"
            instrs.append(f"{last}: {dtype}[d0, d1 | d2] = {op} {', '.join(words)}")
        return inputs, instrs, last

    def text(self, outputs: Sequence[str] = ()) -> str:
        """The fused program; `outputs`: other values that it writes."""
        inputs, instrs, last = self.lines()
        right = f"x1: {self.dtype}[d3 | d2] = right" if self.shared else f"x1: {self.dtype}[d0, d3 | d2] = right"
        return "\n".join([
            "matmul 1 [d0, d1 | d2]", f"x0: {self.dtype}[d0, d1 | d3] = left", right, *inputs,
            f"v0: {self.result}[d0, d1 | d2] = matmul x0, x1", *instrs, "out " + ", ".join([last, *outputs]),
        ])  # fmt: skip

    def program(self) -> _engine.Program:
        return _engine.Program(self.text())

    def parts(self) -> list[Part]:
        """The product alone, and a launch for each step."""
        alone = Case(self.batch, self.m, self.n, self.k, (), self.dtype, self.result, self.shared)
        return [(alone.program(), self.sizes), *map(self._step, range(len(self.steps)))]

    def _step(self, at: int) -> Part:
        op, _, operand = self.steps[at].partition(" ")
        before = [s.removeprefix("cast ") for s in self.steps[:at] if s.startswith("cast ")]
        dtype = before[-1] if before else self.result
        to = operand if op == "cast" else dtype
        axes = {"bias": "d2", "full": "d0, d1, d2", "row": "d0, d1, 1"}.get(operand)
        second = [f"x1: {dtype}[{axes}] = in"] if axes else []
        words = "x0, x1" if axes else "x0" if op == "cast" or not operand else f"x0, {operand}"
        text = [
            "elementwise 1 [d0, d1, d2]", f"x0: {dtype}[d0, d1, d2] = in", *second,
            f"v0: {to}[d0, d1, d2] = {op} {words}", "out v0",
        ]  # fmt: skip
        return _engine.Program("\n".join(text)), self.sizes[:3]


def judge(case: Case, soc: str, **bounds: float) -> _engine.GemmVerdict:
    """The verdict on a case."""
    limits = _engine.Bounds(**bounds)  # pyright: ignore[reportArgumentType]
    return _engine.judge_gemm(case.program(), case.sizes, case.parts(), _engine.soc(soc), limits)
