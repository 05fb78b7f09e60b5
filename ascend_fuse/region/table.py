"""Which operators the vector families hold, each with the rule of its trait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ascend_fuse.graph.view import TEMPLATE, Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.region.absent import reason
from ascend_fuse.region.convolution import convolution
from ascend_fuse.region.movement import joined, sliced, turned, viewed
from ascend_fuse.region.product import product
from ascend_fuse.region.random import bernoulli, dropout, uniform_like
from ascend_fuse.region.reduction import (
    batch_norm,
    global_pool,
    group_norm,
    instance_norm,
    lp_norm,
    norm,
    reduce,
    softmax,
)
from ascend_fuse.region.rotary import rotary
from ascend_fuse.region.space import shown
from ascend_fuse.region.step import Step, embedded, is_defined
from ascend_fuse.region.trait import SUPPORTED, Trait, TraitRule, operands

CAST_ONLY = frozenset(("i8", "u8", "u16", "u32", "i64", "u64"))
# Where a node's scales are: operands, or -1 for the scale that it makes.
QUANTISED: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), (1,)), "DynamicQuantizeLinear": (-1,),
    **dict.fromkeys(("QLinearMatMul", "QLinearConv"), (1, 4, 6)),
}  # fmt: skip


def _map(node: Node, view: View) -> Trait | Miss:
    return Trait(operands(node))


def _first(node: Node, view: View) -> Trait | Miss:
    return Trait(node.inputs[:1])


def _cast_like(node: Node, view: View) -> Trait | Miss:
    """A conversion to the type of a value that is not read; of a number, it is another number."""
    return Trait(node.inputs[:1], literal=_is_literal(view, node.inputs[0]))


_MAPS = (
    "Add Sub Mul Div Mod Pow Max Min And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Where Not Neg "
    "Abs Sqrt Reciprocal Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Erf Relu Floor "
    "Ceil Round Sign Gelu Clip LeakyRelu Elu HardSigmoid HardSwish Softplus Softsign Mish Selu Celu Sum Mean PRelu "
    "ThresholdedRelu Shrink Swish SwiGLU IsNaN IsInf BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"
).split()
_REDUCTIONS = "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split()
TRAITS: Mapping[str, TraitRule] = {
    **dict.fromkeys(_MAPS, _map), "Cast": _first, "CastLike": _cast_like, "Expand": _first, "Dropout": dropout,
    "RandomUniformLike": uniform_like, "Bernoulli": bernoulli,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), softmax), "LpNormalization": lp_norm,
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), norm), "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm, "GroupNormalization": group_norm,
    "RotaryEmbedding": rotary,
    **{f"Reduce{kind}": reduce for kind in _REDUCTIONS},
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), global_pool),
    **dict.fromkeys(("Concat", "Split"), joined), "Slice": sliced, "Transpose": turned,
    **dict.fromkeys(("Unsqueeze", "Squeeze", "Reshape", "Flatten", "Identity"), viewed),
    **dict.fromkeys(("MatMul", "Gemm"), product), "Conv": convolution,
}  # fmt: skip


def _idiom(step: Step, view: View) -> Trait:
    bound = dict(step.binding)
    return Trait(tuple(bound[w] for w in step.instruction.split()[1:]))


def _dtype(name: str, view: View, cast: bool, node: Node) -> Miss | None:
    dtype = view.type_of(name).dtype
    if dtype in SUPPORTED or (cast and dtype in CAST_ONLY):
        return None
    text = f"{node.op} on {dtype or 'an unknown type'}"
    return Miss("dtype-unsupported", text, node.index, {"dtype": dtype or "?"})


def trait(step: Step, view: View) -> Trait | Miss:
    """The step's trait, or why no family can hold it."""
    node = step.node
    if node.domain == TEMPLATE:
        figures = {"attribute": "ref_attr_name"}
        return Miss("attribute-unsupported", f"{node.op} has attributes of the function's caller", node.index, figures)
    if node.domain != "":
        return Miss("op-unsupported", f"{node.domain}.{node.op} is not ours", node.index, {"op": node.op})
    if not is_defined(node.op, view.opset):
        return Miss("op-unsupported", f"opset {view.opset} has no {node.op}", node.index, {"op": node.op})
    if node.op in QUANTISED:
        return _quantised(node)
    rule = TRAITS.get(node.op)
    if rule is None and not step.instruction:
        code, text = reason(node.op)
        return Miss(code, text, node.index, {"op": node.op})
    found = _idiom(step, view) if step.instruction else rule(node, view) if rule else None
    assert found is not None
    return found if isinstance(found, Miss) else _checked(step, view, found)


def _quantised(node: Node) -> Miss:
    """A border: what is beside it is of integers and these scales."""
    scales = ", ".join(node.operand(k) if k >= 0 else node.outputs[1] for k in QUANTISED[node.op])
    text = f"{node.op} borders a quantised part, scaled by {scales}"
    return Miss("quantised", text, node.index, {"scale": scales})


def _checked(step: Step, view: View, found: Trait) -> Trait | Miss:
    """Types and ranks of everything that the kernel reads or writes."""
    cast = step.node.op in ("Cast", "CastLike")
    data = tuple(n for n in found.data if not _is_literal(view, n))
    for name in (*found.data, *step.outputs):
        if name in found.data and _is_literal(view, name) and not view.type_of(name).dtype:
            continue
        miss = _dtype(name, view, cast and name not in step.outputs, step.node)
        if miss is not None:
            return miss
        shape = view.type_of(name).shape
        if shape is None:
            return Miss("shape-unknown", f"the shape of {name} is not known", step.index, {"axis": "all"})
        if 0 in shape:
            return Miss("shape-mismatch", f"{name} is empty", step.index, {"shape": shown(shape), "space": "any"})
    if not data and step.node.op != "Expand" and not found.literal and not found.product:
        return Miss("nothing-to-join", "the value is constant", step.index, {"neighbour": "", "why": "constant"})
    return replace(found, data=data)


def _is_literal(view: View, name: str) -> bool:
    value = embedded(view, name)
    return value is not None and value.size == 1
