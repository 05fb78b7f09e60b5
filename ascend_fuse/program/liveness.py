"""Where each value of a program is last read: what must be on chip at the same time."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_fuse.program.program import Program, Value


def last_use(program: Program) -> Mapping[str, int]:
    """Line → position of the last instruction that reads it; outputs live to len(instrs), unread lines to -1."""
    last = {line.name: -1 for line in (*program.inputs, *program.instrs)}
    for k, line in enumerate(program.instrs):
        for operand in line.operands:
            if isinstance(operand, Value):
                last[operand.name] = k
    last.update((o.name, len(program.instrs)) for o in program.outputs)
    return last
