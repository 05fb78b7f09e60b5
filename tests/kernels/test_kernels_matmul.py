"""Matmul programs through the kernel on the emulator: results, bytes through GM, bytes on chip."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ascend_fuse.program.bound import bounds, distance
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.text import parse_program
from tests.compiler import compile_cpp, run
from tests.kernels.emulated import SATURATING
from tests.kernels.random_gemm import RandomGemm

Array = npt.NDArray[Any]
ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
ARCHS = (1001, 2002, 2201, 3002, 3510)
SPLIT = ("Ascend910B3", "Ascend950PR_9599")  # a cube core beside two vector cores
MEMORIES = ("UB", "L1", "L0A", "L0B", "L0C", "BT")


class Figures(ctypes.Structure):
    """As in gemm_harness.cpp."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("loaded", "stored", "predicted_loaded", "predicted_stored")),
        ("peaks", ctypes.c_int64 * len(MEMORIES)),
        ("buffers", ctypes.c_int64 * len(MEMORIES)),
        ("block_dim", ctypes.c_int64),
        ("apart", ctypes.c_int64),
    ]


@dataclass(frozen=True, slots=True)
class Cube:
    library: ctypes.CDLL

    def run(
        self, text: str, arrays: Sequence[Array], outputs: Sequence[Array], fused: str = "", soc: str = "Ascend910B3"
    ) -> Figures:
        """What the run took; `outputs` are filled. Raises RuntimeError with what lowering or the emulator said."""
        tensors = [*arrays, *outputs]
        addresses = (ctypes.c_void_p * len(tensors))(*(t.ctypes.data for t in tensors))
        sizes = (ctypes.c_int64 * len(tensors))(*(t.nbytes for t in tensors))
        figures, message = Figures(), ctypes.create_string_buffer(4096)
        names = text.encode(), soc.encode(), fused.encode()
        counts = ctypes.c_size_t(len(arrays)), ctypes.c_size_t(len(tensors))
        room = ctypes.c_size_t(len(message))
        if self.library.run_gemm(*names, addresses, sizes, *counts, ctypes.byref(figures), message, room):
            raise RuntimeError(message.value.decode())
        return figures

    def check(self, text: str, arrays: Sequence[Array], fused: str = "", soc: str = "Ascend910B3") -> Figures:
        """Runs a program; its outputs are within their bounds, its bytes are those that the engine promised."""
        wanted = bounds(parse_program(text), arrays, saturates=soc in SATURATING)
        outputs = [np.zeros(w.shape, w.dtype) for w, _ in wanted]
        figures = self.run(text, [np.ascontiguousarray(a) for a in arrays], outputs, fused, soc)
        for output, (reference, bound) in zip(outputs, wanted, strict=True):
            assert (distance(output, reference) <= bound).all(), text
        assert figures.loaded == figures.predicted_loaded
        assert figures.stored == figures.predicted_stored
        for name, peak, promised in zip(MEMORIES, figures.peaks, figures.buffers, strict=True):
            assert peak <= promised, name
        return figures


@pytest.fixture(scope="session")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Cube:
    """The kernels and the harness, compiled side by side."""
    folder = tmp_path_factory.mktemp("cube")
    embed = [f"-DENGINE_DIR={KERNELS / 'engine'}", f"-DOUT={folder / 'ascend_fuse_data.h'}"]
    run("cmake", *embed, "-P", KERNELS / "engine" / "embed.cmake")
    flags = ["-std=c++17", "-O1", "-fPIC", f"-I{folder}", f"-I{KERNELS / 'engine'}", f"-I{KERNELS / 'emulator'}"]
    kernel = KERNELS / "op_kernel" / "kernel" / "matmul.cpp"
    sources = [(kernel, f"{arch}.o", ["-DASCEND_FUSE_EMULATOR", f"-D__NPU_ARCH__={arch}"]) for arch in ARCHS]
    sources.append((ROOT / "tests" / "kernels" / "gemm_harness.cpp", "harness.o", []))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda one: compile_cpp(*flags, *one[2], "-c", one[0], "-o", folder / one[1]), sources))
    objects = [folder / made for _, made, _ in sources]
    library = folder / "libcube.so"
    compile_cpp("-shared", *objects, "-o", library)
    return Cube(ctypes.CDLL(str(library)))


@pytest.mark.parametrize(("soc", "first"), [
    *((SPLIT[0], first) for first in range(0, 120, 20)),
    *((SPLIT[1], first) for first in range(600, 760, 20)),
])  # fmt: skip
def test_random_programs(cube: Cube, soc: str, first: int) -> None:
    ran = 0
    for seed in range(first, first + 20):
        case = RandomGemm(seed)
        try:
            cube.check(case.text, case.arrays, soc=soc)
            ran += 1
        except RuntimeError as error:
            assert str(error).startswith("lower: "), case.text
    assert ran >= 18


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910A", "Ascend310B1"])
@pytest.mark.parametrize("first", range(200, 320, 30))
def test_random_programs_on_a_coupled_chip(cube: Cube, first: int, soc: str) -> None:
    """Tails of every side through UB, chunks of a tile, stores of less than a block, pasts."""
    ran = 0
    for seed in range(first, first + 30):
        case = RandomGemm(seed, dtypes=("f16", "f16", "f16", "f16", "i8"))
        try:
            cube.check(case.text, case.arrays, soc=soc)
            ran += 1
        except RuntimeError as error:
            assert str(error).startswith("lower: "), case.text
    assert ran >= 15


