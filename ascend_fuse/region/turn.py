"""Transposes: tensors on the same axes in another order."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.view import View
from ascend_fuse.reason import Miss
from ascend_fuse.region.space import Group, Place, Space
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait


def after(place: Place, perm: Sequence[int]) -> Place:
    """The place of the result of a Transpose."""
    return tuple(place[k] for k in perm)


def before(place: Place, perm: Sequence[int]) -> Place:
    """The place of its operand."""
    found: list[Group] = [()] * len(place)
    for group, k in zip(place, perm, strict=True):
        found[k] = group
    return tuple(found)


def place_turn(space: Space, step: Step, trait: Trait, view: View) -> Miss | None:
    """Lay operand and result of a Transpose on the space, which is empty or has one of them already."""
    source, target = step.node.inputs[0], step.outputs[0]
    space.turned = True
    if not space.places:
        shape = view.type_of(source).shape or ()
        frame = space.frame([], shape)
        miss = frame if isinstance(frame, Miss) else space.put(source, frame, shape)
        if miss is not None:
            return miss
    if source in space.places:
        return space.put(target, after(space.places[source], trait.turns), view.type_of(target).shape or ())
    if target in space.places:
        return space.put(source, before(space.places[target], trait.turns), view.type_of(source).shape or ())
    return Miss("own-kernel", f"{step.node.op} beside no value of the region", step.index, {"op": step.node.op})


def bring(space: Space, row: Place, shape: Sequence[Dim]) -> Miss | None:
    """Make the axes of a step's row the last of a turned space, or see that its row is these; `shape`: their sizes."""
    axes = [a for group in row for a in group]
    if not space.row:
        space.order = [a for a in space.order if a not in axes] + axes
        return None
    wide = [a for group, dim in zip(row, shape, strict=True) for a in group if dim != 1]
    if wide == [a for a in space.row_axes if space.dims[a] != 1]:
        return None
    return Miss("crosses-reduction", "the row is not the region's row", figures={"row": len(axes)})
