"""The program proof under mutation: every wrong instruction of every kind of program is refused.

A mutant that survives computes the same; it stands here by name, with why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from proof_claim import TEXTS, Sample, X, sample
from proof_mutant import Mutant, mutants

from ascend_fuse import _engine
from ascend_fuse.error import InternalError
from ascend_fuse.program.op import table
from ascend_fuse.program.program import Instr, Operand, Program, Value
from ascend_fuse.program.text import print_program
from ascend_fuse.proof.program import Proved, check, prove_programs
from ascend_fuse.proof.trial import Claim

CENTRED = "the mean of x·c is the mean of c², as c = x - mean(x) has mean 0"
EVEN = "|-x| is |x|"
SQUARES = "both are of x·x"
TIE = "a tie of computed values is decided by rounding, in both libraries"
EQUIVALENT: Mapping[tuple[str, str, str], str] = {
    ("layer-norm", "v3", "reads v0, not v2"): CENTRED,
    ("layer-norm-spelled", "v2", "reads x0, not v1"): CENTRED,
    ("casts", "v4", "gt → ge"): TIE,
    ("movement", "v3", "copy → broadcast"): "the operand is as wide as the result",
    ("mish", "v1", "reads x0, not v0"): EVEN,
    ("softplus", "v1", "reads x0, not v0"): EVEN,
    ("softsign", "v1", "reads x0, not v0"): EVEN,
    ("hardmax", "v3", "eq → ge"): "nothing is greater than the greatest",
    ("hardmax", "v4", "inf → inf"): "infinity times 1.01",
    ("lengths", "v9", "reads v3, not v6"): SQUARES,
    ("lengths", "v6", "reads v2, not v5"): SQUARES,
    ("waves", "v8", "mul → div"): "by the sign of a cosine, which is 1 or -1: no float has the cosine 0",
    ("waves", "v16", "reads v6, not v14"): "v14 is log(exp(v6))",
}


def refused(claim: Claim, made: Sample) -> bool:
    """Whether the proof that `optimize` runs refuses the claim."""
    try:
        return bool(prove_programs([claim], made.definitions).stopped)
    except InternalError:
        return True


def wrong(claim: Claim, mutant: Mutant) -> Claim:
    return replace(claim, built=replace(claim.built, program=mutant.program))


@pytest.mark.parametrize("name", TEXTS)
def test_every_mutant_is_refused(name: str) -> None:
    made = sample(name)
    assert len(made.claims) == 1
    (claim,) = made.claims
    assert not refused(claim, made)
    tried = list(mutants(claim.built.program))
    survivors = {(name, m.line, m.change) for m in tried if not refused(wrong(claim, m), made)}
    assert len(tried) >= 8
    assert survivors == {k for k in EQUIVALENT if k[0] == name}


@pytest.mark.parametrize("name", ["gelu", "gelu-tanh", "silu-up", "rms-norm", "softmax"])
def test_evaluation_alone_refuses_them_too(name: str) -> None:
    """`check` does not lean on the terms."""
    (claim,) = sample(name).claims
    assert check(claim) == ""
    survivors = [(m.line, m.change) for m in mutants(claim.built.program) if check(wrong(claim, m)) == ""]
    assert survivors == []


def test_the_samples_hold_every_operator() -> None:
    """What no sample has, no mutation tests."""
    held = {i.op for name in TEXTS for c in sample(name).claims for i in c.built.program.instrs}
    untested = set(table()) - held
    # Mutants still turn other operators into these.
    assert untested == {"or", "xor", "lt", "ge"}


def test_outputs_in_another_order_are_refused() -> None:
    made = sample("layer-norm")
    (claim,) = made.claims
    program = replace(claim.built.program, outputs=claim.built.program.outputs[::-1])
    assert refused(replace(claim, built=replace(claim.built, program=program)), made)


def test_inputs_in_another_order_are_refused() -> None:
    made = sample("silu-up")
    (claim,) = made.claims
    assert refused(replace(claim, inputs=claim.inputs[::-1]), made)


def test_another_ratio_of_the_same_mask_is_refused() -> None:
    """The mask is fed, so a wrong scale of what it keeps shows."""
    made = sample("softmax-dropout")
    (claim,) = made.claims
    program = claim.built.program
    at = next(k for k, i in enumerate(program.instrs) if i.op == "mul")
    line = program.instrs[at]
    assert isinstance(line.operands[0], Value)
    half = replace(line, operands=(line.operands[0], 2.0))
    program = replace(program, instrs=(*program.instrs[:at], half, *program.instrs[at + 1 :]))
    assert refused(replace(claim, built=replace(claim.built, program=program)), made)


def narrowed(program: Program) -> Program:
    """All in f16: the casts gone, their readers on what they read."""
    renamed: dict[Operand, Operand] = {}
    lines: list[Instr] = []
    for line in program.instrs:
        operands = tuple(renamed.get(o, o) for o in line.operands)
        if line.op == "cast":
            renamed[Value(line.name)] = operands[0]
        else:
            lines.append(replace(line, operands=operands, type=replace(line.type, dtype="f16")))
    return replace(program, instrs=tuple(lines))


def test_a_program_without_the_casts_of_its_body_is_refused() -> None:
    """At float32 it computes the same, and in f16 its sum of squares overflows."""
    made = sample("rms-norm")
    (claim,) = made.claims
    program = narrowed(claim.built.program)
    _engine.Program(print_program(program))
    assert len(program.instrs) == len(claim.built.program.instrs) - 2
    assert refused(replace(claim, built=replace(claim.built, program=program)), made)


def test_an_idiom_with_a_wrong_constant_is_refused() -> None:
    """A body that is GELU but for √2 = 1.5 is not `gelu`."""
    made = sample("gelu-off")
    (claim,) = made.claims
    program = claim.built.program
    assert "gelu" not in {i.op for i in program.instrs}
    line = replace(program.instrs[-1], op="gelu", operands=(Value("x0"),))
    assert refused(replace(claim, built=replace(claim.built, program=replace(program, instrs=(line,)))), made)


def test_equal_pairs_are_proved_once() -> None:
    names = list(TEXTS)[:10]
    claims = [c for name in names for c in sample(name).claims]
    assert prove_programs([*claims, *claims], sample("gelu").definitions) == Proved(len(names))


@pytest.mark.parametrize("before", ["Sqrt", "Acosh", "Log"])
def test_rows_without_a_number_excuse_themselves_alone(before: str) -> None:
    """Which element of such a row is the greatest is open; of other rows nothing is but their ties.

    Equal values come from the program's own literals, of which some are negative: all rows of them have a NaN here.
    """
    made = sample("it", {"it": f"g ({X} x) => ({X} y) {{ a = {before} (x) y = Hardmax (a) }}"})
    (claim,) = made.claims
    assert not refused(claim, made)
    survivors = {(m.line, m.change) for m in mutants(claim.built.program) if not refused(wrong(claim, m), made)}
    ties = {("v5", "dropped"), ("v7", "reads v3, not v6")}
    alike = {k for k in survivors if k[0] == "v0" and k[1].split()[-1] in ("sqrt", "log", "acosh")}  # all rise
    assert survivors - ties - alike == {(k[1], k[2]) for k in EQUIVALENT if k[0] == "hardmax"}
