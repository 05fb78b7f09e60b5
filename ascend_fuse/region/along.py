"""The common case of `place`: a step all of whose tensors lie on axes that one of them has already."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_fuse.graph.view import View
from ascend_fuse.region.space import Place, Space


def along(space: Space, names: Iterable[str], view: View) -> dict[str, Place] | None:
    """The places that `place` gives the tensors of an elementwise step, where no axis has to be added or widened.

    That is nearly every step of a chain, at a fifth of the time. None: ask `place`.
    """
    shapes = {n: view.type_of(n).shape or () for n in names}
    rank = max(map(len, shapes.values()))
    whole = next((p for n, s in shapes.items() if len(s) == rank and (p := space.places.get(n)) is not None), None)
    if whole is None or any(len(group) > 1 for group in whole):
        return None
    sizes = tuple(space.dims[axis] for (axis,) in whole)
    found: dict[str, Place] = {}
    for name, shape in shapes.items():
        cut = rank - len(shape)
        place = found[name] = whole[cut:] if cut else whole
        if space.places.get(name, place) != place:
            return None
        if shape != sizes and any(d not in (1, size) for d, size in zip(shape, sizes[cut:], strict=True)):
            return None
    return found
