"""A launch run on numpy arrays, step by step, core by core: what any kernel that reads it must do.

UB bytes that nobody wrote are remembered, and reading one fails; so does leaving a part of UB or a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from launch_reader import DTYPES, Block, Record, names

from ascend_fuse.program.evaluate import _MAP, dtype_of

Array = npt.NDArray[Any]
Draw = Callable[[int, Array], Array]  # key, indices → keep
ARITHMETIC: dict[str, Callable[..., Array]] = {k: v for k, v in _MAP.items() if k not in ("and", "or", "xor", "not")}
ARITHMETIC["div"] = np.divide
REDUCE = {"reduce_sum": np.sum, "reduce_prod": np.prod, "reduce_max": np.max, "reduce_min": np.min}
JOIN = {"reduce_sum": np.add, "reduce_prod": np.multiply, "reduce_max": np.maximum, "reduce_min": np.minimum}


@dataclass
class Tile:
    """Where a tile of the space begins, and how much of it there is."""

    row: int
    col: int
    rows: int
    cols: int
    first: bool  # of its row


class Memory:
    """One part of UB, and which of its bytes were written."""

    def __init__(self, size: int) -> None:
        self.bytes = np.full(size, 0xFF, np.uint8)
        self.known = np.zeros(size, bool)


class Run:
    """Runs a launch on tensors: inputs as given, outputs filled."""

    def __init__(self, block: Block, tensors: Sequence[Array], draw: Draw) -> None:
        self.block, self.header, self.draw = block, block.header, draw
        self.tensors = [t.reshape(-1) for t in tensors]
        self.loaded = self.stored = 0

    def run(self) -> None:
        with np.errstate(all="ignore"):
            self.cores()

    def cores(self) -> None:
        h = self.header
        for core in range(h["block_dim"]):
            tasks = range(core * h["tasks_per_core"], min((core + 1) * h["tasks_per_core"], h["tasks"]))
            if not len(tasks):
                continue
            self.parts = [Memory(int(h[f"{p}_bytes"])) for p in ("in", "out", "resident", "calc")]
            for record in self.block.residents:
                self.load(record, Tile(0, 0, 1, int(h["cols"]), True))
            for task in tasks:
                self.task(task)
        for copy in self.block.copies:
            self.copy(copy)

    def tiles(self, task: int) -> Iterator[Tile]:
        h = self.header
        per_row = int(h["tiles_per_row"])
        outer, only = (task, None) if h["row_tasks"] else divmod(task, per_row)
        row, rows = self.block_of_rows(outer)
        segment, width = int(h["segment"]), int(h["tile_cols"])
        per_segment = -(-segment // width)
        assert per_segment * (int(h["cols"]) // segment) == per_row
        for tile in range(per_row) if only is None else [only]:
            part, at = divmod(tile, per_segment)
            cols = min(width, segment - at * width)
            yield Tile(row, part * segment + at * width, rows, cols, tile == 0 or only is not None)

    def block_of_rows(self, index: int) -> tuple[int, int]:
        """Where a block begins, and its rows: it ends where its segment does."""
        tile, segment = int(self.header["tile_rows"]), int(self.header["row_segment"])
        assert self.header["rows"] % segment == 0
        part, at = divmod(index, -(-segment // tile))
        return part * segment + at * tile, min(tile, segment - at * tile)

    def task(self, task: int) -> None:
        for one in self.block.passes:
            tiles = list(self.tiles(task))
            for tile in tiles[:1] if one["once"] else tiles:
                self.parts[0] = Memory(int(self.header["in_bytes"]))  # another buffer of the queues
                self.parts[1] = Memory(int(self.header["out_bytes"]))
                for record in self.block.loads[one["first_load"] :][: one["loads"]]:
                    self.load(record, tile)
                for step in self.block.steps[one["first_step"] :][: one["steps"]]:
                    assert names("Place")[step["out"]["place"]] != "out" or one["outs"]
                    self.step(step, tile)
                for record in self.block.stores[one["first_store"] :][: one["stores"]]:
                    self.store(record, tile)

    # Memory

    def view(self, operand: Record, tile: Tile, write: bool, first: int = 0, cols: int = 0) -> Array:
        """The operand's elements, [rows, cols]; `cols` of them from `first` on, all if 0. Turned: [cols, rows]."""
        memory = self.parts[operand["place"]]
        dtype = dtype_of(DTYPES[operand["dtype"]])
        if DTYPES[operand["dtype"]] == "bool":
            dtype = np.dtype(np.uint8)
        span, own = names("SpanCode")[operand["span"]], int(operand["cols"])
        own = tile.cols if own == self.header["tile_cols"] else own
        rows = tile.rows if span in ("full", "row") else 1
        if operand["turned"]:
            assert span == "full" and own == tile.cols
            rows, own = own, rows
        row_bytes = int(operand["pitch"]) if span in ("full", "line") else dtype.itemsize
        width = own if span in ("full", "line") else 1
        assert operand["offset"] % 32 == 0 and (span in ("row", "scalar") or row_bytes % 32 == 0)
        assert first + cols <= width
        shape, strides = (rows, cols or width), (row_bytes, dtype.itemsize)
        offset = int(operand["offset"]) + first * dtype.itemsize
        assert offset + (rows - 1) * row_bytes + shape[1] * dtype.itemsize <= memory.bytes.size
        known = np.lib.stride_tricks.as_strided(memory.known[offset:], (*shape, dtype.itemsize), (*strides, 1))
        if write:
            known[...] = True
        assert known.all(), f"unwritten {names('Place')[operand['place']]} at {operand['offset']}"
        return np.ndarray(shape, dtype, memory.bytes.data, offset, strides)

    def positions(self, record: Record, tile: Tile, shape: tuple[int, ...]) -> Array:
        if record["tile"]["turned"]:
            return self.straight(record, tile, shape[::-1]).T
        return self.straight(record, tile, shape)

    def straight(self, record: Record, tile: Tile, shape: tuple[int, ...]) -> Array:
        rows = self.along(record["first_row_axis"], record["row_axes"], tile.row + np.arange(shape[0]))
        cols = self.along(record["first_col_axis"], record["col_axes"], tile.col + np.arange(shape[1]))
        return int(record["base"]) + rows[:, None] + cols[None, :]

    def along(self, first: int, count: int, index: Array) -> Array:
        at = np.zeros_like(index)
        axes = self.block.axes[first:][:count]
        for axis in axes[::-1]:
            at += index % axis["extent"] * axis["stride"]
            index = index // axis["extent"]
        assert not index.any() or not count
        return at

    def load(self, record: Record, tile: Tile) -> None:
        view = self.view(record["tile"], tile, True)
        tensor = self.tensors[record["tensor"]]
        view[...] = tensor[self.positions(record, tile, view.shape)].astype(view.dtype)
        self.loaded += view.nbytes

    def store(self, record: Record, tile: Tile) -> None:
        view = self.view(record["tile"], tile, False)
        tensor = self.tensors[record["tensor"]]
        tensor[self.positions(record, tile, view.shape)] = view.astype(tensor.dtype)
        self.stored += view.nbytes

    def copy(self, copy: Record) -> None:
        source, target = (self.tensors[copy[k]].view(np.uint8) for k in ("from", "to"))
        run, pitch, base = int(copy["run"]), int(copy["pitch"]), int(copy["base"])
        for k in range(int(copy["bytes"]) // run):
            target[base + k * pitch :][:run] = source[k * run :][:run]
        self.loaded += int(copy["bytes"])
        self.stored += int(copy["bytes"])

    # Steps

    def operand(self, operand: Record, tile: Tile) -> Array:
        if names("Place")[operand["place"]] != "literal":
            return self.view(operand, tile, False).copy()
        dtype = dtype_of(DTYPES[operand["dtype"]])
        return np.asarray(operand["number"] if dtype.kind not in "iu" else operand["offset"]).astype(dtype)

    def step(self, step: Record, tile: Tile) -> None:
        code = names("StepCode")[step["code"]]
        if code == "copy":
            return self.move(step, tile)
        operands = [self.operand(o, tile) for o in step["in"][: step["arity"]]]
        more = bool(step["accumulate"]) and not tile.first
        out = self.view(step["out"], tile, not more)
        if code == "spread":
            at = self.along(step["first_axis"], step["axes"], np.arange(out.shape[1]))
            out[...] = operands[0][:, at]
        elif code in ("random_keep", "random_uniform"):
            full = names("SpanCode")[step["out"]["span"]] == "full"
            rows, cols = (np.arange(n) for n in out.shape)
            index = (tile.row + rows)[:, None] * (int(self.header["cols"]) if full else 1) + (tile.col * full + cols)
            key = int(step["key"][0]) + 2 * int(step["seeded"])
            out[...] = self.draw(key, index)
        elif code == "index":
            wide = names("SpanCode")[step["out"]["span"]] in ("full", "line")
            out[...] = tile.col * wide + np.arange(out.shape[1])
        elif code == "turn":
            out[...] = operands[0].T
        elif code in REDUCE:
            wide = operands[0].astype(np.float64)
            total = REDUCE[code](wide, axis=1, keepdims=True)
            if more:
                total = JOIN[code](total, out.astype(np.float64))
            out[...] = total.astype(out.dtype)
        elif code == "cast":
            out[...] = operands[0].astype(out.dtype)
        else:
            wide = [o if o.dtype.kind in "iu" else o.astype(np.float64) for o in operands]
            out[...] = ARITHMETIC[code](*wide).astype(out.dtype)

    def move(self, step: Record, tile: Tile) -> None:
        source = step["in"][0]
        out = self.view(step["out"], tile, True, int(step["out_col"]), int(step["cols"]))
        if names("Place")[source["place"]] == "literal":
            out[...] = self.operand(source, tile)
            return
        wide = names("SpanCode")[source["span"]] in ("full", "line")
        first = int(step["in_col"]) if wide else 0
        out[...] = self.view(source, tile, False, first, out.shape[1] if wide else 1).copy()
