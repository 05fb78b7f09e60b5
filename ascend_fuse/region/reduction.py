"""Softmax, norms and reductions: over which trailing axes, and where their scales lie."""

from __future__ import annotations

from dataclasses import replace

from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.region.space import mismatch, shown
from ascend_fuse.region.trait import Trait, operands, rank_of, refused

CHANNEL_RANK = 3  # [batch, channels, at least one spatial axis]


def _trailing(node: Node, view: View, axes: tuple[int, ...]) -> int | Miss:
    """How many trailing axes `axes` are, when they are exactly the trailing ones."""
    rank = rank_of(view, node.inputs[0])
    if rank is None:
        return Miss("shape-unknown", f"the rank of {node.inputs[0]} is not known", node.index)
    wanted = sorted(a % rank for a in axes) if rank else []
    if not wanted or wanted != list(range(rank - len(wanted), rank)):
        figures = {"axis": ",".join(map(str, axes)), "rank": rank}
        return Miss("axis-not-trailing", f"{node.op} runs over axis {figures['axis']} of {rank}", node.index, figures)
    return len(wanted)


def softmax(node: Node, view: View) -> Trait | Miss:
    """Softmax and LogSoftmax; before opset 13 they flatten."""
    rank = rank_of(view, node.inputs[0])
    axis = node.integer("axis", -1 if view.opset >= 13 else 1)
    if view.opset < 13 and rank is not None:  # flattens: everything from axis on is one row
        count = _trailing(node, view, tuple(range(axis % max(rank, 1), rank)))
    else:
        count = _trailing(node, view, (axis,))
    return count if isinstance(count, Miss) else Trait(node.inputs[:1], count, reduces=True)


def norm(node: Node, view: View) -> Trait | Miss:
    """LayerNormalization and RMSNormalization: everything from `axis` on is one row."""
    rank = rank_of(view, node.inputs[0])
    if any(node.outputs[1:]):
        return refused(node, "outputs", "the statistics are used as outputs")
    if node.integer("stash_type", 1) != 1:
        return refused(node, "stash_type", "stash_type is not float")
    axis = node.integer("axis", -1)
    axes = (axis,) if rank is None else tuple(range(axis % max(rank, 1), rank))
    count = _trailing(node, view, axes)
    return count if isinstance(count, Miss) else Trait(operands(node), count, reduces=True)


def _per_channel(node: Node, view: View, rank: int) -> Trait | Miss:
    """The values of each channel, where they lie. One for many channels, or many for one, does not run."""
    shape = view.type_of(node.inputs[0]).shape or ()
    names = tuple(dict.fromkeys(node.inputs[1:]))
    for name in names:
        own = view.type_of(name).shape or ()
        if own != shape[1:2] and 1 in (*own, *shape[1:2]):
            return mismatch(f"{shown(shape)} is not known to have the channels of {name}", own, shape)
    return Trait(operands(node), shifts=tuple((name, rank - 2) for name in names))


def instance_norm(node: Node, view: View) -> Trait | Miss:
    """Statistics over all spatial axes; scale and shift lie on the channels."""
    rank = rank_of(view, node.inputs[0])
    if rank is None or rank < CHANNEL_RANK:
        return Miss("shape-unknown", "the spatial axes are not known", node.index, {"axis": "all"})
    found = _per_channel(node, view, rank)
    return found if isinstance(found, Miss) else replace(found, row=rank - 2, reduces=True)


def batch_norm(node: Node, view: View) -> Trait | Miss:
    """In inference form: four values for each channel, and no statistics of its own."""
    rank = rank_of(view, node.inputs[0])
    if rank is None or rank < CHANNEL_RANK - 1:
        return Miss("shape-unknown", "the channels are not known", node.index, {"axis": "all"})
    if node.integer("training_mode", 0) or any(node.outputs[1:]):
        return refused(node, "training_mode", "it takes statistics over the batch")
    if not node.integer("spatial", 1):
        return refused(node, "spatial", "its statistics are of single activations")
    return _per_channel(node, view, rank)


def lp_norm(node: Node, view: View) -> Trait | Miss:
    """LpNormalization of p 1 or 2 over one axis."""
    if node.integer("p", 2) not in (1, 2):
        return refused(node, "p", "p is neither 1 nor 2")
    count = _trailing(node, view, (node.integer("axis", -1),))
    return count if isinstance(count, Miss) else Trait(node.inputs[:1], count, reduces=True)


def global_pool(node: Node, view: View) -> Trait | Miss:
    """Of all spatial axes, which stay as ones: the mean or the greatest."""
    rank = rank_of(view, node.inputs[0])
    if rank is None or rank < CHANNEL_RANK:
        return Miss("shape-unknown", "the spatial axes are not known", node.index, {"axis": "all"})
    return Trait(node.inputs[:1], rank - 2, reduces=True)


def group_norm(node: Node, view: View) -> Trait | Miss:
    """Statistics over the channels of a group and all spatial axes; before opset 21 scales are per group."""
    rank = rank_of(view, node.inputs[0])
    if rank is None or rank < CHANNEL_RANK:
        return Miss("shape-unknown", "the spatial axes are not known", node.index, {"axis": "all"})
    if node.integer("stash_type", 1) != 1:
        return refused(node, "stash_type", "stash_type is not float")
    shifts = tuple((name, rank - 2) for name in node.inputs[1:])
    groups, per_group = node.integer("num_groups", 1), view.opset < 21
    for name in node.inputs[1:]:
        shape = view.type_of(name).shape or ()
        if groups == 1 and per_group and shape != (1,):
            return mismatch(f"{name} is not known to have one value for the one group", shape, (groups,))
    return Trait(operands(node), rank - 2, reduces=True, shifts=shifts, groups=groups, per_group=per_group)


def reduce_axes(node: Node, view: View) -> tuple[int, ...] | Miss:
    """The axes of a Reduce node, an attribute before opset 18 (13 for ReduceSum) and an input since."""
    axes = node.integers("axes")
    if axes is None and node.operand(1):
        value = view.constant(node.operand(1))
        if value is None:
            return refused(node, "axes", "the axes are not constant")
        axes = tuple(int(a) for a in value.reshape(-1))
    if axes:
        return axes
    rank = rank_of(view, node.inputs[0])
    if rank is None or node.integer("noop_with_empty_axes", 0):
        return refused(node, "axes", "the reduction has no axes")
    return tuple(range(rank))


def reduce(node: Node, view: View) -> Trait | Miss:
    """A Reduce node over the trailing axes."""
    axes = reduce_axes(node, view)
    if isinstance(axes, Miss):
        return axes
    count = _trailing(node, view, axes)
    if isinstance(count, Miss):
        return count
    return Trait(node.inputs[:1], count, reduces=True, keep=bool(node.integer("keepdims", 1)))
