"""AF009: small integers that follow from constants and static shapes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ascend_fuse.cleanup.runtime import is_computed_half
from ascend_fuse.graph.guarantee import Guarantee
from ascend_fuse.graph.view import SMALL, Constant, Node, View

SHAPES = frozenset({"Shape", "Size"})
# Deterministic operators whose small integer results inference computes.
FOLDED = frozenset(
    (
        "Add Sub Mul Div Equal Less Greater LessOrEqual GreaterOrEqual Min Max Where Concat Gather Slice "
        "Identity Cast Unsqueeze Squeeze Reshape Flatten Neg ReduceProd Expand ConstantOfShape Range"
    ).split()
)
LIMITS = {"i64": (-(1 << 63), (1 << 63) - 1), "i32": (-(1 << 31), (1 << 31) - 1)}
DTYPES: Mapping[str, type[np.generic]] = {"i64": np.int64, "i32": np.int32, "bool": np.bool_}


def known_values(view: View, sure: Guarantee) -> dict[int, Constant]:
    """By node (none a Constant): the value of its only output, where constants and static shapes decide it.

    A size that is not known may stand on the way, as in the first element of a Shape of [2, N].
    """
    follows: set[str] = set()
    found: dict[int, Constant] = {}
    leaves: set[str] = set()  # constants and other names for them
    for node in view.nodes:
        if not _follows(node, view, sure, follows, leaves):
            continue
        output = node.outputs[0]
        if node.op == "Identity" and node.inputs[0] in leaves:
            leaves.add(output)
            continue
        follows.add(output)
        value = _array(output, sure)
        if value is not None:
            found[node.index] = value
    return found


def _follows(node: Node, view: View, sure: Guarantee, follows: set[str], leaves: set[str]) -> bool:
    """Whether the node's value rests on shapes and constants alone; notes the constants among its operands."""
    if node.domain or node.is_template or len(node.outputs) != 1 or not node.inputs:
        return False
    if not _fits(node.outputs[0], sure):
        return False
    if node.op in SHAPES:
        return not is_computed_half(view, node.inputs[0]) and sure.shape(node.inputs[0]) is not None
    if node.op not in FOLDED:
        return False
    for name in node.inputs:
        if name and name not in follows and name not in leaves:
            if view.constant(name) is None:
                return False
            leaves.add(name)
    return True


def _array(name: str, sure: Guarantee) -> Constant | None:
    """The value in its own type, None where an element is unknown or does not fit the type."""
    value = sure.value(name)
    dtype = DTYPES[sure.dtype(name)]
    if value is None or len(value.items) > SMALL or sure.shape(name) != value.shape:
        return None
    if sure.dtype(name) == "bool":
        bits = [i for i in value.items if isinstance(i, bool)]
        return np.asarray(bits, dtype).reshape(value.shape) if len(bits) == len(value.items) else None
    numbers = value.integers()
    return None if numbers is None else np.asarray(numbers, dtype).reshape(value.shape)


def _fits(name: str, sure: Guarantee) -> bool:
    """Whether the value's type holds what was computed without bounds."""
    value, dtype = sure.value(name), sure.dtype(name)
    if value is None or dtype not in DTYPES:
        return False
    least, most = LIMITS.get(dtype, (0, 1))
    return all(not isinstance(i, int) or least <= i <= most for i in value.items)
