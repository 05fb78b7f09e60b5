"""The C++ cases of this folder: what they expect, and running one on numpy arrays."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SOURCES = Path(__file__).parent / "case"
CASE = re.compile(r"CASE\((\w+)\) \{(?:\s*// (.*))?")
FAULT = re.compile(r"// fault: ([\w-]+)")


class _Report(ctypes.Structure):
    _fields_ = (
        ("loaded", ctypes.c_int64),
        ("stored", ctypes.c_int64),
        ("ub_peak", ctypes.c_int64),
        ("vector_calls", ctypes.c_int64),
        ("traffic", ctypes.c_int64 * 4 * 8),
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel with the fault that its source promises; `line` is that of the faulty call."""

    name: str
    file: str
    chip: str
    cores: int
    mixed: bool
    fault: str
    line: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fault, or nothing, and the counters: traffic is loaded, stored and both counting each byte once."""

    fault: str
    loaded: int
    stored: int
    ub_peak: int
    vector_calls: int
    traffic: tuple[tuple[int, ...], ...]


def statement(lines: Sequence[str], number: int) -> int:
    """The line, from 1, on which the statement that ends on a line begins."""
    while not lines[number - 2].partition("//")[0].rstrip().endswith((";", "{", "}")):
        number -= 1
    return number


def faulty_cases() -> tuple[Case, ...]:
    """The cases of fault_*.cpp."""
    found: list[Case] = []
    for path in sorted(SOURCES.glob("fault_*.cpp")):
        header: tuple[str, str] | None = None
        lines = path.read_text().splitlines()
        for number, text in enumerate(lines, 1):
            if match := CASE.match(text):
                header = (match[1], match[2] or "")
            if header and (fault := FAULT.search(text)):
                name, how = header
                chip = re.search(r"on (\w+)", how)
                cores = re.search(r"(\d+) cores", how)
                found.append(
                    Case(
                        name,
                        path.name,
                        chip[1] if chip else "Ascend910B1",
                        int(cores[1]) if cores else 1,
                        "mixed" in how,
                        fault[1],
                        statement(lines, number),
                    )
                )
    return tuple(found)


class Library:
    """The compiled cases."""

    def __init__(self, path: Path) -> None:
        self._run = ctypes.CDLL(str(path)).emulator_case_run

    def run(
        self,
        name: str,
        inputs: Sequence[Array] = (),
        outputs: Sequence[Array] = (),
        parameters: Sequence[int] = (),
        *,
        chip: str = "Ascend910B1",
        cores: int = 1,
        mixed: bool = False,
    ) -> Outcome:
        """Runs a case; outputs are written to."""
        arrays = [*inputs, *outputs]
        block = np.array([*parameters, 0], np.int64)
        report, text = _Report(), ctypes.create_string_buffer(2048)
        self._run(
            name.encode(),
            chip.encode(),
            ctypes.c_int64(cores),
            int(mixed),
            block.ctypes.data_as(ctypes.c_void_p),
            (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays)),
            (ctypes.c_int64 * len(arrays))(*(a.nbytes for a in arrays)),
            (ctypes.c_int * len(arrays))(*(i >= len(inputs) for i in range(len(arrays)))),
            len(arrays),
            ctypes.byref(report),
            text,
            ctypes.c_size_t(len(text)),
        )
        traffic = tuple(tuple(report.traffic[i]) for i in range(min(len(arrays), 8)))
        fault = text.value.decode()
        return Outcome(fault, report.loaded, report.stored, report.ub_peak, report.vector_calls, traffic)
