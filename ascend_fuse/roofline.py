"""Roofs of a chip, and where a program stands below them: operations, and how many the chip could do in that time.

Both are the engine's figures: the roofs are what its cost model divides by, the times are its estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from ascend_fuse.engine import Engine
from ascend_fuse.graph.type import DTYPE_BYTES
from ascend_fuse.program.program import Extent, Instr, Program, Type, Value
from ascend_fuse.program.text import parse_program

CUBE_DTYPES = ("i8", "f16", "bf16", "f32")
PROBE = 10**9  # bytes or multiply-adds, so many that the launch vanishes beside them


@dataclass(frozen=True, slots=True)
class Roofs:
    """Bytes per second of GM; operations per second of the cube and of the vector unit by dtype, all cores together.

    A multiply-add counts as two operations, a vector instruction as one for each of its elements.
    """

    soc: str
    hbm_bytes_per_s: float
    cube: Mapping[str, float]
    vector: Mapping[str, float]


def roofs(engine: Engine) -> Roofs:
    """The roofs that the engine's estimates rest on."""
    soc = engine.soc
    launch_us = engine.opaque_us(0, 0, "f32")
    cube = {d: 2e6 * PROBE / (engine.opaque_us(0, PROBE, d) - launch_us) for d in CUBE_DTYPES}
    bytes_per_s = soc.vec_calc_size * soc.vector_cores * soc.freq_mhz * 1e6
    vector = {d: bytes_per_s / DTYPE_BYTES[d] for d in ("f16", "f32")}
    return Roofs(soc.name, soc.hbm_bytes_per_s, cube, vector)


@dataclass(frozen=True, slots=True)
class Work:
    """What one run of a program computes: `operations`, most of them on `unit` ("cube" or "vector") in `dtype`."""

    operations: int
    unit: str
    dtype: str


def work(text: str, sizes: Mapping[str, int]) -> Work:
    """The work of a program with numbers for its symbols."""
    program = parse_program(text)
    types = program.types()
    by_unit = {"cube": 0, "vector": 0}
    for line in program.instrs:
        unit = "cube" if line.op == "matmul" else "vector"
        by_unit[unit] += _product(program, sizes) if unit == "cube" else _elements(line, types, sizes)
    unit = "cube" if by_unit["cube"] else "vector"
    return Work(sum(by_unit.values()), unit, _dtype(program, unit))


def _count(extents: Iterable[Extent], sizes: Mapping[str, int]) -> int:
    return prod(sizes[e] if isinstance(e, str) else e for e in extents)


def _elements(line: Instr, types: Mapping[str, Type], sizes: Mapping[str, int]) -> int:
    """Of the widest value that the instruction touches: a reduction works on what it reads."""
    touched = [types[o.name] for o in line.operands if isinstance(o, Value)]
    return max(_count(t.extents, sizes) for t in (line.type, *touched))


def _product(program: Program, sizes: Mapping[str, int]) -> int:
    """Two operations for each multiply-add: the result's elements times k, the axes of the left side's row."""
    left = next(i for i in program.inputs if i.side == "left")
    made = next(i for i in program.instrs if i.op == "matmul")
    return 2 * _count(made.type.extents, sizes) * _count(left.type.cols or (), sizes)


def _dtype(program: Program, unit: str) -> str:
    if unit == "cube":
        return next(i.type.dtype for i in program.inputs if i.side == "left")
    kinds = {t.dtype for t in program.types().values()}
    return "f32" if "f32" in kinds or "f16" not in kinds else "f16"
