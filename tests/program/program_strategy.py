"""Programs over the whole op table, well typed, for properties."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import strategies as st

from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.op import FLOATS, Op, table
from ascend_fuse.program.program import (
    Attribute,
    Extent,
    Input,
    Instr,
    Join,
    Literal,
    Operand,
    Output,
    OwnShape,
    Program,
    Type,
    Value,
)

DTYPES = ("f32", "f16", "bf16", "i32", "i16", "i64", "u8", "bool")
FULL: tuple[Extent, ...] = ("d0", "d1")
Line = tuple[str, Type]


def _type(dtype: str, extents: tuple[Extent, ...], row: bool) -> Type:
    return Type(dtype, extents[:-1], extents[-1:]) if row else Type(dtype, extents)


@st.composite
def _literal(draw: st.DrawFn, dtype: str) -> Literal:
    if dtype == "bool":
        return draw(st.booleans())
    if dtype in FLOATS:
        # a literal is a value of its dtype
        raw = draw(st.sampled_from((0.5, -1.0, 0.1, 1e-5, 2.0, math.inf, -math.inf, 1.4142135623730951, 3e4)))
        return float(dtype_of(dtype).type(raw))
    return draw(st.integers(0 if dtype.startswith("u") else -9, 9))


def _wide(lines: list[Line], names: list[Operand], row: bool, dtype: str) -> Type:
    """Broadcasting of the named lines."""
    shapes = [t.extents for n, t in lines if Value(n) in names]
    extents = tuple(next((e for e in axis if e != 1), 1) for axis in zip(*shapes, strict=True))
    return _type(dtype, extents, row)


@st.composite
def _map(draw: st.DrawFn, name: str, op: Op, lines: list[Line], row: bool) -> Instr | None:
    """Operands of one dtype (the first of `where` bool), one of them possibly a literal."""
    usable = sorted({t.dtype for _, t in lines if op.accepts(t.dtype)})
    bools = [n for n, t in lines if t.dtype == "bool"]
    if not usable or (op.name == "where" and not bools):
        return None
    dtype = draw(st.sampled_from(usable))
    same = [n for n, t in lines if t.dtype == dtype]
    count = op.arity - (op.name == "where")
    operands: list[Operand] = [Value(draw(st.sampled_from(same))) for _ in range(count)]
    if count == 2 and draw(st.booleans()):
        operands[draw(st.integers(0, 1))] = draw(_literal(dtype))
    if op.name == "where":
        operands.insert(0, Value(draw(st.sampled_from(bools))))
    result = {"bool": "bool", "attr": draw(st.sampled_from(DTYPES))}.get(op.result, dtype)
    return Instr(name, _wide(lines, operands, row, result), op.name, tuple(operands))


@st.composite
def _reduce(draw: st.DrawFn, name: str, op: Op, lines: list[Line], row: bool) -> Instr | None:
    usable = [(n, t) for n, t in lines if op.accepts(t.dtype)]
    if not row or not usable:
        return None
    source, kind = draw(st.sampled_from(usable))
    return Instr(name, Type(kind.dtype, kind.rows, (1,)), op.name, (Value(source),))


@st.composite
def _move(draw: st.DrawFn, name: str, op: Op, lines: list[Line], row: bool) -> Instr | None:
    """Moves have rows of known length: a slice of the 8-long row, or two halves joined."""
    halves = [(n, t) for n, t in lines if t.cols == (4,)]
    source, kind = draw(st.sampled_from(halves if op.name == "concat" and halves else lines))
    if op.name == "broadcast":
        return Instr(name, _type(kind.dtype, ("d0", 8 if row else "d1"), row), op.name, (Value(source),))
    if op.name == "copy":
        return Instr(name, kind, op.name, (Value(source),))
    if not row:
        return None
    if op.name == "concat" and halves:
        pair = (Value(source), Value(draw(st.sampled_from([n for n, t in halves if t.dtype == kind.dtype]))))
        rows = max((t.rows for n, t in lines if Value(n) in pair), key=lambda r: r != (1,))
        return Instr(name, Type(kind.dtype, rows, (8,)), op.name, pair)
    if op.name == "slice" and kind.cols == (8,):
        start = draw(st.sampled_from((0, 2, 4)))
        attributes: dict[str, Attribute] = {"start": start, "stop": start + 4}
        return Instr(name, Type(kind.dtype, kind.rows, (4,)), op.name, (Value(source),), attributes)
    return None


@st.composite
def _random(draw: st.DrawFn, name: str, op: Op, lines: list[Line], row: bool) -> Instr:
    mask = op.name == "random_keep"
    attributes: dict[str, Attribute] = {"ratio": draw(st.sampled_from((0.1, 0.5)))} if mask else {}
    if draw(st.booleans()):
        attributes["seed"] = draw(st.integers(-5, 5))
    return Instr(name, _type("bool" if mask else "f32", ("d0", 8 if row else "d1"), row), op.name, (), attributes)


def _index(name: str, op: Op, lines: list[Line], row: bool) -> st.SearchStrategy[Instr | None]:
    return st.just(Instr(name, Type("f32", (1,), (8,)), op.name, ()) if row else None)


_KINDS = {"map": _map, "cast": _map, "reduce": _reduce, "move": _move, "random": _random, "index": _index}


def _usable(lines: list[Line], row: bool) -> list[Line]:
    """Halves of rows go into a concat and nothing else."""
    return [(n, t) for n, t in lines if t.cols != (4,)] if row else lines


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program that the engine takes: elementwise over [d0, d1] or rowwise over [d0 | 8]."""
    row = draw(st.booleans())
    full: tuple[Extent, ...] = ("d0", 8) if row else FULL
    inputs = [Input("x0", _type(draw(st.sampled_from(FLOATS)), full, row))]
    for k in range(1, draw(st.integers(2, 5))):
        extents = draw(st.sampled_from((full, (1, full[1]), (full[0], 1), *([("d0", 4)] if row else []))))
        inputs.append(Input(f"x{k}", _type(draw(st.sampled_from(DTYPES)), extents, row)))
    lines: list[Line] = [(i.name, i.type) for i in inputs]
    instrs: list[Instr] = []
    for op in draw(st.lists(st.sampled_from(sorted(table().values(), key=lambda o: o.name)), min_size=1, max_size=12)):
        known = lines if op.name == "concat" else _usable(lines, row)
        made = draw(_KINDS[op.kind](f"v{len(instrs)}", op, known, row))
        if made is not None:
            instrs.append(made)
            lines.append((made.name, made.type))
    wide = [n for n, t in lines if t.rows[0] == "d0" and (row or t.extents == full)]
    outputs = draw(st.lists(st.sampled_from(wide), min_size=1, max_size=3, unique=True))
    rows, cols = (full[:1], full[1:]) if row else (full, None)
    types = dict(lines)
    inputs = inputs[:1] + [replace(i, shape=draw(_own_shape(i.type.extents))) for i in inputs[1:]]
    outs = [Output(o, draw(_own_shape(types[o].extents))) for o in outputs]
    for k, output in enumerate(outs):
        axes = _joinable(output, types[output.name])
        if axes and draw(st.booleans()):
            past = f"x{len(inputs)}"
            outs[k] = replace(output, join=Join(past, draw(st.sampled_from(axes)), draw(st.booleans())))
            symbol = f"d{sum(isinstance(e, str) for e in full) + sum(i.side == 'past' for i in inputs)}"
            inputs.append(_past(outs[k], types[output.name], symbol))
    return Program("rowwise" if row else "elementwise", rows, cols, tuple(inputs), tuple(instrs), tuple(outs))


