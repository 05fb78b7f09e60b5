"""One judge of what the kernels can do: the verdict, the question about a step alone, and lowering say the same."""

from __future__ import annotations

import pytest
from engine_gemm import SOCS as GEMM_SOCS
from engine_gemm import cases
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ascend_fuse import _engine
from ascend_fuse.program.program import Program, Value
from ascend_fuse.program.text import print_program
from tests.program.program_strategy import programs

EAGER = _engine.Bounds(min_gain=0.0, min_gain_us=0.0)
SOCS = st.sampled_from(("Ascend910B3", "Ascend950PR_9599", "Ascend310P3", "Ascend310B1", "Ascend910A"))
LACKING = ("dtype-unsupported", "op-unsupported")
B3 = "Ascend910B3"


def one(dtype: str, operation: str, result: str = "") -> _engine.Program:
    """A program of one instruction over x0, of which x1 is another of the kind."""
    inputs = [f"x{k}: {dtype}[d0] = in" for k in range(2) if f"x{k}" in operation]
    lines = ["elementwise 1 [d0]", *inputs, f"v0: {result or dtype}[d0] = {operation}", "out v0"]
    return _engine.Program("\n".join(lines))


def unread(program: Program) -> set[str]:
    """Instructions that neither another one nor an output reads."""
    operands = {o.name for line in program.instrs for o in line.operands if isinstance(o, Value)}
    return {line.name for line in program.instrs} - operands - {o.name for o in program.outputs}


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), SOCS, st.data())
def test_verdict_question_and_lowering_agree(program: Program, name: str, data: st.DataObject) -> None:
    assume(not unread(program))  # lowering leaves out what nothing comes of, whatever it is
    fused, soc = _engine.Program(print_program(program)), _engine.soc(name)
    sizes = [data.draw(st.sampled_from((1, 2, 3, 20, 65)), label=s) for s in fused.symbols]
    lacking = _engine.unsupported(fused, sizes, soc)
    verdict = _engine.judge(fused, sizes, [(fused, sizes)] * 3, soc, EAGER)
    assert (verdict.code in LACKING) == (lacking is not None)
    if lacking is not None:
        assert lacking == (verdict.code, verdict.message) and lacking[1].endswith(f" on {name}")
    elif verdict.code == "ub-overflow":
        return
    try:
        _engine.lower(fused, sizes, soc, EAGER)
    except ValueError as error:
        assert lacking is not None and str(error).endswith(lacking[1])
    else:
        assert lacking is None


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(GEMM_SOCS))
def test_products_that_fuse_are_lowered(draw: st.DataObject, name: str) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    program = case.program()
    verdict = _engine.judge_gemm(program, case.sizes, case.parts(), soc, EAGER)
    if verdict.code not in LACKING:
        _engine.lower(program, case.sizes, soc, EAGER)
        return
    with pytest.raises(ValueError, match=f"lower: {verdict.message}"):
        _engine.lower(program, case.sizes, soc, EAGER)


@pytest.mark.parametrize(("program", "name", "code", "says"), [
    (one("i64", "add x0, x1"), B3, "dtype-unsupported", "i64 in add"),
    (one("u64", "mul x0, x1"), B3, "dtype-unsupported", "u64 in mul"),
    (one("u32", "max x0, x1"), B3, "dtype-unsupported", "u32 in max"),
    (one("u8", "sub x0, x1"), B3, "dtype-unsupported", "u8 in sub"),
    (one("i8", "neg x0"), B3, "dtype-unsupported", "i8 in neg"),
    (one("i16", "add x0, x1"), "Ascend910A", "dtype-unsupported", "i16 in add"),
    (one("i16", "max x0, x1"), "Ascend910A", "dtype-unsupported", "i16 in max"),
    (one("i32", "cast x0", "i8"), B3, "dtype-unsupported", "i32 cast to i8"),
    (one("i16", "cast x0", "f16"), "Ascend910A", "dtype-unsupported", "i16 cast to f16"),
    (one("f32", "cast x0", "i64"), "Ascend310P3", "dtype-unsupported", "f32 cast to i64"),
    (one("f32", "cast x0", "i64"), "Ascend910A", "dtype-unsupported", "f32 cast to i64"),
    (one("bf16", "relu x0"), "Ascend910A", "dtype-unsupported", "bf16"),
    (one("f64", "relu x0"), B3, "dtype-unsupported", "f64"),
])  # fmt: skip
def test_what_no_kernel_runs(program: _engine.Program, name: str, code: str, says: str) -> None:
    assert _engine.unsupported(program, [64], _engine.soc(name)) == (code, f"{says} on {name}")


@pytest.mark.parametrize(("program", "name"), [
    (one("i32", "add x0, x1"), B3), (one("u8", "max x0, x1"), B3), (one("i16", "cast x0", "f16"), "Ascend310P3"),
    (one("f32", "cast x0", "i64"), B3), (one("bf16", "relu x0"), B3),
])  # fmt: skip
def test_what_a_kernel_runs(program: _engine.Program, name: str) -> None:
    assert _engine.unsupported(program, [64], _engine.soc(name)) is None


def test_a_row_cut_into_too_many_pieces() -> None:
    text = "rowwise 1 [d0 | d1, 8]\nx0: f32[d0 | d1, 8] = in\nv0: f32[d0 | d1, 4] = slice x0 {start=0, stop=4}\nout v0"
    program, soc = _engine.Program(text), _engine.soc(B3)
    assert _engine.unsupported(program, [3, 64], soc) is None
    assert _engine.unsupported(program, [3, 65], soc) == ("op-unsupported", f"slice in 65 parts of a row on {B3}")
