"""ONNX operators as instructions: what each step adds to the program, by the ONNX operator specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ascend_fuse.graph.type import DTYPE_OF_ONNX
from ascend_fuse.program.op import FLOATS, by_onnx, table
from ascend_fuse.program.program import Instr, Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.activation import ACTIVATIONS
from ascend_fuse.region.build import Builder, Handle
from ascend_fuse.region.integer import INTEGRAL
from ascend_fuse.region.lowering import Lowering, unsupported
from ascend_fuse.region.movement import slice_bounds, widened
from ascend_fuse.region.norm import NORMS
from ascend_fuse.region.product import lower_product
from ascend_fuse.region.random import lower_bernoulli, lower_dropout, lower_uniform_like
from ascend_fuse.region.rotary import lower_rotary
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import SUPPORTED

Rule = Callable[[Lowering], "Miss | None"]


def _plain(low: Lowering) -> Miss | None:
    """An operator that is one instruction."""
    op = by_onnx()[low.node.op]
    operands = [low.arg(k) for k in range(len(low.node.inputs))]
    low.done(low.op(op.name, *operands))
    return None


def _fold(low: Lowering) -> Miss | None:
    """Max, Min, Sum, Mean of any number of operands."""
    name = {"Sum": "add", "Mean": "add"}.get(low.node.op, low.node.op.lower())
    count = len(low.node.inputs)
    out = low.arg(0)
    for k in range(1, count):
        out = low.op(name, out, low.arg(k))
    if low.node.op == "Mean":
        out = low.with_literal("mul", out, 1 / count) if count > 1 else out
    low.done(out)
    return None


def _cast(low: Lowering) -> Miss | None:
    target = DTYPE_OF_ONNX.get(low.node.integer("to", 0), "")
    if target not in SUPPORTED:
        return Miss("dtype-unsupported", f"Cast to {target or 'an unknown type'}", low.node.index, {"dtype": target})
    low.done(low.cast(low.builder.before_widening(low.arg(0), target), target))
    return None


def _cast_like(low: Lowering) -> Miss | None:
    """To the type of another value; a number becomes the number that it is in that type."""
    x = low.arg(0)
    if isinstance(x.operand, Value):
        low.done(low.cast(x, low.dtype))
        return None
    kind = bool if low.dtype == "bool" else float if low.dtype in FLOATS else int
    low.builder.handles[low.node.outputs[0]] = Handle(kind(x.operand), low.dtype)
    return None


def _slice(low: Lowering) -> Miss | None:
    bounds = slice_bounds(low.node, low.builder.view, low.builder.values)
    if isinstance(bounds, Miss):
        return bounds
    low.done(low.cut(low.arg(0), *bounds))
    return None


def _split(low: Lowering) -> Miss | None:
    x, at = low.arg(0), 0
    for k, name in enumerate(low.node.outputs):
        shape = low.builder.view.type_of(name).shape or ()
        width = shape[-1] if shape else 0
        if not isinstance(width, int):
            return Miss("shape-unknown", "the parts of the split are not known", low.node.index, {"axis": -1})
        low.done(low.cut(x, at, at + width), k)
        at += width
    return None


def _concat(low: Lowering) -> Miss | None:
    joint = low.builder.space.joints.get(low.node.outputs[0])
    if joint is not None:
        low.builder.handles[joint.result] = low.arg(low.node.inputs.index(joint.own))
        return None
    parts = [low.arg(k) for k in range(len(low.node.inputs))]
    axis = low.builder.last
    total = 0
    for name in low.node.inputs:
        shape = low.builder.view.type_of(name).shape
        width = shape[-1] if shape else None
        if not isinstance(width, int):
            return Miss("shape-unknown", "a joined row is not known", low.node.index, {"axis": -1})
        total += width
    if any(axis not in p.dims for p in parts):
        return unsupported(low, "operand", "constant")
    low.done(low.concat(parts, total))
    return None


def _same(low: Lowering) -> Miss | None:
    """A view or a Transpose: the same elements on other axes, or on the same in another order."""
    low.done(low.arg(0))
    return None


def _expand(low: Lowering) -> Miss | None:
    """Wider by `define`."""
    miss = widened(low.node, low.builder.view, low.builder.values)
    if miss is None:
        low.done(low.arg(0))
    return miss


LOWERINGS: Mapping[str, Rule] = {
    **ACTIVATIONS, **INTEGRAL, **NORMS, **dict.fromkeys(("Max", "Min", "Sum", "Mean"), _fold), "Cast": _cast,
    "CastLike": _cast_like, "Slice": _slice, "Split": _split, "Concat": _concat, "Expand": _expand,
    **dict.fromkeys(("Unsqueeze", "Squeeze", "Reshape", "Flatten", "Identity", "Transpose"), _same),
    **dict.fromkeys(("MatMul", "Gemm", "Conv"), lower_product), "RotaryEmbedding": lower_rotary,
    "Dropout": lower_dropout, "RandomUniformLike": lower_uniform_like, "Bernoulli": lower_bernoulli,
}  # fmt: skip


def _composite(low: Lowering) -> Miss | None:
    """An idiom: its pattern is the definition of one instruction."""
    bound = dict(low.step.binding)
    name, *words = low.step.instruction.split()
    handle = low.op(name, *(low.builder.tensor(bound[w]) for w in words))
    low.builder.define(low.step.outputs[0], handle)
    return None


def lower(builder: Builder, step: Step) -> Miss | None:
    """Add the step to the program; a Miss says why the table cannot hold it."""
    low = Lowering(builder, step)
    rule = _composite if step.instruction else LOWERINGS.get(step.node.op, _plain)
    if step.node.op in NORMS and not step.instruction:
        dtype = builder.view.type_of(step.node.inputs[0]).dtype
        if dtype not in FLOATS:  # sums of integers wrap, and what is computed in f32 would not
            return Miss("dtype-unsupported", f"{step.node.op} on {dtype}", step.index, {"dtype": dtype})
    start = len(builder.instrs)
    miss = rule(low)
    if miss is not None:
        return miss
    for line in builder.instrs[start:]:
        miss = _checked(low, line)
        if miss is not None:
            return miss
    return None


def _checked(low: Lowering, line: Instr) -> Miss | None:
    """What the engine would refuse: an operator on a type that it has not, an instruction on literals alone."""
    if line.op == "matmul":
        return None
    row = table()[line.op]
    values = [o for o in line.operands if isinstance(o, Value)]
    if line.operands and not values:
        return unsupported(low, "operand", "constant")
    dtype = low.builder.dtype(values[-1]) if row.result == "bool" else line.type.dtype
    if row.result != "attr" and not row.accepts(dtype):
        return Miss("dtype-unsupported", f"{line.op} on {dtype}", low.node.index, {"dtype": dtype})
    return None
