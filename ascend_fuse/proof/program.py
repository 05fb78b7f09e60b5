"""The program proof: what the kernels will run equals what the body computes.

Each distinct program is compared with its body as terms (`symbolic`) and run beside it, numpy against ONNX Runtime, on
small random shapes; where the terms do not decide, at several magnitudes (an epsilon shows only beside values of its
size). Half types are compared at float32, where a wrong instruction cannot hide in rounding; their own rounding is the
program's definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import NodeProto, TensorProto

from ascend_fuse.error import InternalError, RuleError, VerificationError
from ascend_fuse.program.program import Instr, Program, Value
from ascend_fuse.proof.body import Body, open_body
from ascend_fuse.proof.double import agrees
from ascend_fuse.proof.rounding import lost_casts
from ascend_fuse.proof.sample import Sample
from ascend_fuse.proof.stop import Stop, stop_of
from ascend_fuse.proof.symbolic import Definitions, same
from ascend_fuse.proof.trial import HALF, SPECIAL, Array, Claim, Trial, feeds_of

# At 3000 an exponential overflows that a maximum should have kept small.
TAIL = -20.0  # all of one sign, each in a trial: where activations are so flat that only a relative difference shows
MAGNITUDES = (1.0, 1e-3, 1e-6, 20.0, TAIL, 3e3, SPECIAL)
LARGE, FEW = 1 << 16, (1.0, 1e-3)  # elements from which on only few magnitudes are tried: ordinary, beside an epsilon
# Of the value, and of the outputs' upper-quartile magnitude: float32 over ≤ 64 roundings.
TIGHT = (3e-4, 3e-5)
# A half-typed body of an idiom has its constants rounded to the half type (√2 = 1.4140625), the instruction has not.
LOOSE = (1e-2, 2e-3)
COMPOSITE = frozenset(("gelu", "gelu_tanh", "silu"))


class UndecidedError(VerificationError):
    """No element that was tried says whether program and body are the same."""


def check(claim: Claim, seed: int = 0, magnitudes: Sequence[float] = MAGNITUDES, is_known: bool = False) -> str:
    """ "" when the program equals the body on every trial, else what differs.

    `is_known`: that they are equal was shown otherwise, but for their extents. Raises VerificationError when the body
    does not run, UndecidedError when rounding decides every element of an output.
    """
    lost = lost_casts(claim.built.program, claim.nodes, claim.inputs, claim.outputs)
    if lost:
        return lost
    rng = np.random.default_rng(seed)
    session: Body | None = None
    record = _Record()
    for ones in (False, True):
        trial = Trial(claim, rng, ones)
        model, drawn = trial.body()
        session = session or open_body(model, f"the body of {claim.op_type}")
        if trial.model and not _runs(trial, session, drawn):  # the region takes two of the model's sizes for one
            numbers = sorted({d for d in claim.built.sizes.values() if isinstance(d, int)})
            others = [Trial(claim, rng, ones, equal=size) for size in (4, *numbers)]
            trial = next((t for t in others if _runs(t, session, drawn)), others[0])
        if trial.elements > LARGE and ones:  # its numbers are the model's, so nothing would be other than before
            break
        for magnitude in [m for m in magnitudes if trial.elements <= LARGE or m in FEW]:
            note = _try(trial, session, drawn, magnitude, record)
            if note:
                return note
    if not is_known:
        record.check(claim.outputs)
    return ""


@dataclass(slots=True)
class _Record:
    """What was tried, and by output how many elements rounding excused; `shown`: equal in double precision."""

    samples: list[Sample] = field(default_factory=list[Sample])
    excused: Counter[int] = field(default_factory=Counter[int])
    shown: set[int] = field(default_factory=set[int])

    def check(self, outputs: Sequence[str]) -> None:
        """Raises UndecidedError where nothing is left of an output when what rounding may decide is left out."""
        for k, count in self.excused.items():
            if count and k not in self.shown and not any(s.decides(k) for s in self.samples):
                what = f"rounding decides all of output {outputs[k]}, and {count} elements came out otherwise"
                raise UndecidedError(what)


def _runs(trial: Trial, session: Body, drawn: Sequence[str]) -> bool:
    """Whether the body accepts the trial's sizes."""
    try:
        session.run(feeds_of(trial, 1.0, drawn)[1])
    except VerificationError:
        return False
    return True


