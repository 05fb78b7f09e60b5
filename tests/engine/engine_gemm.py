"""Random products, and chips with other figures, for the tests of the matmul family."""

from __future__ import annotations

from engine_program import INI
from hypothesis import strategies as st

from ascend_fuse import _engine
from bench.product_case import EPILOGUES, Case

SOCS = ("Ascend910A", "Ascend310P3", "Ascend310B1", "Ascend910B1", "Ascend910B4", "Ascend950PR_9599")
WIDTH = {"f16": 2, "bf16": 2, "f32": 4}


def chip(**changes: int) -> _engine.Soc:
    """A 910B2 with other figures."""
    text = INI
    for key, value in changes.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{key}="))
        text = text.replace(old, f"{key}={value}", 1)
    return _engine.soc_from_ini(text, "changed")


def size(most: int) -> st.SearchStrategy[int]:
    """Sizes of all magnitudes, and those at a tile's border."""
    near = st.integers(1, most // 16).map(lambda b: 16 * b)
    return st.one_of(
        st.integers(1, min(64, most)), near, near.map(lambda b: b - 1), near.map(lambda b: min(most, b + 1))
    )


def dtypes(soc: _engine.Soc) -> list[str]:
    """What the chip's cube multiplies."""
    return {2201: ["f16", "bf16", "f32"], 3510: ["f16", "bf16", "f32"]}.get(soc.npu_arch, ["f16"])


@st.composite
def cases(draw: st.DrawFn, soc: _engine.Soc | None = None) -> Case:
    """A product of any size and dtype that the chip takes (f16 without a chip), with any of the epilogues."""
    dtype = draw(st.sampled_from(dtypes(soc))) if soc else "f16"
    steps = EPILOGUES[draw(st.sampled_from(sorted(EPILOGUES)))]
    result = dtype
    if draw(st.booleans()):
        result, steps = "f32", (*((f"cast {dtype}",) if dtype != "f32" else ()), *steps)
    batch, shared = draw(st.sampled_from((1, 1, 2, 12, 100))), draw(st.booleans())
    return Case(batch, draw(size(5000)), draw(size(5000)), draw(size(12000)), steps, dtype, result, shared)


def solve(case: Case, soc: _engine.Soc, **bounds: float) -> tuple[_engine.GemmTiling, _engine.GemmCost]:
    """Tiling and cost of the fused case."""
    limits = _engine.Bounds(**bounds)  # pyright: ignore[reportArgumentType]
    return _engine.solve_gemm(case.program(), case.sizes, soc, limits)
