"""Floors, comparisons and conversions of what is computed: rounding excuses an element, never a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx.parser
import pytest
from proof_claim import X, sample
from proof_mutant import mutants

import ascend_fuse
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.program import Instr, Program, Value
from ascend_fuse.program.text import parse_program
from ascend_fuse.proof.doubt import Doubt
from ascend_fuse.proof.jump import decisions
from ascend_fuse.proof.program import UndecidedError, check, prove_programs
from ascend_fuse.proof.trial import Claim

HELD = "<float zero = {0.0}, float half = {0.5}, float third = {0.333}, float large = {127.0}, float one = {1.0}, int64[1] axes = {-1}>"
# Before each, the programs differ from ONNX Runtime by a last place somewhere that decides.
JUMPS = {
    "ceil": "a = Mish (x) y = Ceil (a)",
    "floor": "a = Mish (x) y = Floor (a)",
    "floor-of-tanh": "s = Mul (x, third) a = Tanh (s) b = Mul (a, large) c = Floor (b) y = Sub (b, c)",
    "less": "a = Mish (x) c = Less (a, zero) y = Where (c, x, a)",
    "equal": "a = Mish (x) c = Equal (a, zero) y = Where (c, x, a)",
    "to-integer": "a = Sigmoid (x) b = Mul (a, large) c = Cast <to = 6> (b) d = Cast <to = 1> (c) y = Mul (d, x)",
    "to-bool": "a = Mish (x) c = Cast <to = 9> (a) d = Cast <to = 1> (c) y = Sub (x, d)",
    "sign-of-difference": "g = Exp (x) h = Log (g) a = Sub (h, third) y = Sign (a)",
    "remainder": "a = Sigmoid (x) b = Mul (a, large) y = Mod <fmod = 1> (b, third)",
    "two": "a = Mish (x) b = Floor (a) c = Sigmoid (x) d = Mul (c, large) e = Ceil (d) y = Sub (b, e)",
}
# Nothing but rounding is left of the numbers that decide.
NOISE = {
    "logarithm": "g = Exp (x) h = Log (g) a = Sub (h, x) y = Sign (a)",
    "halves": """a = Sigmoid (x) h = Mul (x, half) t = Tanh (h) u = Mul (t, half) v = Add (u, half)
        w = Sub (a, v) y = Sign (w)""",
    "sum": "s = Softmax (x) m = ReduceSum (s, axes) d = Sub (m, one) e = Sign (d) y = Sub (s, e)",
}


def claim_of(text: str) -> Claim:
    (claim,) = sample("it", {"it": f"g ({X} x) => ({X} y) {HELD} {{ {text} }}"}).claims
    return claim


def wrong(claim: Claim, program: Program) -> bool:
    """Whether the proof has something against the program."""
    try:
        return check(replace(claim, built=replace(claim.built, program=program))) != ""
    except UndecidedError:
        return True


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", JUMPS)
def test_what_rounding_decides_is_no_difference(name: str, seed: int) -> None:
    assert check(claim_of(JUMPS[name]), seed) == ""


# What computes the same, but for what rounding decides.
TIES: Mapping[str, set[tuple[str, str]]] = {
    "less": {("v9", "lt → le"), ("v10", "reads v1, not x0")},  # a tie; -|x| is x where x·tanh(…) is negative
    # where that is 0, x is too, or it is rounding that made it 0
    "equal": {("v10", "reads v1, not x0"), *(("v9", f"reads v{k}, not v8") for k in (2, 5, 6, 7))},
}  # fmt: skip


def last_jump(program: Program) -> int:
    lines = decisions(program)
    return max(k for k, line in enumerate(program.instrs) if line.name in lines)


@pytest.mark.parametrize("name", JUMPS)
def test_what_decides_may_not_be_another(name: str) -> None:
    """Each mutant of a line that jumps, and of those behind it, is refused."""
    claim = claim_of(JUMPS[name])
    behind = {line.name for line in claim.built.program.instrs[last_jump(claim.built.program) :]}
    tried = [m for m in mutants(claim.built.program) if m.line in behind]
    survivors = {(m.line, m.change) for m in tried if not wrong(claim, m.program)}
    assert len(tried) >= 4
    assert survivors <= TIES.get(name, set()), survivors


def after(program: Program, op: str, number: float) -> Program:
    """With the last jump's result changed by a line of its own."""
    at = last_jump(program)
    line = program.instrs[at]
    more = Instr("v99", line.type, op, (Value(line.name), number))
    rest = [
        replace(i, operands=tuple(Value("v99") if o == Value(line.name) else o for o in i.operands))
        for i in program.instrs[at + 1 :]
    ]
    outputs = tuple(replace(o, name="v99") if o.name == line.name else o for o in program.outputs)
    return replace(program, instrs=(*program.instrs[: at + 1], more, *rest), outputs=outputs)


