"""AF001: a Shape node reads an earlier value of provably equal shape, so that no region has to write its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnx import ModelProto

from ascend_fuse.cleanup.runtime import is_counted
from ascend_fuse.graph.assumption import Doubt
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.view import Node, View
from ascend_fuse.plan import Cleanup

SHAPE_SOURCE = "AF001"
# Operators whose result has the shape of an operand whenever their types say so.
_KEEPS = frozenset(
    (
        "Add Sub Mul Div Pow Min Max Where Cast Neg Abs Sqrt Reciprocal Exp Log Sin Cos Tanh Sigmoid Erf Relu "
        "Floor Ceil Round Sign Gelu Clip LeakyRelu Elu HardSigmoid HardSwish Softplus Softsign Mish Selu Celu "
        "Softmax LogSoftmax LayerNormalization RMSNormalization Dropout Concat Identity"
    ).split()
)

_STRETCHES = frozenset("Add Sub Mul Div Pow Min Max Where".split())


def _source(view: View, inference: Inference, name: str) -> str:
    """The earliest value of equal shape up the chain of operators that keep it.

    Where the chain ends at a value that a region could keep to itself, the earliest that is written in any case.
    """
    written = name
    while True:
        maker = view.producer(name)
        if maker is None or maker.domain or maker.op not in _KEEPS or not maker.outputs or maker.outputs[0] != name:
            return name
        if _is_written(view, name):
            written = name
        above = _operand(view, inference, maker, name)
        if not above:
            return written
        name = above


def _is_written(view: View, name: str) -> bool:
    """Whether the value is read by what no region with its maker holds."""
    readers = (view.nodes[k] for k in view.readers(name))
    return view.is_output(name) or any(n.domain or (n.op not in _KEEPS and n.op != "Shape") for n in readers)


def _operand(view: View, inference: Inference, maker: Node, name: str) -> str:
    shape = inference.types[name].shape
    if shape is None:
        return ""
    if maker.op == "Concat":  # rotate-half: the halves of one value, joined again
        return _halves(view, inference, maker, name)
    # A hinted operand may be narrower or wider than it is said to be, and the operator then stretches it or the others.
    if len(maker.inputs) > 1 and maker.op in _STRETCHES and inference.doubt(maker.inputs) > Doubt.EMPTY:
        return ""
    for operand in maker.inputs:
        kind = inference.types.get(operand)
        if kind is not None and kind.shape == shape and operand not in view.initializers:
            return operand
    return ""


def _halves(view: View, inference: Inference, maker: Node, name: str) -> str:
    sources: set[str] = set()
    for operand in maker.inputs:
        above = view.producer(operand)
        if above is not None and above.op == "Neg":
            above = view.producer(above.inputs[0])
        sources.add(above.inputs[0] if above is not None and above.op == "Slice" else "")
    source = sources.pop() if len(sources) == 1 else ""
    kind = inference.types.get(source)
    if kind is None or inference.doubt((source, name)) is Doubt.TOLD:
        return ""
    return source if kind.shape == inference.types[name].shape else ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A Shape node that shall read `new` instead of `old`; `output` is what it makes."""

    node: int
    label: str
    output: str
    old: str
    new: str

    @property
    def cleanup(self) -> Cleanup:
        """As the report lists it."""
        return Cleanup("", SHAPE_SOURCE, self.label, f"reads the shape of {self.new}, not of {self.old}")


def find_redirects(view: View, inference: Inference) -> tuple[Redirect, ...]:
    """The Shape nodes of the graph that an earlier value serves as well."""
    found: list[Redirect] = []
    for node in view.nodes:
        if node.op == "Shape" and not node.domain and node.outputs and not is_counted(view, node.inputs[0]):
            source = _source(view, inference, node.inputs[0])
            if source != node.inputs[0]:
                found.append(Redirect(node.index, node.label, node.outputs[0], node.inputs[0], source))
    return tuple(found)


def redirect(model: ModelProto, redirects: Sequence[Redirect], back: bool = False) -> None:
    """Let the Shape nodes read their new values, or their old ones (the model is edited in place)."""
    for r in redirects:
        model.graph.node[r.node].input[0] = r.old if back else r.new
