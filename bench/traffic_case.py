"""Fused nodes of the sample models, and what one run of each on the emulator moves: the rows of bench/traffic.py."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse import _engine, optimize, runtime
from ascend_fuse.program.bound import bounds, distance
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.program import Extent, Program, Shape
from ascend_fuse.program.text import parse_program
from bench.fusion_block import Block

Array = npt.NDArray[Any]
SATURATING = (1001, 2002, 3002)  # npu_arch of chips whose float16 has neither infinity nor NaN
WHOLE_BLOCKS = (1001, 2002)  # those that move 32 B at least, so that the end of a row may be stored twice
STEERED = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")


@dataclass(frozen=True, slots=True)
class Case:
    """A fused node of a block, as planned for a chip; `launches` are those of its nodes."""

    block: str
    soc: str
    label: str
    rules: tuple[str, ...]
    program: str
    sizes: Mapping[str, int]
    launches: int


@dataclass(frozen=True, slots=True)
class Bytes:
    """GM bytes of a launch, or bytes of UB."""

    loaded: int
    stored: int
    ub: int


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `least`: inputs and outputs once; `share`: the largest error, as a share of its bound.

    `refused`: what lowering does not do, so that each instruction ran as a launch of its own; then nothing is promised.
    """

    case: Case
    launches: int
    promised: Bytes
    moved: Bytes
    distinct: Bytes
    least: Bytes
    share: float
    refused: str = ""

    @property
    def kept(self) -> bool:
        """Whether the launch moved what was promised; bytes of rows' ends that are stored twice count once."""
        soc = _engine.soc(self.case.soc)
        stored = self.distinct.stored if soc.npu_arch in WHOLE_BLOCKS else self.moved.stored
        found = Bytes(self.moved.loaded, stored, self.moved.ub)
        return bool(self.refused) or found == self.promised


def cases(block: Block, soc: str, dtype: str) -> Iterator[Case]:
    """The distinct fused nodes of two layers of the block."""
    options = {name: value for name, value in block.options.items() if (name, dtype) != ("casts", "float16")}
    options["dtype"] = dtype
    model = Block(block.name, block.builder, block.aim, options, block.repeated).build(2)
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for region in optimize(model, soc=soc).plan.regions:
        key = (region.program, tuple(region.sizes.values()))
        if key not in seen:
            seen.add(key)
            before = region.figures.before.launches
            yield Case(block.name, soc, region.label, region.rules, region.program, region.sizes, before)


def distinct(found: Iterable[Case]) -> Iterator[Case]:
    """Without those whose program another block has at the same sizes."""
    seen: set[tuple[str, str, tuple[int, ...]]] = set()
    for case in found:
        key = (case.soc, case.program, tuple(case.sizes.values()))
        if key not in seen:
            seen.add(key)
            yield case


def size(extent: Extent, sizes: Mapping[str, int]) -> int:
    """An extent in elements."""
    return sizes[extent] if isinstance(extent, str) else extent


def arrays(program: Program, sizes: Mapping[str, int], seed: int = 0) -> list[Array]:
    """Normal numbers, small integers and bools, in the order of the `in` lines."""
    rng = np.random.default_rng(seed)

    def draw(dtype: str, own: tuple[Shape, ...]) -> Array:
        shape = tuple(math.prod(size(e, sizes) for e in factors) for factors in own)
        values = rng.integers(0, 2, shape) if dtype in STEERED else rng.standard_normal(shape)
        return np.asarray(values).astype(dtype_of(dtype))

    return [draw(line.type.dtype, line.tensor_shape) for line in program.inputs]


def promise(case: Case) -> tuple[Bytes, str]:
    """What the engine says of one launch, or what its kernels do not do."""
    numbers = [case.sizes[s] for s in sorted(case.sizes, key=lambda s: int(s[1:]))]
    try:
        launch = _engine.lower(_engine.Program(case.program), numbers, _engine.soc(case.soc), _engine.Bounds())
    except ValueError as e:
        return Bytes(0, 0, 0), str(e)
    return Bytes(launch.loaded_bytes, launch.stored_bytes, launch.ub_bytes), ""


def run(case: Case) -> Row:
    """The row of a case. Raises KernelError or UsageError where the chip cannot run it, which is our bug."""
    program = parse_program(case.program)
    inputs = arrays(program, case.sizes)
    promised, refused = promise(case)
    outcome = runtime.run(case.program, inputs, case.soc)
    done = outcome.counters
    if not refused and not done.fused_runs:
        refused = done.verdict
    return Row(
        case,
        done.launches,
        promised,
        Bytes(done.loaded_bytes, done.stored_bytes, done.ub_peak),
        Bytes(done.distinct_loaded_bytes, done.distinct_stored_bytes, done.ub_peak),
        Bytes(
            sum(a.nbytes for a, line in zip(inputs, program.inputs, strict=True) if not line.host),
            sum(o.nbytes for o in outcome.outputs),
            0,
        ),
        share(program, inputs, outcome.outputs, _engine.soc(case.soc).npu_arch in SATURATING),
        refused,
    )


def share(program: Program, inputs: list[Array], outputs: tuple[Array, ...], saturates: bool) -> float:
    """The largest |found - reference| / bound of all elements; 0 where both are 0."""
    most = 0.0
    for found, (wanted, bound) in zip(outputs, bounds(program, inputs, saturates=saturates), strict=True):
        off = distance(found, wanted)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(np.isinf(bound) | (off == 0), 0.0, off / bound)
        most = max(most, float(part.max(initial=0.0)))
    return most
