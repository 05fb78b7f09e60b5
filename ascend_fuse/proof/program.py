"""The program proof: what the kernels will run equals what the body computes.

Each distinct program is compared with its body as terms (`symbolic`) and run beside it, numpy against ONNX Runtime, on
small random shapes; where the terms do not decide, at several magnitudes (an epsilon shows only beside values of its
size). Half types are compared at float32, where a wrong instruction cannot hide in rounding; their own rounding is the
program's definition.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
from onnx import NodeProto, TensorProto

from ascend_fuse.error import InternalError, RuleError, VerificationError
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.program import Instr, Program, Value
from ascend_fuse.proof.body import Body, open_body
from ascend_fuse.proof.double import agrees
from ascend_fuse.proof.doubt import Doubt
from ascend_fuse.proof.rounding import lost_casts
from ascend_fuse.proof.symbolic import Definitions, same
from ascend_fuse.proof.trial import HALF, SPECIAL, Array, Claim, Trial

# At 3000 an exponential overflows that a maximum should have kept small.
TAIL = -20.0  # all of one sign, each in a trial: where activations are so flat that only a relative difference shows
MAGNITUDES = (1.0, 1e-3, 1e-6, 20.0, TAIL, 3e3, SPECIAL)
LARGE, FEW = 1 << 16, (1.0, 1e-3)  # elements from which on only few magnitudes are tried: ordinary, beside an epsilon
# Of the value, and of the outputs' upper-quartile magnitude: float32 over ≤ 64 roundings.
TIGHT = (3e-4, 3e-5)
# A half-typed body of an idiom has its constants rounded to the half type (√2 = 1.4140625), the instruction has not.
LOOSE = (1e-2, 2e-3)
EDGE = 3e38  # there one side may overflow float32 where the other does not
MASK = 1e30  # no activation is that large; fill values of masks are
COMPOSITE = frozenset(("gelu", "gelu_tanh", "silu"))


def _agree(want: Array, got: Array, bound: tuple[float, float]) -> Array:
    """Element by element, for equal shapes and dtypes."""
    if want.dtype.kind in "biu":
        return np.asarray(want == got)
    w, g = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(w - g) <= bound[0] * np.abs(w) + bound[1] * _typical(w)
        over = (np.abs(w) >= EDGE) & (np.abs(g) >= EDGE) & (np.sign(w) == np.sign(g))
    return np.asarray(near | over | (w == g) | (np.isnan(w) & np.isnan(g)))


def _typical(w: Array) -> float:
    """The upper quartile of the magnitudes, without the huge values that stand for a mask."""
    sizes = np.abs(w[np.isfinite(w) & (np.abs(w) < MASK)])
    return float(np.quantile(sizes, 0.75)) if sizes.size else 0.0


def check(claim: Claim, seed: int = 0, magnitudes: Sequence[float] = MAGNITUDES) -> str:
    """ "" when the program equals the body on every trial, else what differs."""
    lost = lost_casts(claim.built.program, claim.nodes, claim.inputs, claim.outputs)
    if lost:
        return lost
    rng = np.random.default_rng(seed)
    session: Body | None = None
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
            note = _try(trial, session, drawn, magnitude)
            if note:
                return note
    return ""


def _feeds(trial: Trial, magnitude: float, drawn: Sequence[str]) -> tuple[list[Array], dict[str, Array]]:
    """Arrays for the program's inputs, and for the body's, which takes the numbers that it would draw too."""
    claim, program = trial.claim, trial.program
    arrays = [trial.feed(k, line, magnitude) for k, line in enumerate(program.inputs)]
    numbers = {
        name: trial.numbers(line, magnitude)
        for name, line in zip(drawn, program.draws, strict=True)
        if line.op == "random_uniform"
    }
    return arrays, numbers | dict(zip(claim.inputs, arrays, strict=True))


def _runs(trial: Trial, session: Body, drawn: Sequence[str]) -> bool:
    """Whether the body accepts the trial's sizes."""
    try:
        session.run(_feeds(trial, 1.0, drawn)[1])
    except VerificationError:
        return False
    return True


def _try(trial: Trial, session: Body, drawn: Sequence[str], magnitude: float) -> str:
    claim, program = trial.claim, trial.program
    arrays, feeds = _feeds(trial, magnitude, drawn)
    body = session.run(feeds)
    known = {**body, **feeds}
    masks = {i.name: _laid(i, known[name], trial) for i, name in zip(program.draws, drawn, strict=True)}
    ours = evaluate(program, arrays, masks)
    bound = LOOSE if magnitude == SPECIAL else _bound(claim.built.program)  # there decisions count, not last places
    doubt = Doubt(program, arrays, masks)
    clean = all(np.isfinite(v).all() for v in body.values() if v.dtype.kind == "f")
    for k, (name, got) in enumerate(zip(claim.outputs, ours, strict=True)):
        want = np.asarray(body[name])
        alike = want.shape == got.shape and want.dtype == got.dtype
        agree = _agree(want, got, bound) if alike else np.zeros((), np.bool_)
        if agree.all() or (alike and (agree | doubt.covers(k, want, got, clean)).all()):
            continue
        # a number in float32 there has to be one here; then double precision decides
        whole = alike and (np.isfinite(got) | ~np.isfinite(want)).all()
        if not (whole and not drawn and agrees(program, trial.body()[0], feeds, claim.outputs)):
            return f"output {name} at magnitude {magnitude} and sizes {trial.sizes}"
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


def prove_programs(claims: Sequence[Claim], definitions: Definitions) -> int:
    """Prove each distinct pair of body and program; returns how many. Raises InternalError on one that differs,
    RuleError when it holds an idiom of the user's.

    A pair that is equal as terms is run at one magnitude only, for its extents; pairs that differ in float constants
    alone have the same extents.
    """
    from ascend_fuse.program.text import print_program

    programs = {id(c.built.program): c.built.program for c in claims}  # regions that are alike share theirs
    texts = {k: print_program(p) for k, p in programs.items()}
    seen: set[tuple[str, str]] = set()
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
            note = check(claim, magnitudes=MAGNITUDES[:1] if known else MAGNITUDES)
        except VerificationError as e:
            note = f"the body does not run: {e.what}"
        if note:
            _check_own(claim, note)
            what = f"the program of {claim.op_type} is not its body: {note}\n{key[1]}"
            way = f"; --ignore {claim.rule} leaves such regions out" if claim.rule else ""
            do = f"nothing was written; please report the model{way}"
            raise InternalError(what, where="program proof", do=do)
    return len(seen)


def _check_own(claim: Claim, note: str) -> None:
    """Raises RuleError when the user's idioms are in the region: ours are shown to be equal by their tests."""
    if not claim.own:
        return
    codes, files = ", ".join(claim.own), ", ".join(dict.fromkeys(claim.own.values()))
    lint = " ".join(dict.fromkeys(str(Path(file).parent) for file in claim.own.values()))
    what = f"{codes}: the instruction does not compute what the pattern does: {note}"
    raise RuleError(what, where=files, do=f"`ascend-fuse rules lint {lint}` shows it; --ignore leaves a rule out")
