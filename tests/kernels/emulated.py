"""Programs on the emulator, through the plugin library, with tiles of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_fuse import _engine
from ascend_fuse.program.bound import bounds, distance
from ascend_fuse.program.program import Program
from ascend_fuse.program.text import parse_program, print_program
from ascend_fuse.runtime.counter import NodeCounters
from ascend_fuse.runtime.launch import launch

Array = npt.NDArray[Any]
BLOCKS = ("Ascend910A", "Ascend310P3")  # chips that move whole blocks
SATURATING = (*BLOCKS, "Ascend310B1")  # whose f16 has neither infinity nor NaN
Tile = tuple[int, int, int]  # rows, cols (0: whole rows) and buffers; no rows: the engine's own choice


@dataclass(frozen=True, slots=True)
class Ran:
    outputs: list[Array]
    counters: NodeCounters


def check(
    program: Program | str,
    arrays: Sequence[Array],
    soc: str = "Ascend910B3",
    tile: Tile = (0, 0, 0),
    masks: Mapping[str, Array] | None = None,
    draw: tuple[int, int] = (1, 0),
) -> Ran:
    """Runs the program; outputs lie within their bounds, bytes through GM and in UB are those that were promised.

    Without DataCopyPad the last block of a row is stored again over a part of the one before: each byte counts once.
    `draw`: the key and the number of the run. Raises ValueError with the reason of lowering, KernelError on a fault.
    """
    parsed = parse_program(program) if isinstance(program, str) else program
    made = lowered(parsed, arrays, soc, tile)
    wanted = bounds(parsed, arrays, masks, saturates=soc in SATURATING)
    outputs = [np.empty(value.shape, value.dtype) for value, _ in wanted]
    found = launch(made, [np.ascontiguousarray(a) for a in arrays], outputs, soc, key=draw[0], run=draw[1])
    for got, (value, bound), output in zip(outputs, wanted, parsed.outputs, strict=True):
        off = distance(got, value)
        at = np.flatnonzero(off > bound)[:3]
        shown = [[v.flat[i] for i in at] for v in (got, value, off, np.broadcast_to(bound, off.shape))]
        assert at.size == 0, (output.name, soc, tile, *shown, print_program(parsed))
    stored = found.distinct_stored_bytes if soc in BLOCKS else found.stored_bytes
    assert (found.loaded_bytes, stored) == (made.loaded_bytes, made.stored_bytes), found
    assert found.ub_peak == made.ub_bytes, found
    return Ran(outputs, found)


def lowered(program: Program, arrays: Sequence[Array], soc: str, tile: Tile) -> _engine.Launch:
    """The launch on all cores, its tile cut to the space."""
    question = (_engine.Program(print_program(program)), sizes_of(program, arrays), _engine.soc(soc), _engine.Bounds())
    made, (rows, cols, buffers) = _engine.lower(*question), tile
    if rows == 0:
        return made
    whole = _engine.solve(*question)
    cut = (min(rows, whole.rows), min(cols or whole.cols, whole.cols), buffers, 0)
    return _engine.lower(*question, cut)


def sizes_of(program: Program, arrays: Sequence[Array]) -> list[int]:
    """The sizes of the symbols by number, as the arrays bind them."""
    found = {}
    for line, array in zip(program.inputs, arrays, strict=True):
        for factors, size in zip(line.tensor_shape, array.shape, strict=True):
            if len(factors) == 1 and isinstance(factors[0], str):
                found[int(factors[0][1:])] = size
    return [found[k] for k in sorted(found)]


def philox_words(count: int, key: int, run: tuple[int, int]) -> Array:
    """The first `count` words of Philox4x32-10 with counters (index / 4, run): an implementation of its own."""
    group = np.arange((count + 3) // 4, dtype=np.uint64)
    low, word = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [group & low, group >> word, np.full_like(group, run[0]), np.full_like(group, run[1])]
    keys = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> word) ^ c[1] ^ np.uint64(keys[0]), b & low, (a >> word) ^ c[3] ^ np.uint64(keys[1]), a & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, -1).reshape(-1)[:count]
