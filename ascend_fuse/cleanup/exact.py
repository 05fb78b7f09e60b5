"""Which operators give their first operand back, bit for bit, whatever the inputs are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ascend_fuse.graph.dim import Dim, product
from ascend_fuse.graph.guarantee import Guarantee
from ascend_fuse.graph.type import ONNX_OF_DTYPE
from ascend_fuse.graph.view import Node, View

FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
INTEGERS = frozenset({"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"})


def gives_back(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    """How the report says that the node's first output is `kept`; "" when that is not certain."""
    check = _CHECKS.get(node.op)
    if check is None or node.domain or node.is_template or not kept:
        return ""
    if kept != node.operand(0) and not (node.op in ("Mul", "Add") and kept == node.operand(1)):
        return ""
    return check(node, kept, view, sure)


def _identity(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    return f"{node.outputs[0]} is {kept}"


def _dropout(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    output, *masks = node.outputs
    if any(m and (view.readers(m) or view.is_output(m)) for m in masks):
        return ""
    training = node.operand(2)
    if view.opset >= 12 and training:
        value = view.constant(training)
        if value is None or value.size != 1 or bool(value.item()):
            return ""
    return f"{output} is {kept}: no training" if view.opset >= 7 else ""


def _cast(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    dtype = sure.dtype(kept)
    same = bool(dtype) and node.integer("to", 0) == ONNX_OF_DTYPE.get(dtype)
    return f"{kept} is {dtype} already" if same else ""


def _reshape(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    shape, want = sure.shape(kept), sure.value(node.operand(1))
    if shape is None or want is None or len(want.items) != len(shape):
        return ""
    copies = node.integer("allowzero", 0) == 0
    holes = 0
    for size, item in zip(shape, want.items, strict=True):
        if isinstance(item, bool) or item is None:
            return ""
        if item == -1:
            holes += 1
        elif item != size and not (item == 0 and copies):
            return ""
    return _shaped(node, shape, sure) if holes <= 1 else ""


def _flatten(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    shape, axis = sure.shape(kept), node.integer("axis", 1)
    if shape is None or len(shape) != 2 or not -2 <= axis <= 2:
        return ""
    at = axis if axis >= 0 else axis + 2
    return _shaped(node, shape, sure) if (product(shape[:at]), product(shape[at:])) == shape else ""


def _axes(node: Node, sure: Guarantee) -> tuple[int, ...] | None:
    """Axes by attribute or operand, () when there are none, None when they are not certain."""
    if (given := node.integers("axes")) is not None:
        return given
    if not node.operand(1):
        return ()
    value = sure.value(node.operand(1))
    return None if value is None else value.integers()


def _squeeze(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    """Without axes every axis of size 1 goes, so that none may be there."""
    shape = sure.shape(kept)
    if shape is None or _axes(node, sure) != () or not all(isinstance(d, int) and d != 1 for d in shape):
        return ""
    return _shaped(node, shape, sure)


def _unsqueeze(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    shape = sure.shape(kept)
    given = node.integers("axes") is not None or bool(node.operand(1))
    return _shaped(node, shape, sure) if shape is not None and given and _axes(node, sure) == () else ""


def _expand(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    shape, want = sure.shape(kept), sure.value(node.operand(1))
    if shape is None or want is None or len(want.items) > len(shape):
        return ""
    pairs = zip(shape[::-1], want.items[::-1], strict=False)
    fits = all(not isinstance(i, bool) and i is not None and i in (1, size) for size, i in pairs)
    return _shaped(node, shape, sure) if fits else ""


def _transpose(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    perm = node.integers("perm")
    if not perm:  # reversed
        shape = sure.shape(kept)
        return f"{kept} has {len(shape)} axes" if shape is not None and len(shape) < 2 else ""
    return f"{kept} keeps the order of its axes" if perm == tuple(range(len(perm))) else ""


def _neutral(node: Node, kept: str, view: View, sure: Guarantee) -> str:
    """x*1, x/1, x**1, x+0, x-0 with a constant of one element that does not raise the rank."""
    if len(node.inputs) != 2:
        return ""
    other = node.inputs[1] if node.inputs[0] == kept else node.inputs[0]
    value = view.constant(other)
    if other == kept or value is None or value.size != 1:
        return ""
    shape = sure.shape(kept)
    if value.ndim and (shape is None or len(shape) < value.ndim):
        return ""
    is_neutral = _NEUTRAL[node.op]
    if node.op == "Pow":  # the exponent has a type of its own; integers are raised in float64 by some runtimes
        dtype = sure.dtype(kept)
        return f"{kept} to the power of 1" if dtype in FLOATS and is_neutral(value.reshape(-1)[0]) else ""
    return f"{kept} {_SAYS[node.op]}" if is_neutral(value.reshape(-1)[0]) else ""


def _is_one(v: np.generic) -> bool:
    return (v.dtype.kind in "iu" or _is_float(v)) and bool(v == v.dtype.type(1))


def _is_zero(v: np.generic) -> bool:
    return v.dtype.kind in "iu" and bool(v == v.dtype.type(0))


def _is_minus_zero(v: np.generic) -> bool:
    """x + 0.0 is +0.0 where x is -0.0, so that only -0.0 is neutral; for an integer 0 is."""
    return _is_zero(v) or (_is_float(v) and bool(v == v.dtype.type(0)) and bool(np.signbit(v)))


def _is_plus_zero(v: np.generic) -> bool:
    """x - -0.0 is +0.0 where x is -0.0."""
    return _is_zero(v) or (_is_float(v) and bool(v == v.dtype.type(0)) and not bool(np.signbit(v)))


def _is_float(v: np.generic) -> bool:
    return v.dtype.kind == "f" or v.dtype.name == "bfloat16"


def _shaped(node: Node, shape: tuple[Dim, ...], sure: Guarantee) -> str:
    """The proof compares what inference says of both sides, so that it has to agree."""
    if sure.shape(node.outputs[0]) != shape:
        return ""
    return f"{node.inputs[0]} has the shape [{', '.join('?' if '?' in str(d) else str(d) for d in shape)}] already"


_SAYS = {"Mul": "times 1", "Div": "by 1", "Add": "plus 0", "Sub": "minus 0"}
_NEUTRAL: Mapping[str, Callable[[np.generic], bool]] = MappingProxyType(
    {"Mul": _is_one, "Div": _is_one, "Pow": _is_one, "Add": _is_minus_zero, "Sub": _is_plus_zero}
)
_CHECKS: Mapping[str, Callable[[Node, str, View, Guarantee], str]] = MappingProxyType(
    {
        "Identity": _identity, "Dropout": _dropout, "Cast": _cast, "Reshape": _reshape, "Flatten": _flatten,
        "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Expand": _expand, "Transpose": _transpose,
        **dict.fromkeys(_NEUTRAL, _neutral),
    }
)  # fmt: skip
