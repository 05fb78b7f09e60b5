"""Launches: their tables cover the space, stay inside of UB, and compute what the program says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from engine_program import ALL, TURNED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launch_reader import Block
from launch_run import Run

from ascend_fuse import _engine
from ascend_fuse.program.evaluate import dtype_of, evaluate
from ascend_fuse.program.noise import Noise
from ascend_fuse.program.program import Program
from ascend_fuse.program.text import parse_program, print_program
from tests.program.program_strategy import programs

Array = npt.NDArray[Any]
SOCS = st.sampled_from(("Ascend910B3", "Ascend950PR_9599", "Ascend310P3", "Ascend910A"))
BOUNDS = _engine.Bounds()


def arrays_of(program: Program, sizes: dict[str, int], seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    arrays = []
    for line in program.inputs:
        shape = [int(np.prod([sizes[e] if isinstance(e, str) else e for e in size])) for size in line.tensor_shape]
        dtype = dtype_of(line.type.dtype)
        numbers = rng.normal(size=shape) * 2 if dtype.kind not in "iub" else rng.integers(0, 3, shape)
        arrays.append(numbers.astype(dtype))
    return arrays


def draw(key: int, index: Array) -> Array:
    """Any function of key and index."""
    return (index * 2654435761 + key * 97) % 7 > 2


def masks_of(program: Program, sizes: dict[str, int]) -> dict[str, Array]:
    masks, number = {}, 0
    for line in program.instrs:
        if not line.op.startswith("random_"):
            continue
        shape = tuple(sizes[e] if isinstance(e, str) else e for e in line.type.extents)
        seed = line.attributes.get("seed")
        key = number if seed is None else (int(seed) & 0xFFFFFFFF) + 2
        masks[line.name] = draw(key, np.arange(np.prod(shape)).reshape(shape))
        number += 1
    return masks


def run(program: Program, launch: _engine.Launch, sizes: dict[str, int], arrays: list[Array]) -> list[Array]:
    """The outputs of the launch; checks its promises on the way."""
    reference = evaluate(program, arrays, masks_of(program, sizes))
    outputs = [np.zeros(r.shape, r.dtype) for r in reference]
    block = Block(launch.block)
    one = Run(block, [*arrays, *outputs], draw)
    one.run()
    assert (one.loaded, one.stored) == (launch.loaded_bytes, launch.stored_bytes)
    h = block.header
    tiles = h["buffer_num"] * (h["in_bytes"] + h["out_bytes"]) + h["resident_bytes"] + h["calc_bytes"]
    assert launch.ub_bytes == max(tiles, 2 * h["copy_bytes"])
    return outputs


def close(program: Program, sizes: dict[str, int], arrays: list[Array], found: list[Array]) -> None:
    """As close to the reference as values that are a few last places off come."""
    masks = masks_of(program, sizes)
    reference = evaluate(program, arrays, masks)
    beside = [evaluate(program, arrays, masks, Noise(seed)) for seed in range(6)]
    for k, wanted in enumerate(reference):
        x, y = wanted.astype(np.float64), found[k].astype(np.float64)
        noisy = np.stack([b[k].astype(np.float64) for b in beside])
        with np.errstate(invalid="ignore", over="ignore"):
            sure = np.isfinite(noisy).all(0) & np.isfinite(x)
            sure &= (wanted.dtype.kind not in "iub") | (noisy == x).all(0)
            eps = {2: 2.0**-7 if "bfloat" in str(wanted.dtype) else 2.0**-10, 4: 2.0**-21}.get(wanted.dtype.itemsize, 0)
            bound = 4 * np.abs(noisy - x).max(0) + 2 * eps * np.abs(x) + (1e-6 if eps else 0)
            assert (np.abs(y - x)[sure] <= bound[sure]).all(), f"output {k}"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), SOCS, st.integers(0, 2**31), st.data())
def test_a_launch_computes_its_program(program: Program, name: str, seed: int, data: st.DataObject) -> None:
    text = print_program(program)
    engine = _engine.Program(text)
    sizes = {s: data.draw(st.sampled_from((1, 2, 3, 7, 20, 33)), label=s) for s in engine.symbols}
    try:
        launch = _engine.lower(engine, list(sizes.values()), _engine.soc(name), BOUNDS)
    except ValueError as error:
        assert "lower: " in str(error), error
        return
    arrays = arrays_of(program, sizes, seed)
    close(program, sizes, arrays, run(program, launch, sizes, arrays))


@pytest.mark.parametrize("text", (*ALL, *TURNED))
@pytest.mark.parametrize("size", [(2, 3, 5, 4), (3, 13, 37, 2)])
def test_the_known_programs(text: str, size: tuple[int, ...]) -> None:
    program, engine = parse_program(text), _engine.Program(text)
    sizes = dict(zip(engine.symbols, size, strict=False))
    launch = _engine.lower(engine, list(sizes.values()), _engine.soc("Ascend910B3"), BOUNDS)
    arrays = arrays_of(program, sizes, 1)
    close(program, sizes, arrays, run(program, launch, sizes, arrays))


def long_rows(program: Program) -> Program:
    """The same over rows of 96 elements, and without what moves along a row."""
    return parse_program(re.sub(r"\b8\b", "96", print_program(program)))


def streams(program: Program) -> bool:
    """Whether nothing moves along a row."""
    halves = any(4 in line.type.extents for line in (*program.inputs, *program.instrs))
    return not halves and all(line.op not in ("slice", "concat") for line in program.instrs)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs().filter(streams).map(long_rows), SOCS, st.integers(0, 2**31), st.data())
def test_cut_rows_compute_their_program(program: Program, name: str, seed: int, data: st.DataObject) -> None:
    engine = _engine.Program(print_program(program))
    sizes = {s: data.draw(st.sampled_from((1, 2, 3, 7)), label=s) for s in engine.symbols}
    if program.family == "elementwise":
        sizes["d1"] = data.draw(st.sampled_from((33, 96, 130)), label="d1")
    tile = (1, data.draw(st.sampled_from((32, 64)), label="tile_cols"), *data.draw(st.sampled_from(((1, 1), (2, 0)))))
    try:
        launch = _engine.lower(engine, list(sizes.values()), _engine.soc(name), BOUNDS, tile)
    except ValueError as error:
        assert "lower: " in str(error), error
        return
    arrays = arrays_of(program, sizes, seed)
    close(program, sizes, arrays, run(program, launch, sizes, arrays))


@pytest.mark.parametrize("text", TURNED)
@pytest.mark.parametrize("name", ["Ascend910B3", "Ascend310P3", "Ascend910A"])
@pytest.mark.parametrize(
    ("channels", "places", "rest"),
    [(16, 1, (32, 2, 0)), (32, 16, (32, 1, 3)), (48, 20, (64, 2, 0)), (64, 91, (64, 1, 1))],
)
def test_turned_tensors_in_tiles_of_any_form(
    text: str, name: str, channels: int, places: int, rest: tuple[int, int, int]
) -> None:
    """Rows and cols are cut; tiles end where squares do, and in the middle of them."""
    program, engine = parse_program(text), _engine.Program(text)
    sizes = {"d0": 2, "d1": 13, "d2": 7}
    tile = (channels if program.family == "transform" else places, *rest)
    launch = _engine.lower(engine, list(sizes.values()), _engine.soc(name), BOUNDS, tile)
    arrays = arrays_of(program, sizes, 5)
    close(program, sizes, arrays, run(program, launch, sizes, arrays))


def test_a_tile_that_would_lie_askew_is_refused() -> None:
    """Channels of 128 B: a tile of 20 would cross their end in the middle of a block."""
    engine, chip = _engine.Program(TURNED[0]), _engine.soc("Ascend910B3")
    for rows in (20, 0, 129):
        with pytest.raises(ValueError, match="lower: no tile of"):
            _engine.lower(engine, [2, 13, 7], chip, BOUNDS, (rows, 32, 2, 0))


SEGMENTS = """\
rowwise 1 [d0 | 3, d1]
x0: f16[d0 | 3, d1] = in
x1: f16[1 | 3, 1] = in (3, 1)
x2: bool[d0 | 3, 1] = in
x3: f16[d0 | 1, 1] = in (d0)
v0: f16[d0 | 1, 1] = reduce_mean x0
v1: f16[1 | 3, 1] = exp x1
v2: f16[d0 | 3, d1] = sub x0, v0
v3: f16[d0 | 3, d1] = mul v2, v1
v4: f16[d0 | 3, d1] = where x2, v3, x3
v5: f16[d0 | 1, 1] = reduce_max v4
v6: f16[d0 | 1, 1] = add v5, x3
v7: f16[d0 | 3, 1] = mul v1, v6
v8: f16[d0 | 3, d1] = tanh v4
v9: f16[d0 | 3, d1] = div v8, v7
out v9, v7, v0 (d0), v4 (d0*3, d1), x2"""


@pytest.mark.parametrize("tile", [(1, 32, 2, 0), (1, 64, 1, 2), (2, 3 * 96, 2, 0), (1, 3 * 96, 1, 1)])
def test_segments_of_a_row(tile: tuple[int, int, int, int]) -> None:
    """Values that are one element a segment, in a row that is cut or is not."""
    program, engine = parse_program(SEGMENTS), _engine.Program(SEGMENTS)
    sizes = {"d0": 3, "d1": 96}
    launch = _engine.lower(engine, [3, 96], _engine.soc("Ascend910B3"), BOUNDS, tile)
    arrays = arrays_of(program, sizes, 5)
    close(program, sizes, arrays, run(program, launch, sizes, arrays))