def _sizes(output: Output, kind: Type) -> OwnShape:
    return tuple((e,) for e in kind.extents) if output.shape is None else output.shape


def _joinable(output: Output, kind: Type) -> list[int]:
    return [k for k, size in enumerate(_sizes(output, kind)) if len(size) == 1]


def _past(output: Output, kind: Type, symbol: str) -> Input:
    """The other part of a joined output, as long as `symbol` along the axis."""
    assert output.join is not None
    sizes = list(_sizes(output, kind))
    sizes[output.join.axis] = (symbol,)
    own = tuple(sizes)
    extents = tuple(e for size in own for e in size)
    shape = own if any(len(size) > 1 for size in own) else None
    return Input(output.join.past, Type(kind.dtype, extents), side="past", shape=shape)


@st.composite
def _own_shape(draw: st.DrawFn, extents: tuple[Extent, ...]) -> OwnShape | None:
    """None, or the extents with ones dropped and added and neighbours multiplied."""
    if draw(st.booleans()):
        return None
    wide = tuple(e for e in extents if e != 1)
    sizes: list[tuple[Extent, ...]] = [wide] if wide and draw(st.booleans()) else [(e,) for e in wide]
    for _ in range(draw(st.integers(0, 2))):
        sizes.insert(draw(st.integers(0, len(sizes))), (1,))
    return tuple(sizes)
