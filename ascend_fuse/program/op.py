"""The op table of the program text, read from the engine's `op.csv` (one row an operator, docs/design/0001)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ascend_fuse import _engine

FLOATS = ("f16", "bf16", "f32")
HALVES = ("f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


@dataclass(frozen=True, slots=True)
class Op:
    """One operator: arity -1 means any; `types` the letters f, i, b; `result` same | bool | attr."""

    name: str
    arity: int
    kind: str
    types: str
    result: str
    onnx: str

    def accepts(self, dtype: str) -> bool:
        """Whether operands may have the dtype."""
        letter = "f" if dtype in FLOATS else "b" if dtype == "bool" else "i" if dtype in INTEGERS else "?"
        return letter in self.types


def comes_back(dtype: str, through: str) -> bool:
    """Whether every value of the dtype, converted to `through` and back, is itself: a float that became wider."""
    return dtype in HALVES and through == "f32"


@cache
def table() -> Mapping[str, Op]:
    """All operators by name."""
    lines = [line for line in _engine.data("op").splitlines() if line and not line.startswith("#")]
    rows = csv.DictReader(lines)
    return {r["op"]: Op(r["op"], int(r["arity"]), r["kind"], r["types"], r["result"], r["onnx"]) for r in rows}


@cache
def by_onnx() -> Mapping[str, Op]:
    """The operators that equal one ONNX operator, by its name."""
    return {op.onnx: op for op in table().values() if op.onnx}
