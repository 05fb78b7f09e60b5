"""Laying the tensors of a step on the axes of a region's space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_fuse.graph.dim import Dim, divide, product
from ascend_fuse.graph.view import View
from ascend_fuse.reason import Miss
from ascend_fuse.region.movement import shapes_of_view
from ascend_fuse.region.regroup import regroup
from ascend_fuse.region.space import Part, Place, Space, mismatch
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait
from ascend_fuse.region.turn import bring, place_turn

Shape = Sequence[Dim]


def place(space: Space, step: Step, trait: Trait, view: View) -> Miss | None:
    """Lay the step's tensors on the space; on a Miss the space is left half changed (work on a copy)."""
    if trait.view:
        return _place_view(space, step, view)
    if trait.turns:
        return place_turn(space, step, trait, view)
    shapes: dict[str, Shape] = {n: view.type_of(n).shape or () for n in (*trait.data, *step.outputs)}
    shift = 0 if trait.keep else trait.row  # an output without its reduced axes ends `row` axes early
    shifts = dict.fromkeys(shapes, 0) | dict.fromkeys(step.outputs, shift) | dict(trait.shifts)
    if trait.groups:
        miss = _split_channels(space, trait, shapes)
        if miss is not None:
            return miss
    aside = {name: shapes.pop(name) for name in trait.headless}
    parts = [Part(space.places[n], shapes[n], shifts[n]) for n in shapes if n in space.places]
    frame = space.frame(parts, max(((*s, *(1,) * shifts[n]) for n, s in shapes.items()), key=len, default=()))
    if isinstance(frame, Miss):
        return frame
    miss = _start_row(space, trait, frame, shapes) or _start_moves(space, trait, view)
    miss = miss or _strange(space, shapes, shifts, frame) or _put_all(space, shapes, shifts, frame)
    for name, shape in aside.items():
        miss = miss or space.put(name, (frame[0], *frame[2:]), shape)
    return miss or _mark_reduced(space, trait, view)


def _put_all(space: Space, shapes: Mapping[str, Shape], shifts: Mapping[str, int], frame: Place) -> Miss | None:
    for name, shape in shapes.items():
        end = len(frame) - shifts[name]
        miss = space.put(name, frame[end - len(shape) : end], shape)
        if miss is not None:
            return miss
    return None


def _split_channels(space: Space, trait: Trait, shapes: dict[str, Shape]) -> Miss | None:
    """[N, C, …] seen as [N, groups, C / groups · …]: the row begins inside the channels.

    Scale and shift of one value a group (opset 18) are placed here and taken out of `shapes`.
    """
    name, *rest = trait.data
    shape = shapes[name]
    known = [Part(space.places[n], s) for n, s in shapes.items() if n in space.places and len(s) == len(shape)]
    frame = space.frame(known, shape)
    if isinstance(frame, Miss):
        return frame
    miss = space.put(name, frame, shape)
    size = divide(product(shape[1:]), trait.groups)
    if miss is not None or size is None:
        return miss or mismatch(f"{shape[1]} channels are not {trait.groups} groups", shape, space.sizes)
    placed = regroup(space, space.places[name], shape, (shape[0], trait.groups, size))
    if isinstance(placed, Miss):
        return placed
    if trait.per_group:
        for scale in rest:
            miss = miss or space.put(scale, placed[1:2], shapes.pop(scale))
    if space.turned:
        miss = miss or bring(space, placed[2:], (size,))
    return miss or space.set_row(placed[2][0], [a for group in placed for a in group])


def _start_row(space: Space, trait: Trait, frame: Place, shapes: Mapping[str, Shape]) -> Miss | None:
    if not trait.row or trait.groups:
        return None
    if space.turned:
        miss = bring(space, frame[len(frame) - trait.row :], shapes[trait.data[0]][-trait.row :])
        if miss is not None:
            return miss
    if trait.moves and frame[-1] != (space.order[-1],):
        text = "a row that is sliced or joined is the last axis, and an axis of its own"
        return Miss("crosses-reduction", text, figures={"row": space.row})
    return space.set_row(frame[len(frame) - trait.row][0], [a for group in frame for a in group])


def _strange(space: Space, shapes: Mapping[str, Shape], shifts: Mapping[str, int], frame: Place) -> Miss | None:
    """A number where the region has a name or the reverse, unless the step itself sets one against the other.

    Sizes that only meet because they lie on one axis would all but never be equal, and the program never run.
    """
    here: dict[int, dict[Dim, str]] = {}
    for name, shape in shapes.items():
        end = len(frame) - shifts[name]
        for group, dim in zip(frame[end - len(shape) : end], shape, strict=True):
            if len(group) == 1:
                here.setdefault(group[0], {}).setdefault(dim, name)
    for axis, dims in here.items():
        have = space.dims[axis]
        if have == 1 or have in dims or (space.moves and axis == space.order[-1]):
            continue
        strange = [d for d in dims if d != 1 and isinstance(d, int) != isinstance(have, int)]
        if strange:
            return mismatch(f"{strange[0]} is not known to be {have}", shapes[dims[strange[0]]], space.sizes)
    return None


def _start_moves(space: Space, trait: Trait, view: View) -> Miss | None:
    """From now on the last axis has another length in each value; it must be a whole dimension of each."""
    if not trait.moves or space.moves:
        return None
    axis = space.order[-1]
    for name, placed in space.places.items():
        for group, dim in zip(placed, view.type_of(name).shape or (), strict=True):
            if axis not in group or dim == 1:
                continue
            if len(group) > 1:
                text = "a row that is sliced or joined is an axis of its own"
                return mismatch(text, view.type_of(name).shape or (), space.sizes)
            if not isinstance(dim, int):
                text = "a row that is sliced or joined needs a known length"
                return Miss("shape-unknown", text, figures={"axis": -1})
    space.moves = True
    return None


def _mark_reduced(space: Space, trait: Trait, view: View) -> Miss | None:
    """A reduction needs the whole row: a value of row 1 in a wider row would be summed once, not row times."""
    if not trait.reduces:
        return None
    space.reduced = True
    name = trait.data[0]
    own = space.extents(name, view.type_of(name).shape or ())
    if not space.moves and any(space.dims[a] != 1 and own.get(a, 1) == 1 for a in space.row_axes):
        return Miss("crosses-reduction", "the reduced value is narrower than the row", figures={"row": "1"})
    return None


def _place_view(space: Space, step: Step, view: View) -> Miss | None:
    shapes = shapes_of_view(step.node, view)
    if isinstance(shapes, Miss):
        return shapes
    source, target = step.node.inputs[0], step.outputs[0]
    if source not in space.places and target not in space.places:
        frame = space.frame([], shapes[0])
        if isinstance(frame, Miss):
            return frame
        space.put(source, frame, shapes[0])
    known, other, pair = (source, target, shapes) if source in space.places else (target, source, shapes[::-1])
    placed = regroup(space, space.places[known], *pair)
    if isinstance(placed, Miss):
        return placed
    return space.put(other, placed, pair[1])
