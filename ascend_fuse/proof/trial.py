"""One claim of the program proof, and one choice of sizes to run it at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ascend_fuse.graph.dim import evaluate as evaluate_dim
from ascend_fuse.graph.type import ONNX_OF_DTYPE
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.program import Extent, Input, Instr, Program, Type
from ascend_fuse.proof.clip import bounded
from ascend_fuse.proof.draw import shown_draws
from ascend_fuse.region.build import Built

Array = npt.NDArray[Any]
SPECIAL = 0.0  # instead of a magnitude: values at and beside the program's own literals, where comparisons decide
INTEGER_SAFE, SMALL_FILL = 100.0, 1e5  # greatest special values: of what is cast to an integer, of others
PRODUCTS = frozenset(("MatMul", "Gemm", "Conv"))
SHAPED = frozenset(("Expand", "Reshape", "Flatten", "GroupNormalization"))  # not every size fits them
HALF: dict[int, int] = {TensorProto.FLOAT16: TensorProto.FLOAT, TensorProto.BFLOAT16: TensorProto.FLOAT}


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
    own: Mapping[str, str] = field(default_factory=dict[str, str])  # the user's idioms in it, each with its file


def _widened(dtype: str) -> str:
    return "f32" if dtype in ("f16", "bf16") else dtype


def widened(program: Program) -> Program:
    """The program with half types computed in f32."""

    def wide(t: Type) -> Type:
        return replace(t, dtype=_widened(t.dtype))

    inputs = tuple(replace(i, type=wide(i.type)) for i in program.inputs)
    instrs = tuple(replace(i, type=wide(i.type)) for i in program.instrs)
    return replace(program, inputs=inputs, instrs=instrs)


def _has_fixed_operand(nodes: Sequence[NodeProto]) -> bool:
    """Whether a view or an Expand of sizes of its own makes an operand of a body's product."""
    maker = {o: n for n in nodes for o in n.output}
    stack = [i for n in nodes if n.op_type in PRODUCTS for i in n.input[:2]]
    while stack:
        node = maker.get(stack.pop())
        if node is not None and node.op_type in SHAPED:
            return True
        stack += node.input[:1] if node is not None else ()
    return False


def wide_node(node: NodeProto) -> NodeProto:
    """The node with half types computed in float32."""
    out = NodeProto()
    out.CopyFrom(node)
    for a in out.attribute:
        if (out.op_type, a.name) in (("Cast", "to"), ("Bernoulli", "dtype")):
            a.i = HALF.get(a.i, a.i)
        if a.name == "value" and a.t.data_type in HALF:
            a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float32)))
    return out


