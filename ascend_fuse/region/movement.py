"""Views, slices, joins and Transposes: what they do to the axes."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.region.trait import Trait, operands, rank_of, refused


def _last_axis(node: Node, view: View, name: str, axis: int) -> Miss | None:
    rank = rank_of(view, name)
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


def joined(node: Node, view: View) -> Trait | Miss:
    """Concat and Split along the last axis; a Concat of two tensors along another."""
    data = operands(node) if node.op == "Concat" else node.inputs[:1]
    axis, rank = node.integer("axis", 0), rank_of(view, node.inputs[0])
    miss = _last_axis(node, view, node.inputs[0], axis)
    if miss is None:
        return Trait(data, 1, moves=True)
    if rank is None or len(data) != 2 or len(node.inputs) != 2 or {rank_of(view, n) for n in data} != {rank}:
        return miss
    scalar = any(value is not None and value.size == 1 for value in map(view.constant, data))
    return miss if scalar else Trait(data, moves=True, joins=axis % rank)


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


def sliced(node: Node, view: View) -> Trait | Miss:
    """A Slice, whose bounds are looked at when it is lowered."""
    return Trait(node.inputs[:1], 1, moves=True)


def shapes_of_view(node: Node, view: View) -> tuple[tuple[Dim, ...], tuple[Dim, ...]] | Miss:
    """Shapes before and after a view."""
    before, after = view.type_of(node.inputs[0]).shape, view.type_of(node.outputs[0]).shape
    if before is None or after is None:
        return Miss("shape-unknown", "the shape of a reshape is not known", node.index)
    return before, after


def viewed(node: Node, view: View) -> Trait | Miss:
    """A view; whether its axes can be cut so, the region's space says."""
    shapes = shapes_of_view(node, view)
    return shapes if isinstance(shapes, Miss) else Trait(node.inputs[:1], view=True)


def turned(node: Node, view: View) -> Trait | Miss:
    """A Transpose; one that leaves the dimensions that are not 1 in their order is a view."""
    shape = view.type_of(node.inputs[0]).shape
    if shape is None:
        return Miss("shape-unknown", "the shape of what is transposed is not known", node.index, {"axis": "all"})
    perm = node.integers("perm") or tuple(reversed(range(len(shape))))
    if sorted(perm) != list(range(len(shape))):
        return refused(node, "perm", f"{', '.join(map(str, perm))} is no order of {len(shape)} axes")
    wide = [k for k in perm if shape[k] != 1]
    result = view.type_of(node.outputs[0]).shape
    if result is None or any((shape[k] == 1) != (dim == 1) for k, dim in zip(perm, result, strict=True)):
        return Miss("shape-unknown", "which axes of the result are 1 is not certain", node.index, {"axis": "all"})
    return Trait(node.inputs[:1], view=True) if wide == sorted(wide) else Trait(node.inputs[:1], turns=perm)


def widened(node: Node, view: View, values: Mapping[str, ShapeValue]) -> Miss | None:
    """Why an Expand cannot be in a program; its wanted shape must be known, as the program holds it."""
    wanted = values.get(node.inputs[1])
    dims = None if wanted is None else wanted.dims()
    have = view.type_of(node.inputs[0]).shape
    if dims is None or have is None:
        return Miss("shape-unknown", "the wanted shape is not known", node.index, {"axis": "all"})
    if node.inputs[0] in view.assumed:  # nothing at run time compares the wanted shape with it
        return Miss("shape-unknown", "the shape of what is widened is not certain", node.index, {"axis": "all"})
    for size, want in zip(reversed(have), reversed(dims), strict=False):
        if size != 1 and want not in (1, size):  # a size that may be 1 or the wanted one: no input would tell
            return Miss("shape-unknown", f"{size} may have to widen to {want}", node.index, {"axis": str(size)})
    return None
