"""ONNX operators as instructions: what each step adds to the program.

Definitions follow the ONNX operator specification; where it leaves the intermediate type open (Softmax and the norms on
half types) the sums and exponentials run in f32, as the vendors' own kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ascend_fuse.graph.type import DTYPE_OF_ONNX
from ascend_fuse.program.op import FLOATS, by_onnx, table
from ascend_fuse.program.program import Attribute, Instr, Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.activation import ACTIVATIONS
from ascend_fuse.region.build import Builder, Handle
from ascend_fuse.region.lowering import Lowering, unsupported
from ascend_fuse.region.movement import slice_bounds, widened
from ascend_fuse.region.product import lower_product
from ascend_fuse.region.step import Step, embedded
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
    low.done(low.cast(low.arg(0), target))
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


def _softmax(low: Lowering) -> Miss | None:
    x = low.cast(low.arg(0), "f32")
    centred = low.op("sub", x, low.reduce("reduce_max", x))
    powers = low.op("exp", centred)
    total = low.reduce("reduce_sum", powers)
    log = low.node.op == "LogSoftmax"
    out = low.op("sub", centred, low.op("log", total)) if log else low.op("div", powers, total)
    low.done(low.cast(out, low.dtype))
    return None


def _norm(low: Lowering) -> Miss | None:
    """Statistics in f32 (stash_type 1), scale and shift in the tensor's own type."""
    x = low.cast(low.arg(0), "f32")
    if low.node.op != "RMSNormalization":
        x = low.op("sub", x, low.reduce("reduce_mean", x))
    variance = low.reduce("reduce_mean", low.op("mul", x, x))
    scale = low.op("rsqrt", low.with_literal("add", variance, low.number("epsilon", 1e-5)))
    out = low.cast(low.op("mul", x, scale), low.dtype)
    out = low.op("mul", out, low.arg(1))
    if low.has(2):
        out = low.op("add", out, low.arg(2))
    low.done(out)
    return None


def _reduce(low: Lowering) -> Miss | None:
    low.done(low.reduce(f"reduce_{low.node.op[6:].lower()}", low.arg(0)))
    return None


def _global_pool(low: Lowering) -> Miss | None:
    low.done(low.reduce("reduce_mean", low.arg(0)))
    return None


def _slice(low: Lowering) -> Miss | None:
    bounds = slice_bounds(low.node, low.builder.view, low.builder.values)
    if isinstance(bounds, Miss):
        return bounds
    low.done(_cut(low, low.arg(0), *bounds))
    return None


def _cut(low: Lowering, x: Handle, start: int, stop: int) -> Handle:
    axis = low.builder.last
    dims = {**x.dims, axis: stop - start}
    return low.builder.emit("slice", x, dims=dims, attributes={"start": start, "stop": stop})


def _split(low: Lowering) -> Miss | None:
    x, at = low.arg(0), 0
    for k, name in enumerate(low.node.outputs):
        shape = low.builder.view.type_of(name).shape or ()
        width = shape[-1] if shape else 0
        if not isinstance(width, int):
            return Miss("shape-unknown", "the parts of the split are not known", low.node.index, {"axis": -1})
        low.done(_cut(low, x, at, at + width), k)
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
    dims = {a: d for p in parts for a, d in p.dims.items() if d != 1} | {axis: total}
    low.done(low.builder.emit("concat", *parts, dims=dims))
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


def _dropout(low: Lowering) -> Miss | None:
    """y = mask ? x / (1 - ratio) : 0, as ONNX Runtime and the specification compute it; in inference mode y = x."""
    x = low.arg(0)
    training = embedded(low.builder.view, low.node.inputs[2]) if low.has(2) else None
    if training is None or not bool(training):
        low.done(x)
        if any(low.node.outputs[1:]):  # true for every x, also one that is no number
            low.done(low.with_literal("or", low.op("eq", x, x), 1), 1)
        return None
    constant = embedded(low.builder.view, low.node.inputs[1]) if low.has(1) else None
    ratio = 0.5 if constant is None else float(constant.reshape(-1)[0])
    seed = low.node.attribute("seed")
    attributes: dict[str, Attribute] = {"ratio": ratio}
    if isinstance(seed, int):
        attributes["seed"] = seed
    mask = low.builder.emit("random_keep", dtype="bool", dims=x.dims, attributes=attributes)
    scaled = low.with_literal("mul", x, 1 / (1 - ratio))
    low.done(low.builder.emit("where", mask, scaled, low.lit(0.0, x), dtype=x.dtype))
    if len(low.node.outputs) > 1 and low.node.outputs[1]:
        low.done(mask, 1)
    return None


LOWERINGS: Mapping[str, Rule] = {
    **ACTIVATIONS, **dict.fromkeys(("Max", "Min", "Sum", "Mean"), _fold), "Cast": _cast, "CastLike": _cast_like,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    **{f"{kind}Normalization": _norm for kind in ("Layer", "RMS", "Instance", "Group")},
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"), _reduce), "Slice": _slice,
    "Split": _split, "Concat": _concat, "Expand": _expand, "Unsqueeze": _same, "Squeeze": _same,
    "Reshape": _same, "Flatten": _same, "Identity": _same, "Transpose": _same, "Dropout": _dropout,
    "MatMul": lower_product, "Gemm": lower_product, "Conv": lower_product, "GlobalAveragePool": _global_pool,
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