class Trial:
    """One choice of sizes for a claim."""

    def __init__(self, claim: Claim, rng: np.random.Generator, ones: bool, equal: int = 0) -> None:
        self.claim = claim
        self.equal = equal
        self.model: dict[str, int] = {}  # the model's own symbols, where host inputs spell sizes out
        self.rng = rng
        self.ones = ones
        self.program = widened(claim.built.program)
        norms = [n for n in claim.nodes if n.op_type == "BatchNormalization"]
        self.variances = {claim.inputs.index(n.input[4]) for n in norms if n.input[4] in claim.inputs}
        self.sizes = self._sizes(ones)

    def _sizes(self, ones: bool) -> dict[str, int]:
        """Small sizes for the program's symbols; where host inputs spell sizes out, through the model's own symbols."""
        symbols = self.program.symbols
        fixed = any(n.op_type in SHAPED for n in self.claim.nodes)
        if not self.claim.hosts and not fixed:
            return {s: 1 if ones and k % 2 else int(self.rng.integers(2, 8)) for k, s in enumerate(symbols)}
        self.model = {n: self.equal or int(self.rng.integers(2, 6)) for n in sorted(self._names())}
        space = {*self.program.rows, *(self.program.cols or ())}
        if _has_fixed_operand(self.claim.nodes):
            space.update(symbols)  # else nothing but a product's operands has the size of its k
        real = {s: evaluate_dim(self.claim.built.sizes[s], self.model) for s in symbols if s in space}
        return real | {s: int(self.rng.integers(2, 8)) for s in symbols if s not in space}

    def _names(self) -> set[str]:
        dims = [*self.claim.built.sizes.values()]
        dims += [i for h in self.claim.hosts.values() for i in h.items if i is not None and not isinstance(i, bool)]
        return {n for d in dims if not isinstance(d, int) for n in d.symbols}

    @property
    def elements(self) -> int:
        """Of the program's space."""
        return math.prod(self.size(e) for e in (*self.program.rows, *(self.program.cols or ())))

    def size(self, e: Extent) -> int:
        return e if isinstance(e, int) else self.sizes[e]

    def feed(self, k: int, line: Input, magnitude: float) -> Array:
        """A random tensor for an input; floats keep away from zero by sign and size alike."""
        if line.host and k in self.claim.hosts:
            host = self.claim.hosts[k]
            items = [i if isinstance(i, bool) else evaluate_dim(i, self.model) for i in host.items if i is not None]
            return np.asarray(items, dtype_of(line.type.dtype)).reshape(host.shape)
        shape = tuple(math.prod(self.size(e) for e in size) for size in line.tensor_shape)
        dtype = line.type.dtype
        if dtype == "bool":
            return np.asarray(self.rng.random(shape) > 0.4)
        if k in self.variances:  # none is negative, and an epsilon shows beside small ones
            return np.asarray(10.0 ** self.rng.uniform(-7, 0, shape), dtype_of(dtype))
        if dtype in ("f32", "f64") and magnitude == SPECIAL:
            return np.asarray(self.rng.choice(self.pool, shape), dtype_of(dtype))
        if dtype in ("f32", "f64"):
            drawn = self.rng.standard_normal(shape)
            if magnitude < 0:
                drawn = np.abs(drawn) * (-1 if self.ones else 1)
            return np.asarray(drawn * magnitude, dtype_of(dtype))
        low = 0 if dtype.startswith("u") else -5
        return np.asarray(self.rng.integers(low, 9, shape), dtype_of(dtype))

    def numbers(self, line: Instr, magnitude: float) -> Array:
        """What a line draws in [0, 1), as a vector: multiples of 2^-24, as kernels draw them, some of them literals."""
        count = math.prod(self.size(e) for e in line.type.extents)
        drawn = self.rng.integers(0, 1 << 24, count) * 2.0**-24
        met = [v for v in self.pool if 0 <= v < 1] if magnitude == SPECIAL else []
        return np.where(self.rng.random(count) < 0.5, self.rng.choice(met or [0.0], count), drawn).astype(np.float32)

    @cached_property
    def pool(self) -> list[float]:
        """Zero, small numbers, and the literals with their neighbours; none that an integer could not hold.

        Infinities where the program asks for them.
        """
        casts = any(i.op == "cast" and i.type.dtype[0] in "iu" for i in self.program.instrs)
        limit = INTEGER_SAFE if casts else SMALL_FILL
        found = {float(o) for i in self.program.instrs for o in i.operands if isinstance(o, float)}
        near = sorted(v for v in found if abs(v) <= limit)
        endless = any(i.op == "eq" and {math.inf, -math.inf} & {*i.operands} for i in self.program.instrs)
        ends = [math.inf, -math.inf] if endless and not casts else []
        return [*ends, 0.0, 0.25, -0.25, 1.0, -1.0, 2.0, *(v * by for v in near for by in (1.0, -1.0, 0.995, 1.005))]

    def body(self) -> tuple[ModelProto, list[str]]:
        """The body as a model with all its values as outputs, and the name of each value that it draws.

        Masks of Dropouts are outputs. Numbers are inputs, vectors: what a runtime draws is not asked.
        """
        real = self.claim.built.program.inputs
        own = [
            helper.make_tensor_value_info(name, ONNX_OF_DTYPE[line.type.dtype], None)
            for name, line in zip(self.claim.inputs, real, strict=True)
        ]
        wide = map(wide_node, bounded(self.claim.nodes, own, self.claim.opset))
        nodes, drawn, given = shown_draws(list(wide))
        ins = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in given]
        ins += [
            helper.make_tensor_value_info(name, ONNX_OF_DTYPE[line.type.dtype], None)
            for name, line in zip(self.claim.inputs, self.program.inputs, strict=True)
        ]
        types = self.program.types()
        outs = [
            helper.make_tensor_value_info(name, ONNX_OF_DTYPE[types[o.name].dtype], None)
            for name, o in zip(self.claim.outputs, self.program.outputs, strict=True)
        ]
        shown = {*self.claim.outputs, ""}
        inner = [o for n in nodes if n.op_type not in ("Constant", "Shape") for o in n.output if o not in shown]
        outs += [ValueInfoProto(name=name) for name in inner]
        graph = helper.make_graph(nodes, "body", ins, outs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.claim.opset)], ir_version=8), drawn


def feeds_of(trial: Trial, magnitude: float, drawn: Sequence[str]) -> tuple[list[Array], dict[str, Array]]:
    """Arrays for the program's inputs, and for the body's, which takes the numbers that it would draw too."""
    claim, program = trial.claim, trial.program
    arrays = [trial.feed(k, line, magnitude) for k, line in enumerate(program.inputs)]
    numbers = {
        name: trial.numbers(line, magnitude)
        for name, line in zip(drawn, program.draws, strict=True)
        if line.op == "random_uniform"
    }
    return arrays, numbers | dict(zip(claim.inputs, arrays, strict=True))
