"""Program text: parsing gives back the same bytes, and every error names its line."""

import csv

import pytest
from engine_program import ALL, SOFTMAX, TURNED

from ascend_fuse import _engine


@pytest.mark.parametrize("text", (*ALL, *TURNED))
def test_printing_gives_the_same_bytes(text: str) -> None:
    assert _engine.Program(text).text() == text


def test_symbols_and_counts() -> None:
    program = _engine.Program(SOFTMAX)
    assert (program.symbols, program.n_inputs, program.n_instr, program.n_outputs) == (["d0", "d1", "d2"], 2, 7, 2)
    assert program.family == "rowwise"


HEAD = "elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\n"
TURN = "transform 1 [d0 | d1]\nx0: f32[d0 | d1] = in\n"
ROW = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\n"
WRONG = {
    "empty": ("", 1, "header"),
    "family": ("conv 1 [d0]\nx0: f32[d0] = in\nout x0", 1, "no family 'conv'"),
    "transform bar": ("transform 1 [d0, d1]\nout x0", 1, "a transform space needs a |"),
    "transform rows": ("transform 1 [| d0]\nout x0", 1, "needs an axis in front of the |"),
    "transform cols": ("transform 1 [d0 | ]\nout x0", 1, "nothing behind the |"),
    "transform order": (TURN + "out x0", 3, "no order: a program without one is elementwise"),
    "transform sum": (TURN + "v0: f32[d0 | 1] = reduce_sum x0\nout v0 <1 0>", 3, "needs a rowwise"),
    "transform slice": (TURN + "v0: f32[d0 | 1] = slice x0 {start=0, stop=1}\nout v0 <1 0>", 3, "needs a rowwise"),
    "copy shape": (TURN + "v0: f32[d0 | 1] = copy x0\nout v0 <1 0>", 3, "copy of [d0, d1] does not give [d0, 1]"),
    "copy dtype": (TURN + "v0: f16[d0 | d1] = copy x0\nout v0 <1 0>", 3, "copy gives f32"),
    "order rank": (TURN + "out x0 <1 0 2>", 3, "wanted an order of 2 axes"),
    "order identity": (TURN + "out x0 <0 1>", 3, "wanted another order"),
    "version": ("elementwise 2 [d0]\nout x0", 1, "header"),
    "bar": ("elementwise 1 [d0 | d1]\nout x0", 1, "no |"),
    "no bar": ("rowwise 1 [d0, d1]\nout x0", 1, "needs a |"),
    "bars": ("rowwise 1 [d0 | d1 | d2]\nout x0", 1, "more than one |"),
    "symbol order": ("elementwise 1 [d1, d0]\nout x0", 1, "d1 stands before d0"),
    "unbound symbol": ("elementwise 1 [d0, d1]\nx0: f32[d0, 1] = in\nout x0", 3, "lacks axis d1"),
    "unbound axis": (
        ROW.replace("x0: f32[d0 | d1]", "x0: f32[d0 | 1]") + "out x0",
        1,
        "d1 stands alone in the shape of no",
    ),
    "zero": ("elementwise 1 [0]\nout x0", 1, "wanted a size"),
    "leading zero": ("elementwise 1 [d00]\nout x0", 1, "wanted a size"),
    "dtype": ("elementwise 1 [d0]\nx0: f8[d0] = in\nout x0", 2, "unknown dtype 'f8'"),
    "type": ("elementwise 1 [d0]\nx0: f32 = in\nout x0", 2, "wanted a type"),
    "line": (HEAD + "v0\nout x0", 3, "name: type"),
    "name": (HEAD + "0v: f32[d0, d1] = exp x0\nout x0", 3, "no name"),
    "twice": (HEAD + "x0: f32[d0, d1] = exp x0\nout x0", 3, "defined twice"),
    "late input": (HEAD + "v0: f32[d0, d1] = exp x0\nx1: f32[d0] = in\nout v0", 4, "before instructions"),
    "operator": (HEAD + "v0: f32[d0, d1] = expo x0\nout v0", 3, "no operator 'expo'"),
    "operand": (HEAD + "v0: f32[d0, d1] = exp x9\nout v0", 3, "'x9' is neither"),
    "arity": (HEAD + "v0: f32[d0, d1] = add x0\nout v0", 3, "takes 2 operands, found 1"),
    "literals": (HEAD + "v0: f32[d0, d1] = add 1.0, 2.0\nout v0", 3, "all operands"),
    "literal": (HEAD + "v0: f32[d0, d1] = add x0, true\nout v0", 3, "no literal of f32"),
    "int literal": (
        "elementwise 1 [d0]\nx0: i8[d0] = in\nv0: i8[d0] = add x0, 300\nout v0",
        3,
        "no literal of i8",
    ),
    "reduced literal": (ROW + "v0: f32[d0 | 1] = reduce_sum 1.0\nout v0", 3, "takes no literal"),
    "kind": ("elementwise 1 [d0]\nx0: i32[d0] = in\nv0: i32[d0] = exp x0\nout v0", 3, "does not take i32"),
    "mixed": (HEAD + "x1: f16[d0, d1] = in\nv0: f32[d0, d1] = add x0, x1\nout v0", 4, "x1 is f16, wanted f32"),
    "result dtype": (HEAD + "v0: f32[d0, d1] = lt x0, 0.0\nout v0", 3, "gives bool"),
    "result shape": (HEAD + "v0: f32[d0, 1] = exp x0\nout v0", 3, "the line says"),
    "broadcast": ("elementwise 1 [d0]\nx0: f32[4] = in\nout x0", 2, "neither 1 nor the space's d0"),
    "reduce shape": (ROW + "v0: f32[d0 | d1] = reduce_sum x0\nout v0", 3, "the line says"),
    "reduce family": (HEAD + "v0: f32[d0, d1] = reduce_sum x0\nout v0", 3, "needs a rowwise"),
    "slice": (ROW + "v0: f32[d0 | 8] = slice x0 {start=0, stop=4}\nout v0", 3, "takes 4 elements"),
    "slice bounds": (ROW + "v0: f32[d0 | 8] = slice x0 {start=0}\nout v0", 3, "wants {start=, stop=}"),
    "concat": (
        "rowwise 1 [d0 | 4]\nx0: f32[d0 | 2] = in\nv0: f32[d0 | 4] = concat x0, x0, x0\nout v0",
        3,
        "rows of 6 joined",
    ),
    "attribute": (HEAD + "v0: f32[d0, d1] = exp x0 {ratio}\nout v0", 3, "key=value"),
    "brace": (HEAD + "v0: f32[d0, d1] = exp x0 {ratio=1\nout v0", 3, "{ without }"),
    "host read": (HEAD + "h0: f32[2] = host\nv0: f32[d0, d1] = add x0, h0\nout v0", 4, "host input"),
    "host out": (HEAD + "h0: f32[2] = host\nout h0", 4, "host input"),
    "shape": ("elementwise 1 [d0]\nx0: f32[d0] = in (d0, 2)\nout x0", 2, "other extents"),
    "out": (HEAD + "v0: f32[d0, d1] = exp x0", 3, "`out …`"),
    "out name": (HEAD + "out v0", 3, "no value 'v0'"),
    "out twice": (HEAD + "out x0, x0", 3, "an output twice"),
    "out comma": (HEAD + "out x0,", 3, "no value 'x0,'"),
    "trailing": (HEAD + "out x0\n", 3, "name: type"),
    "random": (HEAD + "v0: f32[d0, d1] = random_keep {ratio=0.5}\nout v0", 3, "gives bool"),
    "instructions": (HEAD + "".join(f"v{i}: f32[d0, d1] = exp x0\n" for i in range(65)) + "out v0", 67, "more than 64"),
    "inputs": ("elementwise 1 [d0]\n" + "".join(f"x{i}: f32[d0] = in\n" for i in range(17)) + "out x0", 18, "than 16"),
    "outputs": (
        HEAD
        + "".join(f"v{i}: f32[d0, d1] = exp x0\n" for i in range(9))
        + "out "
        + ", ".join(f"v{i}" for i in range(9)),
        12,
        "more than 8",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_its_line(case: str) -> None:
    text, line, what = WRONG[case]
    with pytest.raises(ValueError) as raised:
        _engine.Program(text)
    assert str(raised.value).startswith(f"line {line}: ")
    assert what in str(raised.value)


def test_limits_hold_at_the_limit() -> None:
    lines = "".join(f"v{i}: f32[d0, d1] = exp x0\n" for i in range(64))
    assert _engine.Program(HEAD + lines + "out " + ", ".join(f"v{i}" for i in range(8))).n_instr == 64


def test_a_first_literal_is_allowed_and_kept() -> None:
    text = HEAD + "v0: f32[d0, d1] = sub 1.0, x0\nout v0"
    assert _engine.Program(text).text() == text


def rows() -> list[dict[str, str]]:
    lines = [line for line in _engine.data("op").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def program_of(row: dict[str, str], kind: str) -> str:
    """A program whose one instruction is the row's operator, on operands of that kind."""
    dtype = {"f": "f16", "i": "i32", "b": "bool", "": "bool"}[kind]
    name, arity = row["op"], abs(int(row["arity"]))
    operands = ["x0", "x0"][:arity] if name != "where" else ["c0", "x0", "x0"]
    mask = name == "random_keep"
    result = {"bool": "bool", "attr": "bool" if mask else "f32"}.get(row["result"], dtype)
    extent, tail = "8", ""
    if row["kind"] == "reduce":
        extent = "1"
    if name == "slice":
        extent, tail = "4", " {start=4, stop=8}"
    if mask:
        tail = " {ratio=0.5}"
    condition = "c0: bool[d0 | 8] = in\n" if name == "where" else ""
    shape = "8" if name == "index" else f"d0 | {extent}"
    call = f"{name} {', '.join(operands)}".strip()
    end = "out v0"
    if name == "index":  # alike for all rows, so no output by itself
        dtype, end = "f32", "v1: f32[d0 | 8] = add x0, v0\nout v1"
    return f"rowwise 1 [d0 | 8]\nx0: {dtype}[d0 | 8] = in\n{condition}v0: {result}[{shape}] = {call}{tail}\n{end}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["op"])
def test_every_operator_parses_and_costs(row: dict[str, str]) -> None:
    for kind in row["types"] or [""]:
        text = program_of(row, kind)
        program = _engine.Program(text)
        assert program.text() == text
        cost = _engine.estimate(program, [4096], _engine.soc("Ascend910B2"), _engine.Bounds())
        assert cost.vector_us > 0
        if row["kind"] in ("map", "reduce") and row["basis"] == "listed" and kind == "f" and row["result"] == "same":
            assert cost.assumed_share == 0


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["op"])
def test_no_operator_takes_a_wrong_number_of_operands(row: dict[str, str]) -> None:
    operands = "" if row["arity"] == "-1" else " x0, x0, x0, x0"
    with pytest.raises(ValueError, match=r"line 3: .* takes .* operands, found"):
        _engine.Program(f"rowwise 1 [d0 | 8]\nx0: f32[d0 | 8] = in\nv0: f32[d0 | 8] = {row['op']}{operands}\nout v0")
