"""What planning must know of a step before it is lowered: which operands carry data, and what it does to the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.region.space import shown
from ascend_fuse.region.step import Step, embedded, is_defined

SUPPORTED = frozenset(("f16", "bf16", "f32", "i16", "i32", "bool"))
CAST_ONLY = frozenset(("i8", "u8", "u16", "u32", "i64", "u64"))


@dataclass(frozen=True, slots=True)
class Trait:
    """`data`: operand names that the kernel reads; `row`: trailing axes that it reduces or moves along, 0 for none.

    `keep`: reduced axes stay as ones. `view`: the same elements on other axes.
    """

    data: tuple[str, ...]
    row: int = 0
    reduces: bool = False
    moves: bool = False
    keep: bool = True
    view: bool = False


Rule = Callable[[Node, View], "Trait | Miss"]
OWN_KERNEL = frozenset(
    (
        "MatMul Gemm Conv ConvTranspose MatMulInteger ConvInteger Gather GatherND GatherElements Transpose "
        "ScatterND ScatterElements MaxPool AveragePool GlobalAveragePool GlobalMaxPool Resize Pad Tile TopK "
        "CumSum Einsum LSTM GRU RNN Attention ArgMax ArgMin OneHot NonZero Trilu Range ConstantOfShape "
        "DepthToSpace SpaceToDepth"
    ).split()
)
QUANTISED = frozenset("QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearMatMul QLinearConv".split())


def _rank(view: View, name: str) -> int | None:
    shape = view.type_of(name).shape
    return None if shape is None else len(shape)


def _data(node: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys(i for i in node.inputs if i))


def _map(node: Node, view: View) -> Trait | Miss:
    return Trait(_data(node))


def _first(node: Node, view: View) -> Trait | Miss:
    return Trait(node.inputs[:1])


def _trailing(node: Node, view: View, axes: tuple[int, ...]) -> int | Miss:
    """How many trailing axes `axes` are, when they are exactly the trailing ones."""
    rank = _rank(view, node.inputs[0])
    if rank is None:
        return Miss("shape-unknown", f"the rank of {node.inputs[0]} is not known", node.index)
    wanted = sorted(a % rank for a in axes) if rank else []
    if not wanted or wanted != list(range(rank - len(wanted), rank)):
        figures = {"axis": ",".join(map(str, axes)), "rank": rank}
        return Miss("axis-not-trailing", f"{node.op} runs over axis {figures['axis']} of {rank}", node.index, figures)
    return len(wanted)


def _softmax(node: Node, view: View) -> Trait | Miss:
    rank = _rank(view, node.inputs[0])
    axis = node.integer("axis", -1 if view.opset >= 13 else 1)
    if view.opset < 13 and rank is not None:  # flattens: everything from axis on is one row
        count = _trailing(node, view, tuple(range(axis % max(rank, 1), rank)))
    else:
        count = _trailing(node, view, (axis,))
    return count if isinstance(count, Miss) else Trait(node.inputs[:1], count, reduces=True)


def _norm(node: Node, view: View) -> Trait | Miss:
    rank = _rank(view, node.inputs[0])
    if any(node.outputs[1:]):
        return Miss(
            "attribute-unsupported",
            "the statistics are used as outputs",
            node.index,
            {"attribute": "outputs"},
        )
    if node.integer("stash_type", 1) != 1:
        return Miss("attribute-unsupported", "stash_type is not float", node.index, {"attribute": "stash_type"})
    axis = node.integer("axis", -1)
    axes = (axis,) if rank is None else tuple(range(axis % max(rank, 1), rank))
    count = _trailing(node, view, axes)
    return count if isinstance(count, Miss) else Trait(_data(node), count, reduces=True)


def reduce_axes(node: Node, view: View) -> tuple[int, ...] | Miss:
    """The axes of a Reduce node, an attribute before opset 18 (13 for ReduceSum) and an input since."""
    axes = node.integers("axes")
    if axes is None and node.operand(1):
        value = view.constant(node.operand(1))
        if value is None:
            return Miss("attribute-unsupported", "the axes are not constant", node.index, {"attribute": "axes"})
        axes = tuple(int(a) for a in value.reshape(-1))
    if axes:
        return axes
    rank = _rank(view, node.inputs[0])
    if rank is None or node.integer("noop_with_empty_axes", 0):
        return Miss("attribute-unsupported", "the reduction has no axes", node.index, {"attribute": "axes"})
    return tuple(range(rank))


def _reduce(node: Node, view: View) -> Trait | Miss:
    axes = reduce_axes(node, view)
    if isinstance(axes, Miss):
        return axes
    count = _trailing(node, view, axes)
    if isinstance(count, Miss):
        return count
    return Trait(node.inputs[:1], count, reduces=True, keep=bool(node.integer("keepdims", 1)))


def _last_axis(node: Node, view: View, name: str, axis: int) -> Miss | None:
    rank = _rank(view, name)
    if rank is None:
        return Miss("shape-unknown", f"the rank of {name} is not known", node.index)
    if axis % max(rank, 1) != rank - 1:
        return Miss(
            "axis-not-trailing",
            f"{node.op} {'joins' if node.op == 'Concat' else 'splits'} along axis {axis} of {rank}",
            node.index,
            {"axis": axis, "rank": rank},
        )
    return None


def _joined(node: Node, view: View) -> Trait | Miss:
    data = _data(node) if node.op == "Concat" else node.inputs[:1]
    miss = _last_axis(node, view, node.inputs[0], node.integer("axis", 0))
    return miss or Trait(data, 1, moves=True)


def slice_bounds(node: Node, view: View, values: Mapping[str, ShapeValue]) -> tuple[int, int] | Miss:
    """start, stop of a Slice of step 1 along the last axis alone; `values`: what shapes and constants determine."""

    def operand(k: int, attribute: str) -> tuple[int, ...] | None:
        found = node.integers(attribute)
        if found is not None:
            return found
        value = values.get(node.operand(k))
        return None if value is None else value.integers()

    starts, ends, axes, steps = (operand(k, a) for k, a in enumerate(("starts", "ends", "axes", "steps"), start=1))
    shape = view.type_of(node.inputs[0]).shape
    unknown = (axes is None and node.operand(3)) or (steps is None and node.operand(4))
    if unknown or starts is None or ends is None or shape is None or not isinstance(shape[-1], int):
        return Miss("shape-unknown", "the bounds of the slice are not known", node.index, {"axis": -1})
    if axes is None:
        axes = tuple(range(len(starts)))
    if len(axes) != 1 or len(starts) != 1 or axes[0] % len(shape) != len(shape) - 1:
        return Miss(
            "axis-not-trailing",
            "the slice is not along the row",
            node.index,
            {"axis": str(axes), "rank": len(shape)},
        )
    if steps not in (None, (1,)):
        return Miss(
            "attribute-unsupported",
            "the slice has a step",
            node.index,
            {"attribute": "steps", "value": steps[0]},
        )
    start, stop, _ = slice(starts[0], ends[0], 1).indices(shape[-1])
    return (start, max(start, stop))


def _sliced(node: Node, view: View) -> Trait | Miss:
    return Trait(node.inputs[:1], 1, moves=True)


def inserted_axes(node: Node, view: View) -> tuple[tuple[Dim, ...], tuple[Dim, ...]] | Miss:
    """Shapes before and after a view that only adds or drops ones; a Miss for any other reshape."""
    before, after = view.type_of(node.inputs[0]).shape, view.type_of(node.outputs[0]).shape
    if before is None or after is None:
        return Miss("shape-unknown", "the shape of a reshape is not known", node.index)
    if [d for d in before if d != 1] != [d for d in after if d != 1]:
        message = f"{node.op} regroups axes: a view at the border of a region"
        return Miss("shape-mismatch", message, node.index, {"shape": shown(after), "space": shown(before)})
    return before, after


def _view(node: Node, view: View) -> Trait | Miss:
    shapes = inserted_axes(node, view)
    return shapes if isinstance(shapes, Miss) else Trait(node.inputs[:1], view=True)


def _dropout(node: Node, view: View) -> Trait | Miss:
    if view.opset < 12:
        return Miss("attribute-unsupported", "Dropout has no training mode before opset 12", node.index)
    training = view.constant(node.operand(2))
    if training is None or not bool(training):
        return Miss(
            "attribute-unsupported",
            "Dropout in inference mode is an identity",
            node.index,
            {"attribute": "training_mode"},
        )
    ratio = view.constant(node.operand(1))
    if node.operand(1) and ratio is None:
        return Miss("attribute-unsupported", "the ratio is not constant", node.index, {"attribute": "ratio"})
    if ratio is not None and not 0 <= float(ratio) < 1:
        return Miss("attribute-unsupported", "the ratio is not in [0, 1)", node.index, {"attribute": "ratio"})
    return Trait(node.inputs[:1])


_MAPS = (
    "Add Sub Mul Div Pow Max Min And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Where Not Neg "
    "Abs Sqrt Reciprocal Exp Log Sin Cos Tanh Sigmoid Erf Relu Floor Ceil Round Sign Gelu Clip LeakyRelu "
    "Elu HardSigmoid HardSwish Softplus Softsign Mish Selu Celu Sum Mean PRelu ThresholdedRelu"
).split()
TRAITS: Mapping[str, Rule] = {
    **dict.fromkeys(_MAPS, _map), "Cast": _first, "Expand": _first, "Softmax": _softmax, "LogSoftmax": _softmax,
    "LayerNormalization": _norm, "RMSNormalization": _norm, "ReduceSum": _reduce, "ReduceMean": _reduce,
    "ReduceMax": _reduce, "ReduceMin": _reduce, "Concat": _joined, "Split": _joined, "Slice": _sliced,
    "Unsqueeze": _view, "Squeeze": _view, "Reshape": _view, "Dropout": _dropout,
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
    """The step's trait, or why no vector family can hold it."""
    node = step.node
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
    cast = step.node.op == "Cast"
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
    if not data and step.node.op != "Expand":
        return Miss("nothing-to-join", "the value is constant", step.index, {"neighbour": "", "why": "constant"})
    return Trait(data, found.row, found.reduces, found.moves, found.keep, found.view)


def _is_literal(view: View, name: str) -> bool:
    value = embedded(view, name)
    return value is not None and value.size == 1
