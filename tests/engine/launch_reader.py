"""The records of a launch block (kernels/engine/launch.h), decoded."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HEADER = Path(__file__).parents[2] / "kernels" / "engine" / "launch.h"
WORDS = {"int32_t": "i4", "int64_t": "i8", "uint32_t": "u4", "float": "f4", "Place": "i4", "SpanCode": "i4"}
WORDS |= {"StepCode": "i4"}
DTYPES = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
Record = Any  # np.void of one of the records


@cache
def _text() -> str:
    return re.sub(r"//[^\n]*", "", HEADER.read_text("utf-8"))


@cache
def names(enum: str) -> tuple[str, ...]:
    """The names of an enumeration of the header, in order."""
    body = re.search(rf"enum class {enum} : int32_t {{(.*?)}}", _text(), re.DOTALL)
    assert body
    return tuple(re.findall(r"\w+", body[1]))


@cache
def record(name: str) -> np.dtype[Any]:
    """A struct of the header: fields at their natural alignment."""
    body = re.search(rf"struct {name} {{(.*?)\n}};", _text(), re.DOTALL)
    assert body
    fields: list[tuple[Any, ...]] = []
    for kind, list_ in re.findall(r"(\w+) ([^;]+);", body[1]):
        base = WORDS.get(kind) or record(kind)
        for field, count in re.findall(r"(\w+)(?:\[(\d+)\])?(?:\s*=\s*(?:{[^}]*}|[^,{]+))?(?:,|$)", list_):
            fields.append((field, base, int(count)) if count else (field, base))
    return np.dtype(fields, align=True)


class Block:
    """A launch block's header and tables."""

    def __init__(self, block: bytes) -> None:
        self.header: Record = np.frombuffer(block, record("LaunchHeader"), 1)[0]
        assert self.header["bytes"] == len(block)
        self.residents = self._table(block, "residents", "TransferRecord")
        self.loads = self._table(block, "loads", "TransferRecord")
        self.stores = self._table(block, "stores", "TransferRecord")
        self.steps = self._table(block, "steps", "Step")
        self.passes = self._table(block, "passes", "PassRecord")
        self.axes = self._table(block, "axes", "AxisRecord")
        self.copies = self._table(block, "copies", "CopyRecord")

    def _table(self, block: bytes, name: str, kind: str) -> Record:
        at, count = int(self.header[f"{name}_at"]), int(self.header[name])
        assert at % 8 == 0
        return np.frombuffer(block, record(kind), count, at) if count else np.zeros(0, record(kind))
