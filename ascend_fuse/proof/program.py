"""The program proof: what the kernels will run equals what the body computes.

Each distinct program is compared with its body as terms (`symbolic`) and run beside it, numpy against ONNX Runtime, on
small random shapes; where the terms do not decide, at several magnitudes (an epsilon shows only beside values of its
size). Half types are compared at float32, where a wrong instruction cannot hide in rounding; their own rounding is the
program's definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from ascend_fuse.error import InternalError, VerificationError
from ascend_fuse.graph.dim import evaluate as evaluate_dim
from ascend_fuse.graph.type import ONNX_OF_DTYPE
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.program.evaluate import dtype_of, evaluate
from ascend_fuse.program.program import Extent, Input, Instr, Program, Type
from ascend_fuse.proof.body import Body, open_body
from ascend_fuse.proof.doubt import Doubt
from ascend_fuse.proof.rounding import lost_casts
from ascend_fuse.proof.symbolic import Definitions, same
from ascend_fuse.region.build import Built

Array = npt.NDArray[Any]
SPECIAL = 0.0  # instead of a magnitude: values at and beside the program's own literals, where comparisons decide
# At 3000 an exponential overflows that a maximum should have kept small.
TAIL = -20.0  # all of one sign, each in a trial: where activations are so flat that only a relative difference shows
MAGNITUDES = (1.0, 1e-3, 1e-6, 20.0, TAIL, 3e3, SPECIAL)
# Of the value, and of the outputs' upper-quartile magnitude: float32 over ≤ 64 roundings.
TIGHT = (3e-4, 3e-5)
# A half-typed body of an idiom has its constants rounded to the half type (√2 = 1.4140625), the instruction has not.
LOOSE = (1e-2, 2e-3)
EDGE = 3e38  # there one side may overflow float32 where the other does not
MASK = 1e30  # no activation is that large; fill values of masks are
INTEGER_SAFE, SMALL_FILL = 100.0, 1e5  # greatest special values: of what is cast to an integer, of others
COMPOSITE = frozenset(("gelu", "gelu_tanh", "silu"))
_HALF: dict[int, int] = {TensorProto.FLOAT16: TensorProto.FLOAT, TensorProto.BFLOAT16: TensorProto.FLOAT}


@dataclass(frozen=True, slots=True)
class Claim:
    """A program and the body that it must equal; `hosts` are the known values of host inputs by position."""

    op_type: str
    built: Built
    nodes: tuple[NodeProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int
    hosts: Mapping[int, ShapeValue]
    rule: str = ""  # the one that names the region


def _widened(dtype: str) -> str:
    return "f32" if dtype in ("f16", "bf16") else dtype


def widened(program: Program) -> Program:
    """The program with half types computed in f32."""

    def wide(t: Type) -> Type:
        return replace(t, dtype=_widened(t.dtype))

    inputs = tuple(replace(i, type=wide(i.type)) for i in program.inputs)
    instrs = tuple(replace(i, type=wide(i.type)) for i in program.instrs)
    return replace(program, inputs=inputs, instrs=instrs)


def _wide_node(node: NodeProto) -> NodeProto:
    out = NodeProto()
    out.CopyFrom(node)
    for a in out.attribute:
        if a.name == "to" and out.op_type == "Cast":
            a.i = _HALF.get(a.i, a.i)
        if a.name == "value" and a.t.data_type in _HALF:
            from onnx import numpy_helper

            a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float32)))
    return out


class Trial:
    """One choice of sizes for a claim."""

    def __init__(self, claim: Claim, rng: np.random.Generator, ones: bool, equal: bool = False) -> None:
        self.claim = claim
        self.equal = equal
        self.model: dict[str, int] = {}  # the model's own symbols, where host inputs spell sizes out
        self.rng = rng
        self.ones = ones
        self.program = widened(claim.built.program)
        self.sizes = self._sizes(ones)

    def _sizes(self, ones: bool) -> dict[str, int]:
        """Small sizes for the program's symbols; where host inputs spell sizes out, through the model's own symbols."""
        symbols = self.program.symbols
        fixed = any(n.op_type in ("Expand", "Reshape") for n in self.claim.nodes)
        if not self.claim.hosts and not fixed:
            return {s: 1 if ones and k % 2 else int(self.rng.integers(2, 8)) for k, s in enumerate(symbols)}
        self.model = {n: 4 if self.equal else int(self.rng.integers(2, 6)) for n in sorted(self._names())}
        return {s: evaluate_dim(self.claim.built.sizes[s], self.model) for s in symbols}

    def _names(self) -> set[str]:
        dims = [*self.claim.built.sizes.values()]
        dims += [i for h in self.claim.hosts.values() for i in h.items if i is not None and not isinstance(i, bool)]
        return {n for d in dims if not isinstance(d, int) for n in d.symbols}

    def size(self, e: Extent) -> int:
        return e if isinstance(e, int) else self.sizes[e]

    def feed(self, k: int, line: Input, magnitude: float) -> Array:
        """A random tensor for an input; floats keep away from zero by sign and size alike."""
        if line.host and k in self.claim.hosts:
            host = self.claim.hosts[k]
            items = [i if isinstance(i, bool) else evaluate_dim(i, self.model) for i in host.items if i is not None]
            return np.asarray(items, dtype_of(line.type.dtype)).reshape(host.shape)
        shape = tuple(self.size(e) for e in line.tensor_shape)
        dtype = line.type.dtype
        if dtype == "bool":
            return np.asarray(self.rng.random(shape) > 0.4)
        if dtype in ("f32", "f64") and magnitude == SPECIAL:
            return np.asarray(self.rng.choice(self.pool, shape), dtype_of(dtype))
        if dtype in ("f32", "f64"):
            drawn = self.rng.standard_normal(shape)
            if magnitude < 0:
                drawn = np.abs(drawn) * (-1 if self.ones else 1)
            return np.asarray(drawn * magnitude, dtype_of(dtype))
        low = 0 if dtype.startswith("u") else -5
        return np.asarray(self.rng.integers(low, 9, shape), dtype_of(dtype))

    @cached_property
    def pool(self) -> list[float]:
        """Zero, small numbers, and the literals with their neighbours; none that an integer could not hold."""
        casts = any(i.op == "cast" and i.type.dtype[0] in "iu" for i in self.program.instrs)
        limit = INTEGER_SAFE if casts else SMALL_FILL
        found = {float(o) for i in self.program.instrs for o in i.operands if isinstance(o, float)}
        near = sorted(v for v in found if abs(v) <= limit)
        return [0.0, 0.25, -0.25, 1.0, -1.0, 2.0, *(v * by for v in near for by in (1.0, -1.0, 0.995, 1.005))]

    def body(self) -> tuple[ModelProto, list[str]]:
        """The body as a model with all its values as outputs, also the masks that it draws; the masks' names."""
        nodes = [_wide_node(n) for n in self.claim.nodes]
        masks: list[str] = []
        for n in nodes:
            if n.op_type == "Dropout":
                if len(n.output) < 2 or not n.output[1]:
                    del n.output[1:]
                    n.output.append(f"mask_{len(masks)}")
                masks.append(n.output[1])
        ins = [
            helper.make_tensor_value_info(name, ONNX_OF_DTYPE[line.type.dtype], None)
            for name, line in zip(self.claim.inputs, self.program.inputs, strict=True)
        ]
        types = self.program.types()
        outs = [
            helper.make_tensor_value_info(name, ONNX_OF_DTYPE[types[o.name].dtype], None)
            for name, o in zip(self.claim.outputs, self.program.outputs, strict=True)
        ]
        shown = {*self.claim.outputs, ""}
        inner = [o for n in nodes if n.op_type != "Constant" for o in n.output if o not in shown]
        outs += [ValueInfoProto(name=name) for name in inner]
        graph = helper.make_graph(nodes, "body", ins, outs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.claim.opset)], ir_version=8), masks


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
    lost = lost_casts(claim.built.program, claim.nodes, claim.inputs)
    if lost:
        return lost
    rng = np.random.default_rng(seed)
    session: Body | None = None
    for ones in (False, True):
        trial = Trial(claim, rng, ones)
        model, masks = trial.body()
        session = session or open_body(model, f"the body of {claim.op_type}")
        if trial.model and not _runs(trial, session):
            trial = Trial(claim, rng, ones, equal=True)  # the region takes two of the model's sizes for one
        for magnitude in magnitudes:
            note = _try(trial, session, masks, magnitude)
            if note:
                return note
    return ""


