"""The values of small integer tensors, followed through the operators that exporters compute shapes with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from onnx import numpy_helper

from ascend_fuse.graph.dim import Dim, product
from ascend_fuse.graph.type import TensorType
from ascend_fuse.graph.value import ShapeValue, evaluate_node, from_constant
from ascend_fuse.graph.view import SMALL, Node

FOLDED = frozenset(
    (
        "Add Sub Mul Div Equal Less Greater LessOrEqual GreaterOrEqual Min Max Where Concat Gather Slice "
        "Identity Cast Unsqueeze Squeeze Reshape Flatten Neg ReduceProd Expand Range"
    ).split()
)
# The types in which values are followed, as long as the numbers fit.
LIMITS = {"i64": (-(1 << 63), (1 << 63) - 1), "i32": (-(1 << 31), (1 << 31) - 1), "bool": (0, 1)}


def followed(node: Node, types: Mapping[str, TensorType], values: Mapping[str, ShapeValue]) -> ShapeValue | None:
    """The value of the node's only output, None where it is not known; `types` has the output's already."""
    if node.domain or len(node.outputs) != 1 or not node.outputs[0]:
        return None
    out = types[node.outputs[0]]
    if node.op in ("Shape", "Size"):
        return _measured(node, types.get(node.operand(0)))
    if node.op == "ConstantOfShape":
        return _filled(node, out.shape)
    if node.op not in FOLDED or out.dtype not in LIMITS or not any(i in values for i in node.inputs):
        return None
    static = _static(out.shape)
    value = None
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # operands that do not fit each other
        value = evaluate_node(node, tuple(values.get(i) for i in node.inputs), static)
    fits = value is not None and _fits(value, out.dtype) and static in (None, value.shape)
    return value if fits else None


def _measured(node: Node, source: TensorType | None) -> ShapeValue | None:
    if source is None or source.shape is None:
        return None
    if node.op == "Size":
        return ShapeValue((), (product(source.shape),))
    dims = source.shape[node.integer("start", 0) : node.integer("end", len(source.shape))]
    return ShapeValue((len(dims),), dims)


def _filled(node: Node, shape: tuple[Dim, ...] | None) -> ShapeValue | None:
    static = _static(shape)
    proto = next((a.t for a in node.proto.attribute if a.name == "value"), None)
    if static is None or math.prod(static) > SMALL or proto is None:
        return None
    return from_constant(np.broadcast_to(numpy_helper.to_array(proto).reshape(-1)[:1].reshape(()), static))


def _fits(value: ShapeValue, dtype: str) -> bool:
    """Whether there are few elements and the type holds what was computed without bounds."""
    least, most = LIMITS[dtype]
    return len(value.items) <= SMALL and all(not isinstance(i, int) or least <= i <= most for i in value.items)


def _static(shape: tuple[Dim, ...] | None) -> tuple[int, ...] | None:
    if shape is None:
        return None
    found = tuple(d for d in shape if isinstance(d, int))
    return found if len(found) == len(shape) else None