def _try(trial: Trial, session: Body, drawn: Sequence[str], magnitude: float, record: _Record) -> str:
    claim, program = trial.claim, trial.program
    arrays, feeds = feeds_of(trial, magnitude, drawn)
    body = session.run(feeds)
    known = {**body, **feeds}
    masks = {i.name: _laid(i, known[name], trial) for i, name in zip(program.draws, drawn, strict=True)}
    bound = LOOSE if magnitude == SPECIAL else _bound(claim.built.program)  # there decisions count, not last places
    clean = all(np.isfinite(v).all() for v in body.values() if v.dtype.kind == "f")
    sample = Sample(program, arrays, masks, [np.asarray(body[name]) for name in claim.outputs], bound, clean)
    record.samples.append(sample)
    for k, name in enumerate(claim.outputs):
        excused = sample.excused(k)
        if excused >= 0:
            record.excused[k] += excused
            continue
        # a number in float32 there has to be one here; then double precision decides
        whole = sample.is_alike(k) and sample.is_whole(k)
        if not (whole and not drawn and agrees(program, trial.body()[0], feeds, claim.outputs)):
            return f"output {name} at magnitude {magnitude} and sizes {trial.sizes}"
        record.shown.add(k)
    return ""


def _bound(program: Program) -> tuple[float, float]:
    halves = any(i.type.dtype in ("f16", "bf16") for i in program.instrs)
    return LOOSE if halves and any(i.op in COMPOSITE for i in program.instrs) else TIGHT


def _laid(line: Instr, drawn: Array, trial: Trial) -> Array:
    return drawn.reshape(tuple(trial.size(e) for e in line.type.extents))


def without_numbers(claim: Claim) -> Hashable:
    """Equal for pairs that differ in float constants alone."""
    program = claim.built.program
    lines = tuple(
        (i.type, i.op, tuple(o if isinstance(o, Value) or not isinstance(o, float) else "#" for o in i.operands),
         tuple(sorted(i.attributes.items())))
        for i in program.instrs
    )  # fmt: skip
    ends = program.inputs, program.outputs, tuple(claim.hosts.items()), tuple(sorted(claim.built.sizes.items()))
    return claim.opset, program.rows, program.cols, lines, ends, tuple(map(_bare, claim.nodes))


def _bare(node: NodeProto) -> bytes:
    """The node, a float Constant without its value."""
    held = next((a.t for a in node.attribute if a.name == "value"), None) if node.op_type == "Constant" else None
    if held is None or held.data_type not in (TensorProto.FLOAT, *HALF):
        return node.SerializeToString(deterministic=True)
    return f"{node.output[0]} {held.data_type} {list(held.dims)}".encode()


@dataclass(frozen=True, slots=True)
class Proved:
    """How many distinct pairs of body and program were looked at, and those of which no proof can be had."""

    count: int
    stopped: tuple[Stop, ...] = ()


def prove_programs(claims: Sequence[Claim], definitions: Definitions) -> Proved:
    """Prove each distinct pair of body and program that runs. Raises InternalError on one that differs, RuleError when
    it holds an idiom of the user's.

    A pair that is equal as terms is run at one magnitude only, for its extents; pairs that differ in float constants
    alone have the same extents.
    """
    from ascend_fuse.program.text import print_program

    programs = {id(c.built.program): c.built.program for c in claims}  # regions that are alike share theirs
    texts = {k: print_program(p) for k, p in programs.items()}
    seen: set[tuple[str, str]] = set()
    stopped: list[Stop] = []
    run: set[Hashable] = set()  # what was run, but for the numbers in it
    for claim in claims:
        key = (claim.op_type, texts[id(claim.built.program)])
        if key in seen:
            continue
        seen.add(key)
        known = same(claim.built.program, claim.nodes, claim.inputs, claim.outputs, definitions)
        alike = without_numbers(claim)
        if known and alike in run:
            continue
        run.add(alike)
        try:
            note = check(claim, magnitudes=MAGNITUDES[:1] if known else MAGNITUDES, is_known=known)
        except UndecidedError as e:
            stopped.append(Stop(claim, -1, e.what))
            continue
        except VerificationError as e:
            stopped.append(stop_of(claim, e))
            continue
        if note:
            _check_own(claim, note)
            what = f"the program of {claim.op_type} is not its body: {note}\n{key[1]}"
            way = f"; --ignore {claim.rule} leaves such regions out" if claim.rule else ""
            do = f"nothing was written; please report the model{way}"
            raise InternalError(what, where="program proof", do=do)
    return Proved(len(seen), tuple(stopped))


def _check_own(claim: Claim, note: str) -> None:
    """Raises RuleError when the user's idioms are in the region: ours are shown to be equal by their tests."""
    if not claim.own:
        return
    codes, files = ", ".join(claim.own), ", ".join(dict.fromkeys(claim.own.values()))
    lint = " ".join(dict.fromkeys(str(Path(file).parent) for file in claim.own.values()))
    what = f"{codes}: the instruction does not compute what the pattern does: {note}"
    raise RuleError(what, where=files, do=f"`ascend-fuse rules lint {lint}` shows it; --ignore leaves a rule out")
