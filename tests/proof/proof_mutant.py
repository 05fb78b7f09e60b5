"""Programs with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ascend_fuse import _engine
from ascend_fuse.program.op import table
from ascend_fuse.program.program import Attribute, Instr, Operand, Program, Value
from ascend_fuse.program.text import print_program

COMMUTES = frozenset("add mul max min and or xor eq bit_and bit_or bit_xor concat".split())


@dataclass(frozen=True, slots=True)
class Mutant:
    """`line` is the instruction that changed, `change` what happened to it."""

    line: str
    change: str
    program: Program


def _operators(line: Instr, dtype: str) -> Iterator[tuple[str, Instr]]:
    """Every other operator of the same arity, kind and types."""
    if line.op == "matmul":
        return
    own = table()[line.op]
    for op in table().values():
        same = (op.arity, op.kind, op.result) == (own.arity, own.kind, own.result)
        if same and op.name != line.op and op.accepts(dtype) and not line.attributes and op.name != "where":
            yield f"{line.op} → {op.name}", replace(line, op=op.name)


def _swapped(line: Instr) -> Iterator[tuple[str, Instr]]:
    first = 1 if line.op == "where" else 0
    a, b = line.operands[first : first + 2] if len(line.operands) > first + 1 else (0, 0)
    if a != b and (line.op not in COMMUTES or line.op == "concat"):
        yield "operands swapped", replace(line, operands=(*line.operands[:first], b, a, *line.operands[first + 2 :]))


def _moved(value: Operand) -> Operand:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    assert isinstance(value, float)
    return 0.01 if value == 0 else value * 1.01


def _literals(line: Instr) -> Iterator[tuple[str, Instr]]:
    for k, o in enumerate(line.operands):
        if not isinstance(o, Value):
            new = _moved(o)
            yield f"{o} → {new}", replace(line, operands=(*line.operands[:k], new, *line.operands[k + 1 :]))


def _attributes(line: Instr) -> Iterator[tuple[str, Instr]]:
    if line.op == "slice":
        for by in (-1, 1):
            moved: dict[str, Attribute] = {k: int(v) + by for k, v in line.attributes.items()}
            yield f"slice by {by}", replace(line, attributes=moved)


def _rewired(program: Program, at: int) -> Iterator[tuple[str, Instr]]:
    """One operand replaced by each other value of its type that the line could read."""
    line = program.instrs[at]
    types = program.types()
    known = [i.name for i in program.inputs if not i.host and i.side != "past"] + [i.name for i in program.instrs[:at]]
    for k, o in enumerate(line.operands):
        for name in known:
            if isinstance(o, Value) and name != o.name and types[name] == types[o.name]:
                operands = (*line.operands[:k], Value(name), *line.operands[k + 1 :])
                yield f"reads {name}, not {o.name}", replace(line, operands=operands)


def _joins(program: Program) -> Iterator[Mutant]:
    """The parts of an output exchanged, another axis, another past, another value, a part left out."""
    types, outputs = program.types(), program.outputs
    joined = [k for k, o in enumerate(outputs) if o.join is not None]
    for k in joined:
        o = outputs[k]
        assert o.join is not None
        edits = [("parts exchanged", replace(o, join=replace(o.join, behind=not o.join.behind)))]
        edits += [(f"axis {a}", replace(o, join=replace(o.join, axis=a))) for a in (o.join.axis - 1, o.join.axis + 1)]
        others = [i.name for i in program.instrs if i.name != o.name and types[i.name] == types[o.name]]
        edits += [(f"writes {name}", replace(o, name=name)) for name in others]
        for change, new in edits:
            yield Mutant(o.name, change, replace(program, outputs=(*outputs[:k], new, *outputs[k + 1 :])))
    for a, b in pairwise(joined):
        pair = outputs[a].join, outputs[b].join
        assert pair[0] is not None and pair[1] is not None
        swapped = list(outputs)
        swapped[a] = replace(outputs[a], join=replace(pair[0], past=pair[1].past))
        swapped[b] = replace(outputs[b], join=replace(pair[1], past=pair[0].past))
        yield Mutant(outputs[a].name, "pasts exchanged", replace(program, outputs=tuple(swapped)))


def _dropped(program: Program, at: int) -> Program:
    """The line gone, its readers on its first operand."""
    line = program.instrs[at]
    target = line.operands[0]
    assert isinstance(target, Value)
    rest = [
        replace(i, operands=tuple(target if o == Value(line.name) else o for o in i.operands)) for i in program.instrs
    ]
    outputs = tuple(replace(o, name=target.name) if o.name == line.name else o for o in program.outputs)
    return replace(program, instrs=tuple(rest[:at] + rest[at + 1 :]), outputs=outputs)


def _all(program: Program) -> Iterator[Mutant]:
    yield from _joins(program)
    types = {n: t.dtype for n, t in program.types().items()}
    for at, line in enumerate(program.instrs):
        read = [types[o.name] for o in line.operands if isinstance(o, Value)]
        dtype = read[-1] if read else line.type.dtype
        edits = [
            *_operators(line, dtype),
            *_swapped(line),
            *_literals(line),
            *_attributes(line),
            *_rewired(program, at),
        ]
        for change, new in edits:
            yield Mutant(
                line.name, change, replace(program, instrs=(*program.instrs[:at], new, *program.instrs[at + 1 :]))
            )
        if line.operands and isinstance(line.operands[0], Value):
            yield Mutant(line.name, "dropped", _dropped(program, at))


def mutants(program: Program) -> Iterator[Mutant]:
    """The mutants that the engine would run."""
    for m in _all(program):
        try:
            _engine.Program(print_program(m.program))
        except ValueError:
            continue
        yield m
