"""Laying the tensors of a step on the axes of a region's space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.view import View
from ascend_fuse.reason import Miss
from ascend_fuse.region.space import Place, Space, mismatch
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait, inserted_axes


def place(space: Space, step: Step, trait: Trait, view: View) -> Miss | None:
    """Lay the step's tensors on the space; on a Miss the space is left half changed (work on a copy)."""
    shapes = {n: view.type_of(n).shape or () for n in (*trait.data, *step.outputs)}
    if trait.view:
        return _place_view(space, step, view)
    shift = 0 if trait.keep else trait.row  # an output without its reduced axes ends `row` axes early
    shifts = dict.fromkeys(shapes, 0) | dict.fromkeys(step.outputs, shift)
    widest = max(((*s, *(1,) * shifts[n]) for n, s in shapes.items()), key=len, default=())
    known = [(space.places[n], shifts[n]) for n in shapes if n in space.places]
    frame = space.frame(known, widest)
    if isinstance(frame, Miss):
        return frame
    if trait.row:
        if frame[len(frame) - trait.row :] != tuple(space.order[len(space.order) - trait.row :]):
            return Miss("crosses-reduction", "the row is not the region's row", figures={"row": trait.row})
        miss = space.set_row(trait.row)
        if miss is not None:
            return miss
    if trait.moves and not space.moves:
        miss = _start_moves(space, view)
        if miss is not None:
            return miss
    miss = _strange(space, shapes, shifts, frame)
    if miss is not None:
        return miss
    for name, shape in shapes.items():
        end = len(frame) - shifts[name]
        miss = space.put(name, frame[end - len(shape) : end], shape)
        if miss is not None:
            return miss
    return _mark_reduced(space, step, trait, view)


def _strange(space: Space, shapes: Mapping[str, Sequence[Dim]], shifts: Mapping[str, int], frame: Place) -> Miss | None:
    """A number where the region has a name or the reverse, unless the step itself sets one against the other.

    Sizes that only meet because they lie on one axis would all but never be equal, and the program never run.
    """
    here: dict[int, dict[Dim, str]] = {}
    for name, shape in shapes.items():
        end = len(frame) - shifts[name]
        for axis, dim in zip(frame[end - len(shape) : end], shape, strict=True):
            here.setdefault(axis, {}).setdefault(dim, name)
    for axis, dims in here.items():
        have = space.dims[axis]
        if have == 1 or have in dims or (space.moves and axis == space.order[-1]):
            continue
        strange = [d for d in dims if d != 1 and isinstance(d, int) != isinstance(have, int)]
        if strange:
            return mismatch(f"{strange[0]} is not known to be {have}", shapes[dims[strange[0]]], space.sizes)
    return None


def _start_moves(space: Space, view: View) -> Miss | None:
    axis = space.order[-1]
    for name, place_ in space.places.items():
        shape = view.type_of(name).shape or ()
        if axis in place_ and not isinstance(shape[place_.index(axis)], int):
            return Miss("shape-unknown", "a row that is sliced or joined needs a known length", figures={"axis": -1})
    space.moves = True
    return None


def _mark_reduced(space: Space, step: Step, trait: Trait, view: View) -> Miss | None:
    """A reduction needs the whole row: a value of row 1 in a wider row would be summed once, not row times."""
    if not trait.reduces:
        return None
    space.reduced = True
    name = trait.data[0]
    shape = view.type_of(name).shape or ()
    for axis, dim in zip(space.places[name], shape, strict=True):
        in_row = axis in space.order[len(space.order) - space.row :]
        if in_row and dim == 1 and space.dims[axis] != 1 and not space.moves:
            return Miss("crosses-reduction", "the reduced value is narrower than the row", figures={"row": "1"})
    return None


def _place_view(space: Space, step: Step, view: View) -> Miss | None:
    shapes = inserted_axes(step.node, view)
    if isinstance(shapes, Miss):
        return shapes
    before, after = shapes
    source, target = step.node.inputs[0], step.outputs[0]
    known = source if source in space.places else target if target in space.places else ""
    if not known:
        frame = space.frame([], before)
        if isinstance(frame, Miss):
            return frame
        space.put(source, frame, before)
        known = source
    pair = (before, after) if known == source else (after, before)
    placed = _insert(space, space.places[known], *pair)
    if isinstance(placed, Miss):
        return placed
    return space.put(target if known == source else source, placed, pair[1])


def _insert(space: Space, have: Place, before: Sequence[Dim], after: Sequence[Dim]) -> Place | Miss:
    """The place of a tensor of shape `after` with the elements of one of shape `before` at `have`."""
    kept = [axis for axis, d in zip(have, before, strict=True) if d != 1]
    spare = [axis for axis, d in zip(have, before, strict=True) if d == 1]
    out: list[int] = []
    for d in after:
        if d != 1:
            out.append(kept.pop(0))
            continue
        low = space.order.index(out[-1]) if out else -1
        high = space.order.index(kept[0]) if kept else len(space.order)
        fits = [a for a in spare if low < space.order.index(a) < high]
        if fits:
            spare.remove(fits[0])
            out.append(fits[0])
            continue
        if space.row and low + 1 > len(space.order) - space.row:
            return Miss("crosses-reduction", "an axis would be added inside the row", figures={"row": space.row})
        out.append(space.insert(low + 1))
    return tuple(out)