BEHIND = """\
matmul 1 [2, 70 | 130]
x0: f16[2, 70 | 64] = left
x1: f16[64 | 130] = right
x2: f16[2, 70 | 130] = in
v0: f16[2, 70 | 130] = matmul x0, x1
v1: f16[2, 70 | 130] = mul v0, x2
out v1{more}"""


@pytest.mark.parametrize("soc", SPLIT)
@pytest.mark.parametrize("more", ["", ", v0"])
@pytest.mark.parametrize("fused", ["-", "m", "mr", "mc", "x"])
def test_tile_classes_that_run_apart(cube: Cube, fused: str, more: str, soc: str) -> None:
    """Their product lies in GM until all cube cores are done, then all vector cores do what follows."""
    rng = np.random.default_rng(7)
    arrays = [rng.standard_normal(s).astype(np.float16) for s in ((2, 70, 64), (64, 130), (2, 70, 130))]
    text = BEHIND.format(more=more)
    assert cube.check(text, arrays, soc=soc).apart == 0
    assert cube.check(text, arrays, fused, soc).apart != 0


ROW = """\
matmul 1 [1 | {n}]
x0: {dtype}[1 | {k}] = left
x1: {dtype}[{k} | {n}] = right
v0: f32[1 | {n}] = matmul x0, x1
out v0"""


@pytest.mark.parametrize("soc", SPLIT)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize(("k", "n"), [(1, 1), (64, 70_000), (5000, 48)])
def test_one_row(cube: Cube, dtype: str, k: int, n: int, soc: str) -> None:
    """One row alone, steps between rows that Nd2NzParams does not hold, a long k."""
    rng = np.random.default_rng(k)
    arrays = [rng.standard_normal(s).astype(np.float16 if dtype == "f16" else np.float32) for s in ((1, k), (k, n))]
    cube.check(ROW.format(dtype=dtype, k=k, n=n), arrays, soc=soc)


@pytest.mark.parametrize("soc", SPLIT)
def test_infinities_and_zeros_come_through(cube: Cube, soc: str) -> None:
    left, right = np.zeros((3, 40), np.float16), np.ones((40, 5), np.float16)
    left[0, 3], left[1, 39], right[39, 4] = np.inf, -1, 0
    text = ROW.format(dtype="f16", k=40, n=5).replace("[1 |", "[3 |")
    cube.check(text, [left, right], soc=soc)


@pytest.mark.parametrize("soc", SPLIT)
def test_one_row_that_lies_across(cube: Cube, soc: str) -> None:
    """Its neighbours in memory lie along m, of which there is one: L1 is padded with zeros, nothing comes twice."""
    text = ROW.format(dtype="f16", k=40, n=5).replace("left", "left <1 0>")
    cube.check(text, [np.ones((40, 1), np.float16), np.ones((40, 5), np.float16)], soc=soc)


ACROSS = """\
matmul 1 [{m} | {n}]
x0: {dtype}[{m} | {k}] = left{left}
x1: {dtype}[{k} | {n}] = right{right}
v0: {out}[{m} | {n}] = matmul x0, x1
out v0"""


@pytest.mark.parametrize("soc", SPLIT)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8"])
@pytest.mark.parametrize("left", ["", " <1 0>"])
@pytest.mark.parametrize("right", ["", " <1 0>"])
def test_either_operand_lies_across(cube: Cube, dtype: str, left: str, right: str, soc: str) -> None:
    """Odd counts of fractals on each side, so that squares of bytes and of f32 reach beyond; sums over several steps."""
    rng = np.random.default_rng(3)
    for m, n, k in ((17, 3, 33), (40, 50, 70), (47, 81, 1), (300, 177, 1601)):
        shapes = (m, k)[:: -1 if left else 1], (k, n)[:: -1 if right else 1]
        drawn = [rng.integers(-128, 128, s) if dtype == "i8" else rng.standard_normal(s) for s in shapes]
        text = ACROSS.format(m=m, n=n, k=k, dtype=dtype, left=left, right=right, out="i32" if dtype == "i8" else "f32")
        cube.check(text, [a.astype(dtype_of(dtype)) for a in drawn], soc=soc)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize(("soc", "tables"), [(SPLIT[0], ("f16", "f32")), (SPLIT[1], ("f16", "bf16", "f32"))])
def test_what_the_bias_table_takes(cube: Cube, soc: str, tables: tuple[str, ...], dtype: str) -> None:
    """A bias of every dtype is added; it rides where the table of the chip widens it."""
    rng = np.random.default_rng(5)
    text = ACROSS.format(m=20, n=50, k=70, dtype="f16", left="", right="", out=dtype)
    text = text.replace("v0:", f"x2: {dtype}[1 | 50] = in\nv0:")
    text = text.replace("out v0", f"v1: {dtype}[20 | 50] = add v0, x2\nout v1")
    arrays = [rng.standard_normal(s).astype(np.float16) for s in ((20, 70), (70, 50))]
    arrays.append(rng.standard_normal((1, 50)).astype(dtype_of(dtype)))
    figures = cube.check(text, arrays, soc=soc)
    assert (figures.peaks[MEMORIES.index("BT")] > 0) == (dtype in tables)
    assert (figures.peaks[MEMORIES.index("UB")] == 0) == (dtype in tables)


@pytest.mark.parametrize("soc", SPLIT)
def test_bytes_without_sign_are_refused_by_lowering(cube: Cube, soc: str) -> None:
    text = ROW.format(dtype="u8", k=40, n=5).replace("v0: f32", "v0: i32")
    arrays = [np.ones((1, 40), np.uint8), np.ones((40, 5), np.uint8)]
    with pytest.raises(RuntimeError, match="u8 in matmul"):
        cube.run(text, arrays, [np.zeros((1, 5), np.int32)], soc=soc)