def _runs(trial: Trial, session: Body) -> bool:
    """Whether the body accepts the trial's sizes."""
    arrays = [trial.feed(k, line, 1.0) for k, line in enumerate(trial.program.inputs)]
    try:
        session.run(dict(zip(trial.claim.inputs, arrays, strict=True)))
    except VerificationError:
        return False
    return True


def _try(trial: Trial, session: Body, masks: Sequence[str], magnitude: float) -> str:
    claim, program = trial.claim, trial.program
    arrays = [trial.feed(k, line, magnitude) for k, line in enumerate(program.inputs)]
    body = session.run(dict(zip(claim.inputs, arrays, strict=True)))
    drawn = [i for i in program.instrs if i.op == "random_keep"]
    keep = {i.name: _mask(i, body[m], trial) for i, m in zip(drawn, masks, strict=True)}
    ours = evaluate(program, arrays, keep)
    bound = LOOSE if magnitude == SPECIAL else _bound(claim.built.program)  # there decisions count, not last places
    doubt = Doubt(program, arrays, keep)
    clean = all(np.isfinite(v).all() for v in body.values() if v.dtype.kind == "f")
    for k, (name, got) in enumerate(zip(claim.outputs, ours, strict=True)):
        want = np.asarray(body[name])
        alike = want.shape == got.shape and want.dtype == got.dtype
        agree = _agree(want, got, bound) if alike else np.zeros((), np.bool_)
        if not agree.all() and not (alike and (agree | doubt.covers(k, want, got, clean)).all()):
            return f"output {name} at magnitude {magnitude} and sizes {trial.sizes}"
    return ""


