"""Random programs over rows of any length: values of every span, reductions one behind another, several outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_fuse.program.program import Extent, Input, Instr, Literal, Operand, Output, Program, Type, Value

UNARY = (
    "neg abs sqrt rsqrt recip exp log sin cos tanh sigmoid erf relu floor ceil round sign gelu gelu_tanh silu sinh cosh "
    "asin acos atan asinh acosh atanh"
).split()
BINARY = "add sub mul div max min pow mod".split()
COMPARE = "eq lt le gt ge".split()
REDUCE = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod".split()
SPANS: dict[str, tuple[tuple[Extent, ...], tuple[Extent, ...]]] = {
    "full": (("d0",), ("d1",)), "line": ((1,), ("d1",)), "row": (("d0",), (1,)), "scalar": ((1,), (1,)),
}  # fmt: skip


@dataclass(slots=True)
class Rows:
    """A program under construction; every value has the dtype `dtype` or is bool."""

    rng: np.random.Generator
    dtype: str

    def one(self, names: list[str]) -> str:
        return names[self.rng.integers(len(names))]

    def type_of(self, span: str, dtype: str) -> Type:
        rows, cols = SPANS[span]
        return Type(dtype, rows, cols)

    def joint(self, spans: list[str]) -> str:
        """The span of what reads values of these."""
        wide = any(s in ("full", "line") for s in spans)
        tall = any(s in ("full", "row") for s in spans)
        return {(True, True): "full", (True, False): "line", (False, True): "row", (False, False): "scalar"}[wide, tall]

    def line(self, name: str, spans: dict[str, str], bools: dict[str, str]) -> tuple[Instr, str]:
        kind = self.rng.random()
        values = list(spans)
        first = self.one(values)
        if kind < 0.2 and any(s in ("full", "line") for s in spans.values()):
            first = self.one([v for v in values if spans[v] in ("full", "line")])
            span = "row" if spans[first] == "full" else "scalar"
            return Instr(name, self.type_of(span, self.dtype), self.one(REDUCE), (Value(first),)), span
        if kind < 0.5:
            return Instr(name, self.type_of(spans[first], self.dtype), self.one(UNARY), (Value(first),)), spans[first]
        second: Operand = Value(self.one(values))
        read = [spans[first]] + ([spans[second.name]] if isinstance(second, Value) else [])
        if self.rng.random() < 0.3:
            literal: Literal = float(self.rng.choice([0.5, 2.0, -1.5, 3.0, 0.25]))
            second, read = literal, read[:1]
        operands: tuple[Operand, ...] = (Value(first), second)
        if self.rng.random() < 0.3:
            operands = operands[::-1]
        if kind < 0.6 and bools:
            condition = self.one(list(bools))
            span = self.joint([*read, bools[condition]])
            return Instr(name, self.type_of(span, self.dtype), "where", (Value(condition), *operands)), span
        span = self.joint(read)
        if kind < 0.7:
            return Instr(name, self.type_of(span, "bool"), self.one(COMPARE), operands), span
        return Instr(name, self.type_of(span, self.dtype), self.one(BINARY), operands), span


def random_rows(seed: int) -> Program:
    """A program over [d0 | d1] of one float dtype."""
    rng = np.random.default_rng(seed)
    make = Rows(rng, ("f32", "f16", "bf16")[rng.integers(3)])
    inputs = [Input("x0", make.type_of("full", make.dtype))]
    for k in range(1, 1 + int(rng.integers(0, 4))):
        inputs.append(Input(f"x{k}", make.type_of(make.one(list(SPANS)), make.dtype)))
    names = {(("d0",), ("d1",)): "full", ((1,), ("d1",)): "line", (("d0",), (1,)): "row", ((1,), (1,)): "scalar"}
    spans = {i.name: names[i.type.rows, i.type.cols or ()] for i in inputs}
    bools: dict[str, str] = {}
    instrs: list[Instr] = []
    for k in range(int(rng.integers(1, 9))):
        line, span = make.line(f"v{k}", spans, bools)
        instrs.append(line)
        (bools if line.type.dtype == "bool" else spans)[line.name] = span
    tall = [line.name for line in instrs if line.type.rows == ("d0",)]
    chosen = sorted(set(rng.choice(tall, size=min(len(tall), 3)))) if tall else ["x0"]
    outputs = tuple(Output(str(name)) for name in chosen)
    return Program("rowwise", ("d0",), ("d1",), tuple(inputs), tuple(instrs), outputs)