@pytest.mark.parametrize("name", ["ceil", "floor", "floor-of-tanh"])
@pytest.mark.parametrize(("op", "number"), [("mul", 8.0), ("mul", 1.01), ("add", 1.0)])
def test_a_jump_to_elsewhere_is_no_rounding(name: str, op: str, number: float) -> None:
    """Eight times as far is not excused because the element jumps at all."""
    claim = claim_of(JUMPS[name].replace("y = Ceil (a)", "b = Ceil (a) y = Abs (b)"))
    assert check(claim) == "" and wrong(claim, after(claim.built.program, op, number))


def covered(text: str, x: float, want: float) -> bool:
    """Whether a difference between `want` and what the program makes of x is put down to rounding."""
    program = parse_program(text)
    arrays = [np.full((2, 3), x, np.float32)]
    wanted = np.full((2, 3), want, np.float32)
    (got,) = evaluate(program, arrays)
    return bool(Doubt(program, arrays, {}, True).covers(0, wanted, got, np.full((2, 3), 1e-6)).all())


FLOOR = """elementwise 1 [d0, d1]
x0: f32[d0, d1] = in
v0: f32[d0, d1] = {first}
v1: f32[d0, d1] = {jump} v0
v2: f32[d0, d1] = mul v1, 8.0
out v2"""


@pytest.mark.parametrize(
    ("jump", "x", "results"),
    [("floor", 3.0, (16.0, 24.0)), ("ceil", 3.0, (24.0, 32.0)), ("floor", 3.01, (24.0,)), ("round", 2.5, (16.0, 24.0)),
     ("sign", 0.0, (0.0,)), ("floor", -0.0, (0.0,))],
)  # fmt: skip
def test_only_what_it_may_decide_for(jump: str, x: float, results: tuple[float, ...]) -> None:
    """Of a number that rounding may put on either side of a step: both sides, and nothing between or beyond."""
    text = FLOOR.format(first="add x0, 0.0", jump=jump)
    for want in (-8.0, 0.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 192.0):
        assert covered(text, x, want) == (want in results), want


def test_a_jump_of_an_input_is_no_excuse() -> None:
    """Nothing rounds what is given: a floor of it is what it is."""
    text = FLOOR.format(first="max x0, -100.0", jump="floor")
    assert decisions(parse_program(text)) == frozenset()
    assert covered(text, 3.0, 24.0) and not covered(text, 3.0, 16.0)


@pytest.mark.parametrize("name", NOISE)
def test_a_result_that_rounding_decides_everywhere_is_not_proved(name: str) -> None:
    claim = claim_of(NOISE[name])
    with pytest.raises(UndecidedError, match=r"rounding decides all of output o0, and \d+ elements came out otherwise"):
        check(claim)


def test_its_nodes_have_a_reason_and_the_others_fuse() -> None:
    text = f"""<ir_version: 10, opset_import: ["": 18]>
    g ({X} x, {X} o) => ({X} y, {X} z) {HELD} {{ {NOISE["sum"]}  p = Trilu (o)  q = Neg (p)  r = Exp (q)  z = Tanh (r) }}"""
    plan = ascend_fuse.optimize(onnx.parser.parse_model(text), dims={"batch": 64, "seq": 64}).plan
    assert [r.ops for r in plan.regions] == [("Neg", "Exp", "Tanh")]
    told = {m.op: m.miss for m in plan.misses if m.op != "Trilu"}
    assert {m.code for m in told.values()} == {"not-provable"}
    assert "no proof can be had of the region around Sign: rounding decides all of output" in told["Sign"].message


def test_as_terms_it_is_proved_all_the_same() -> None:
    """Where terms say that both are the same, rounding says nothing."""
    claim = claim_of(NOISE["logarithm"])
    assert prove_programs([claim], {}).stopped == ()
    with pytest.raises(UndecidedError):
        check(claim)