def _bound(program: Program) -> tuple[float, float]:
    halves = any(i.type.dtype in ("f16", "bf16") for i in program.instrs)
    return LOOSE if halves and any(i.op in COMPOSITE for i in program.instrs) else TIGHT


def _mask(line: Instr, mask: Array, trial: Trial) -> Array:
    return mask.reshape(tuple(trial.size(e) for e in line.type.extents))


def prove_programs(claims: Sequence[Claim], definitions: Definitions) -> int:
    """Prove each distinct pair of body and program; returns how many. Raises InternalError on one that differs.

    A pair that is equal as terms is run at one magnitude only, for its extents.
    """
    from ascend_fuse.program.text import print_program

    seen: set[tuple[str, str]] = set()
    for claim in claims:
        key = (claim.op_type, print_program(claim.built.program))
        if key in seen:
            continue
        seen.add(key)
        known = same(claim.built.program, claim.nodes, claim.inputs, claim.outputs, definitions)
        try:
            note = check(claim, magnitudes=MAGNITUDES[:1] if known else MAGNITUDES)
        except VerificationError as e:
            note = f"the body does not run: {e.what}"
        if note:
            what = f"the program of {claim.op_type} is not its body: {note}\n{key[1]}"
            way = f"; --ignore {claim.rule} leaves such regions out" if claim.rule else ""
            do = f"nothing was written; please report the model{way}"
            raise InternalError(what, where="program proof", do=do)
    return len(seen)
