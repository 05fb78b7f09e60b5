"""Where values are last read."""

from __future__ import annotations

from hypothesis import given, settings
from program_strategy import programs

from ascend_fuse.program.liveness import last_use
from ascend_fuse.program.program import Program, Value
from ascend_fuse.program.text import parse_program

TEXT = """\
elementwise 1 [d0]
x0: f32[d0] = in
x1: f32[d0] = in
x2: f32[d0] = in
v0: f32[d0] = add x0, x1
v1: f32[d0] = mul v0, x0
v2: f32[d0] = neg x1
v3: f32[d0] = add v1, v1
out v3, v0"""


def test_by_hand() -> None:
    """v2 and x2 are read by nobody; outputs live to the end."""
    assert last_use(parse_program(TEXT)) == {"x0": 1, "x1": 2, "x2": -1, "v0": 4, "v1": 3, "v2": -1, "v3": 4}


@settings(max_examples=100, deadline=None)
@given(programs())
def test_no_line_reads_a_value_after_its_last_use(program: Program) -> None:
    last = last_use(program)
    assert set(last) == set(program.types())
    outputs = {o.name for o in program.outputs}
    for k, line in enumerate(program.instrs):
        assert all(last[o.name] >= k for o in line.operands if isinstance(o, Value))
    for name, at in last.items():
        if name in outputs:
            assert at == len(program.instrs)
        elif at >= 0:
            assert Value(name) in program.instrs[at].operands
