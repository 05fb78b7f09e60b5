"""Program ⇄ text, version 1 (docs/design/0001). Parsing what was printed gives an equal program, and the same bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

from ascend_fuse.error import UsageError
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.program import (
    Attribute,
    Extent,
    Input,
    Instr,
    Join,
    Literal,
    Operand,
    Order,
    Output,
    OwnShape,
    Program,
    Shape,
    Type,
    Value,
    literal_dtype,
)

_HEADER = re.compile(r"(elementwise|rowwise|matmul|transform) 1 \[([^\]]*)\]$")
_LINE = re.compile(r"(\w+): (\w+)\[([^\]]*)\] = (\w+)(?: <([^>]*)>)?(?: \(([^)]*)\)| ([^{]*?))?(?: \{([^}]*)\})?$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_OUT = re.compile(r"(\w+)(?: <([^>]*)>)?(?: \(([^)]*)\))?(?: (behind|before) (\w+) @(\d+))?$")
_GIVEN = ("in", "host", "left", "right", "past")


def literal_text(value: Literal, dtype: str) -> str:
    """The shortest decimal that reads back exactly in the dtype."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    kind = dtype_of(dtype).type
    with np.errstate(over="ignore"):
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if kind(short) == kind(value):
                return repr(short)
    return repr(value)


def _shape_text(shape: Iterable[Extent]) -> str:
    return ", ".join(str(e) for e in shape)


def _space_text(rows: Shape, cols: Shape | None) -> str:
    if cols is None:
        return _shape_text(rows)
    return f"{_shape_text(rows)} | {_shape_text(cols)}" if rows else _shape_text(cols)


def _type_text(t: Type) -> str:
    return f"{t.dtype}[{_space_text(t.rows, t.cols)}]"


def _suffix(shape: OwnShape | None, order: Order) -> str:
    own = "" if shape is None else f" ({', '.join('*'.join(map(str, size)) for size in shape)})"
    return f" <{' '.join(map(str, order))}>{own}" if order else own


def _instr_text(line: Instr, dtypes: dict[str, str]) -> str:
    dtype = literal_dtype(line, dtypes)
    words = [o.name if isinstance(o, Value) else literal_text(o, dtype) for o in line.operands]
    tail = " {" + ", ".join(f"{k}={_attribute_text(v)}" for k, v in line.attributes.items()) + "}"
    body = f" {', '.join(words)}" if words else ""
    return f"{line.name}: {_type_text(line.type)} = {line.op}{body}{tail if line.attributes else ''}"


def _attribute_text(value: Attribute) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _output_text(output: Output) -> str:
    own, join = output.name + _suffix(output.shape, output.order), output.join
    return own if join is None else f"{own} {'behind' if join.behind else 'before'} {join.past} @{join.axis}"


def print_program(program: Program) -> str:
    """The text."""
    dtypes = {name: t.dtype for name, t in program.types().items()}
    lines = [f"{program.family} 1 [{_space_text(program.rows, program.cols)}]"]
    for i in program.inputs:
        lines.append(
            f"{i.name}: {_type_text(i.type)} = {i.side or ('host' if i.host else 'in')}{_suffix(i.shape, i.order)}"
        )
    lines += [_instr_text(i, dtypes) for i in program.instrs]
    lines.append("out " + ", ".join(map(_output_text, program.outputs)))
    return "\n".join(lines)


def _extents(text: str, between: str = ",") -> Shape:
    return tuple(int(e) if e.isdigit() else e for e in text.replace(" ", "").split(between) if e)


def _order(text: str | None) -> Order:
    return tuple(int(k) for k in (text or "").split())


def _own_shape(text: str | None) -> OwnShape | None:
    return None if text is None else tuple(_extents(size, "*") for size in text.split(",") if size)


def _split_space(text: str) -> tuple[Shape, Shape | None]:
    if "|" not in text:
        return _extents(text), None
    rows, cols = text.split("|")
    return _extents(rows), _extents(cols)


def _operand(word: str) -> Operand:
    if word in ("true", "false"):
        return word == "true"
    if word in ("nan", "inf", "-inf"):
        return float(word)
    if _NAME.match(word):
        return Value(word)
    return int(word) if re.fullmatch(r"-?\d+", word) else float(word)


def _attribute(text: str) -> tuple[str, Attribute]:
    key, value = text.split("=", 1)
    if re.fullmatch(r"-?\d+", value):
        return key, int(value)
    try:
        return key, float(value)
    except ValueError:
        return key, value


def _fail(number: int, what: str) -> UsageError:
    return UsageError(what, where=f"program line {number}", do="see docs/design/0001 for the grammar")


def _line(number: int, text: str, row: int) -> Input | Instr:
    found = _LINE.match(text)
    if not found:
        raise _fail(number, f"not a value line: {text!r}")
    name, dtype, space, op, order, shape, operands, attributes = found.groups()
    rows, cols = _split_space(space)
    if row and cols is None and op != "past":
        cut = max(len(rows) - row, 0)
        rows, cols = rows[:cut], rows[cut:]
    kind = Type(dtype, rows, cols)
    if op in _GIVEN:
        return Input(name, kind, op == "host", _own_shape(shape), "" if op in _GIVEN[:2] else op, _order(order))
    words = [w for w in (operands or "").split(", ") if w]
    pairs = dict(_attribute(a) for a in attributes.split(", ")) if attributes else {}
    return Instr(name, kind, op, tuple(_operand(w) for w in words), pairs)


def parse_program(text: str) -> Program:
    """The program. Raises UsageError with the line; meaning (types, arity) is checked by the engine's parser."""
    lines = text.split("\n")
    head = _HEADER.match(lines[0])
    if not head:
        raise _fail(1, f"not a program header: {lines[0]!r}")
    rows, cols = _split_space(head.group(2))
    if not lines[-1].startswith("out "):
        raise _fail(len(lines), "the last line is not `out …`")
    values = [_line(k + 2, line, len(cols or ())) for k, line in enumerate(lines[1:-1])]
    outputs: list[Output] = []
    for word in re.split(r", (?![^(]*\))", lines[-1][4:]):
        found = _OUT.match(word)
        if not found:
            raise _fail(len(lines), f"not an output: {word!r}")
        name, order, shape, word, past, axis = found.groups()
        join = Join(past, int(axis), word == "behind") if word else None
        outputs.append(Output(name, _own_shape(shape), _order(order), join))
    inputs = tuple(v for v in values if isinstance(v, Input))
    return Program(head.group(1), rows, cols, inputs, tuple(v for v in values if isinstance(v, Instr)), tuple(outputs))
