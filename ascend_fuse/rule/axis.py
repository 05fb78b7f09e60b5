"""Axes and slice bounds as the operators write them, by opset: an attribute or a constant operand."""

from __future__ import annotations

from ascend_fuse.graph.view import Node, View

# Operators that work along the axes which `axes_of` reads, besides the reductions.
FLATTENING = frozenset(("Softmax", "LogSoftmax", "Hardmax"))  # before opset 13
AXED = FLATTENING | {"LayerNormalization", "LpNormalization", "Concat", "Split"}
_END = 1 << 62  # exporters write INT64_MAX or INT32_MAX for "to the end"


def _operand(node: Node, position: int, view: View) -> tuple[int, ...] | None:
    """Integers of a constant operand; () when it is omitted, None when it is no constant."""
    name = node.inputs[position] if position < len(node.inputs) else ""
    if not name:
        return ()
    value = view.constant(name)
    return None if value is None else tuple(int(v) for v in value.reshape(-1))


def axes_of(node: Node, view: View) -> tuple[int, ...] | None:
    """The axes along which a reduction, softmax, normalisation, split or concat works, as written.

    All axes of a reduction without `axes` are its rank's, `(-rank, … -1)`; a softmax before opset 13 flattens
    from its axis on. None when they are not constant; () when the node reduces nothing.
    """
    shape = view.type_of(node.inputs[0]).shape
    if node.op.startswith("Reduce"):
        axes = node.integers("axes") or _operand(node, 1, view)
        if axes != ():
            return axes
        rank = len(shape) if shape is not None else 1
        return () if node.integer("noop_with_empty_axes", 0) else tuple(range(-rank, 0))
    if node.op in FLATTENING and view.opset < 13:
        first = node.integer("axis", 1)
        if shape is None:
            return (first,)
        return tuple(range(first if first >= 0 else first + len(shape), len(shape)))
    if node.op == "LayerNormalization":
        first = node.integer("axis", -1)
        return tuple(range(first, 0 if shape is None or first < 0 else len(shape)))
    if node.op not in AXED:
        return ()
    return (node.integer("axis", 0 if node.op == "Split" else -1),)


def trailing(axes: tuple[int, ...], rank: int | None) -> bool | None:
    """Whether the axes are the last ones, each once; None when that depends on a rank that is not known."""
    if not axes:
        return False
    if rank is None and any(a >= 0 for a in axes):
        return None
    counted = sorted(a if a < 0 or rank is None else a - rank for a in axes)
    return counted == list(range(-len(counted), 0))


def interval(name: str, view: View) -> tuple[int, int] | None:
    """Which part [first, end) of its source's last axis a Slice or Split gives; None when unknown."""
    node = view.producer(name)
    shape = view.type_of(node.inputs[0]).shape if node else None
    if node is None or not shape or not isinstance(shape[-1], int):
        return None
    size = view.type_of(name).shape
    extent = size[-1] if size and isinstance(size[-1], int) else None
    if node.op == "Split":
        return _split(node, name, view, len(shape), shape[-1])
    return _slice(node, view, shape[-1], len(shape), extent) if node.op == "Slice" else None


def _split(node: Node, name: str, view: View, rank: int, total: int) -> tuple[int, int] | None:
    sizes = node.integers("split") or _operand(node, 1, view)
    if node.integer("axis", 0) not in (-1, rank - 1) or sizes is None:
        return None
    count = len(node.outputs)
    if not sizes and total % count:
        return None
    sizes = sizes or (total // count,) * count
    at = node.outputs.index(name)
    return (sum(sizes[:at]), sum(sizes[: at + 1])) if at < len(sizes) else None


def _slice(node: Node, view: View, total: int, rank: int, extent: int | None) -> tuple[int, int] | None:
    """Bounds that a graph computes are taken from the other bound and the result's size."""
    axes, steps = _operand(node, 3, view), _operand(node, 4, view)
    last = axes in ((-1,), (rank - 1,)) or (axes == () and rank == 1)
    if not last or steps not in ((), (1,)):
        return None
    first, end = (_bound(_operand(node, k, view), total) for k in (1, 2))
    if first is None and end is not None and extent is not None:
        first = end - extent
    if end is None and first is not None and extent is not None:
        end = first + extent
    return None if first is None or end is None else (first, end)


def _bound(written: tuple[int, ...] | None, total: int) -> int | None:
    if written is None or len(written) != 1:
        return None
    at = min(written[0], _END)
    return max(0, min(at + total if at < 0 else at, total))
