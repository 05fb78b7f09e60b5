"""Which operators the vector families hold, each with the rule of its trait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ascend_fuse.graph.view import TEMPLATE, Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.region.convolution import convolution
from ascend_fuse.region.movement import joined, sliced, turned, viewed
from ascend_fuse.region.product import product
from ascend_fuse.region.reduction import global_pool, group_norm, instance_norm, norm, reduce, softmax
from ascend_fuse.region.space import shown
from ascend_fuse.region.step import Step, embedded, is_defined
from ascend_fuse.region.trait import SUPPORTED, Trait, TraitRule, operands, refused

CAST_ONLY = frozenset(("i8", "u8", "u16", "u32", "i64", "u64"))
OWN_KERNEL = frozenset(
    (
        "ConvTranspose MatMulInteger ConvInteger Gather GatherND GatherElements "
        "ScatterND ScatterElements MaxPool AveragePool GlobalMaxPool Resize Pad Tile TopK "
        "CumSum Einsum LSTM GRU RNN Attention ArgMax ArgMin OneHot NonZero Trilu Range ConstantOfShape "
        "DepthToSpace SpaceToDepth"
    ).split()
)
QUANTISED = frozenset("QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearMatMul QLinearConv".split())


def _map(node: Node, view: View) -> Trait | Miss:
    return Trait(operands(node))


def _first(node: Node, view: View) -> Trait | Miss:
    return Trait(node.inputs[:1])


def _cast_like(node: Node, view: View) -> Trait | Miss:
    """A conversion to the type of a value that is not read; of a number, it is another number."""
    return Trait(node.inputs[:1], literal=_is_literal(view, node.inputs[0]))


def _dropout(node: Node, view: View) -> Trait | Miss:
    """In inference mode the same elements, and a mask that is all true."""
    training = view.constant(node.operand(2)) if node.operand(2) else False
    if training is None:
        return refused(node, "training_mode", "whether the Dropout trains is not constant")
    if not bool(training):
        mask = any(node.outputs[1:])
        if mask and view.opset < 12:  # numbers before 10, and ONNX Runtime gives all false there
            return refused(node, "outputs", "before opset 12 nothing says what mask a Dropout in inference mode has")
        return Trait(node.inputs[:1], view=not mask)
    ratio = view.constant(node.operand(1))
    if node.operand(1) and ratio is None:
        return refused(node, "ratio", "the ratio is not constant")
    if ratio is not None and not 0 <= float(ratio) < 1:
        return refused(node, "ratio", "the ratio is not in [0, 1)")
    return Trait(node.inputs[:1])


_MAPS = (
    "Add Sub Mul Div Pow Max Min And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Where Not Neg "
    "Abs Sqrt Reciprocal Exp Log Sin Cos Tanh Sigmoid Erf Relu Floor Ceil Round Sign Gelu Clip LeakyRelu "
    "Elu HardSigmoid HardSwish Softplus Softsign Mish Selu Celu Sum Mean PRelu ThresholdedRelu Shrink Swish SwiGLU "
    "IsNaN"
).split()
TRAITS: Mapping[str, TraitRule] = {
    **dict.fromkeys(_MAPS, _map), "Cast": _first, "CastLike": _cast_like, "Expand": _first, "Softmax": softmax,
    "LogSoftmax": softmax, "LayerNormalization": norm, "RMSNormalization": norm,
    "InstanceNormalization": instance_norm, "GroupNormalization": group_norm, "ReduceSum": reduce,
    "ReduceMean": reduce, "ReduceMax": reduce, "ReduceMin": reduce, "Concat": joined, "Split": joined,
    "Slice": sliced, "Unsqueeze": viewed, "Squeeze": viewed, "Reshape": viewed, "Flatten": viewed,
    "Identity": viewed, "Dropout": _dropout, "Transpose": turned, "MatMul": product, "Gemm": product,
    "Conv": convolution, "GlobalAveragePool": global_pool,
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
        figures = {"scale": node.operand(1)}
        return Miss("quantised", f"{node.op} borders a quantised part", node.index, figures)
    rule = TRAITS.get(node.op)
    if rule is None and not step.instruction:
        code = "own-kernel" if node.op in OWN_KERNEL else "op-unsupported"
        return Miss(code, f"{node.op} {_why(node.op)}", node.index, {"op": node.op})
    found = _idiom(step, view) if step.instruction else rule(node, view) if rule else None
    assert found is not None
    return found if isinstance(found, Miss) else _checked(step, view, found)


def _why(op: str) -> str:
    return "has a kernel of its own" if op in OWN_KERNEL else "is in no family's table"


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
