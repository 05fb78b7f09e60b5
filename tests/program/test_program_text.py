"""Text ⇄ program: what was parsed prints to the same bytes, by us and by the engine; errors name their line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from program_strategy import programs

from ascend_fuse import _engine
from ascend_fuse.error import UsageError
from ascend_fuse.program.op import table
from ascend_fuse.program.program import Program, literal_dtype
from ascend_fuse.program.text import literal_text, parse_program, print_program


@settings(max_examples=150, deadline=None)
@given(programs())
def test_round_trip(program: Program) -> None:
    text = print_program(program)
    again = parse_program(text)
    assert print_program(again) == text
    assert parse_program(print_program(again)) == again
    assert again == exact(program)


def exact(program: Program) -> Program:
    """The program with each float literal as the decimal that stands for it in its type."""
    dtypes = {n: t.dtype for n, t in program.types().items()}
    lines = [
        replace(
            i,
            operands=tuple(
                float(literal_text(o, literal_dtype(i, dtypes))) if isinstance(o, float) else o for o in i.operands
            ),
        )
        for i in program.instrs
    ]
    return replace(program, instrs=tuple(lines))


@settings(max_examples=150, deadline=None)
@given(programs())
def test_the_engine_prints_the_same_bytes(program: Program) -> None:
    text = print_program(program)
    parsed = _engine.Program(text)
    assert parsed.text() == text
    assert parsed.family == program.family
    assert tuple(parsed.symbols) == program.symbols
    assert (parsed.n_instr, parsed.n_inputs, parsed.n_outputs) == (
        len(program.instrs), len(program.inputs), len(program.outputs),
    )  # fmt: skip


def test_the_strategy_reaches_every_operator() -> None:
    """A property over programs says nothing of an operator that no program has."""
    seen: set[str] = set()

    @settings(max_examples=1000, deadline=None, derandomize=True, database=None)
    @given(programs())
    def collect(program: Program) -> None:
        seen.update(i.op for i in program.instrs)

    collect()
    assert seen == set(table())


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, "f32", "0.1"), (float.fromhex("0x1.99999ap-4"), "f32", "0.1"), (1.4140625, "f16", "1.414"),
        (1.4142135381698608, "f32", "1.4142135"), (float("inf"), "f32", "inf"), (float("-inf"), "f16", "-inf"),
        (float("nan"), "f32", "nan"), (True, "bool", "true"), (False, "bool", "false"), (-3, "i32", "-3"),
        (-3.4028234663852886e38, "f32", "-3.4028235e+38"), (0.0, "f32", "0.0"), (-0.0, "f32", "-0.0"),
        (65504.0, "f16", "65500.0"), (0.1, "bf16", "0.1"), (1e-12, "f32", "1e-12"),
    ],
)  # fmt: skip
def test_a_literal_is_the_shortest_decimal_of_its_type(value: float, dtype: str, text: str) -> None:
    """docs/design/0001: literals are the shortest decimal that reads back exactly in the dtype of their line."""
    assert literal_text(value, dtype) == text


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1.4142135623730951, 0.7978845608028654, 1e-5, -65504.0])
def test_a_printed_literal_reads_back_exactly_in_its_type(value: float, dtype: str) -> None:
    from ascend_fuse.program.evaluate import dtype_of

    kind = dtype_of(dtype).type
    text = f"elementwise 1 [2]\nx0: {dtype}[2] = in\nv0: {dtype}[2] = add x0, {literal_text(value, dtype)}\nout v0"
    read = parse_program(text).instrs[0].operands[1]
    assert kind(read) == kind(value)


GOOD = (
    "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_max x0\nv1: f32[d0 | d1] = sub x0, v0\nout v1"
)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("rowwise 1", "rowwise 2", 1), ("rowwise", "diagonal", 1), ("[d0 | d1]\nx0", "d0 | d1\nx0", 1),
        ("x0: f32[d0 | d1] = in", "x0 f32[d0 | d1] = in", 2), ("reduce_max x0\n", "\n", 3),
        ("v1: f32", "v1; f32", 4), ("out v1", "put v1", 5), ("out v1", "out v-1", 5), ("out v1", "out v1, ", 5),
    ],
)  # fmt: skip
def test_our_parser_names_the_line(old: str, new: str, line: int) -> None:
    assert old in GOOD
    with pytest.raises(UsageError) as caught:
        parse_program(GOOD.replace(old, new))
    assert caught.value.where == f"program line {line}"
    assert caught.value.do


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("reduce_max x0", "reduce_max x9", 3), ("sub x0, v0", "sub x0", 4), ("sub x0, v0", "subtract x0, v0", 4),
        ("f32[d0 | 1] = reduce", "f16[d0 | 1] = reduce", 3), ("v1: f32[d0 | d1]", "v1: f32[d0 | 1]", 4),
        ("out v1", "out v2", 5), ("out v1", "out v0, v1, v1", 5), ("v1: f32", "x0: f32", 4),
        ("rowwise 1 [d0 | d1]", "rowwise 1 [d0, d1 | d2]", 2), ("x0: f32[d0 | d1] = in", "x0: f32[d0 | 1] = in", 4),
    ],
)  # fmt: skip
def test_the_engine_checks_the_meaning_and_names_the_line(old: str, new: str, line: int) -> None:
    """Types, arity, definitions and binding are checked in one place, the engine."""
    assert old in GOOD
    with pytest.raises(ValueError, match=f"^line {line}: "):
        _engine.Program(GOOD.replace(old, new))


GROUPED = """\
rowwise 1 [d0, 32 | 10, d1]
x0: f32[d0, 32 | 10, d1] = in (d0, 32*10, d1)
x1: f32[1, 32 | 10, 1] = in (32*10, 1)
v0: f32[d0, 32 | 1, 1] = reduce_mean x0
v1: f32[d0, 32 | 10, d1] = sub x0, v0
v2: f32[d0, 32 | 10, d1] = mul v1, x1
out v2 (d0*32, 1, 10*d1), v0 (d0, 32)"""


def test_a_size_may_be_a_product() -> None:
    program = parse_program(GROUPED)
    assert print_program(program) == GROUPED
    assert _engine.Program(GROUPED).text() == GROUPED
    assert program.inputs[0].tensor_shape == (("d0",), (32, 10), ("d1",))
    assert program.inputs[0].bound == {"d0", "d1"}
    assert program.outputs[0].shape == (("d0", 32), (1,), (10, "d1"))


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("(d0, 32*10, d1)", "(d0, 10*32, d1)", 2, "other extents"), ("(d0, 32*10, d1)", "(d0, 320, d1)", 2, "other ext"),
        ("(d0, 32*10, d1)", "(d0, 32*10)", 2, "other extents"), ("(32*10, 1)", "(32*1*10)", 3, "a factor of '32*1*10'"),
        ("(32*10, 1)", "(32*, 10)", 3, "found ''"), ("(32*10, 1)", "(32* 10)", 3, "found ' 10'"),
        ("(d0, 32*10, d1)", "(d0, 32*10*d1)", 1, "d1 stands alone in the shape of no"),
        ("v2 (d0*32, 1, 10*d1)", "v2 (d0*32, 1, d1*10)", 7, "other extents"),
        ("v2 (d0*32, 1, 10*d1)", "v2 (d0*32, 1, 10*d2)", 7, "other extents"),
    ],
)  # fmt: skip
def test_the_engine_refuses_a_product(old: str, new: str, line: int, what: str) -> None:
    assert old in GROUPED
    with pytest.raises(ValueError, match=f"^line {line}: ") as raised:
        _engine.Program(GROUPED.replace(old, new))
    assert what in str(raised.value)


def test_both_parsers_take_every_line_form() -> None:
    text = """\
rowwise 1 [d0, d1 | 64]
x0: f16[d0, d1 | 64] = in
x1: f16[1, d1 | 64] = in (d1, 64)
x2: bool[d0, d1 | 64] = in (d0, d1, 1, 64)
h0: i64[2] = host
v0: f16[d0, d1 | 32] = slice x0 {start=32, stop=64}
v1: f16[d0, d1 | 64] = concat v0, v0
v2: bool[d0, d1 | 64] = random_keep {ratio=0.1, seed=-7}
v3: bool[d0, d1 | 64] = and v2, x2
v4: f16[d0, d1 | 64] = where v3, v1, -inf
v5: f16[d0, d1 | 64] = mul v4, x1
out v5 (d0, 1, d1, 64), v4"""
    assert print_program(parse_program(text)) == text
    assert _engine.Program(text).text() == text
    program = parse_program(text)
    assert [i.host for i in program.inputs] == [False, False, False, True]
    assert program.inputs[1].tensor_shape == (("d1",), (64,))
    assert program.outputs[0].shape == (("d0",), (1,), ("d1",), (64,))
    assert dict(program.instrs[2].attributes) == {"ratio": 0.1, "seed": -7}
