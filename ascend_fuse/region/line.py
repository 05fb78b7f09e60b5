"""The `in` and `out` lines of a program, and which value each output is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_fuse.graph.dim import Dim
from ascend_fuse.program.program import Input, Operand, Order, Output, Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.joint import join_of
from ascend_fuse.region.side import order_of, own_shape
from ascend_fuse.region.space import Place

if TYPE_CHECKING:
    from ascend_fuse.region.build import Builder


def apart(builder: Builder, wanted: Sequence[str]) -> Sequence[str]:
    """The outputs, each with an instruction of its own: a view and its source are two tensors outside."""
    seen: set[tuple[Operand, bool]] = set()  # a value may be a tensor of its own and a part of others
    for name in wanted:
        handle, joined = builder.handles[name], name in builder.space.joints
        given = isinstance(handle.operand, Value) and handle.operand.name.startswith("\0")
        if given or (not joined and (handle.operand, joined) in seen):
            how = "copy" if builder.space.barred else "broadcast"
            handle = builder.emit(how, handle, dtype=handle.dtype, dims=handle.dims)
            builder.handles[name] = handle
        seen.add((handle.operand, joined))
    return wanted


def input_line(builder: Builder, name: str, line: str) -> Input | Miss:
    """The line of an input: `host` where no instruction reads it."""
    kind = builder.view.type_of(name)
    if name not in builder.handles or name not in builder.read:
        shape = kind.shape or ()
        static = tuple(d for d in shape if isinstance(d, int))
        if kind.shape is None or len(static) != len(shape) or 0 in static:
            return Miss("shape-unknown", f"the shape of {name} is not known", figures={"axis": "all"})
        value = builder.values.get(name)
        if value is None or None in value.items:  # the text would hold what the caller may choose
            return Miss("shape-unknown", f"the value of {name} is not known", figures={"axis": "all"})
        return Input(line, builder.split(kind.dtype, static), host=True)
    place_ = builder.space.places[name]
    dims = builder.handles[name].dims
    if place_ == tuple((a,) for a in builder.space.order[len(builder.space.order) - len(place_) :]):
        return Input(line, builder.type(kind.dtype, dims, len(place_)))
    order = _order(builder, place_, dims)
    found = Input(line, builder.type(kind.dtype, dims), order=order)
    own = own_shape(builder, place_, dims)
    return found if order and own == found.tensor_shape else replace(found, shape=own)


def output_line(builder: Builder, name: str) -> Output | Miss:
    """The item of an output, which has the full extents of the axes in front of the row."""
    space = builder.space
    handle = builder.handles[name]
    whole = space.order if builder.product or space.barred or not space.row else space.lead
    if any(space.dims[a] != 1 and handle.dims.get(a, 1) == 1 for a in whole):
        return Miss(
            "shape-mismatch",
            f"{name} is narrower than the region",
            figures={"shape": "narrow", "space": "full"},
        )
    assert isinstance(handle.operand, Value)
    place_, joint = space.places[space.part(name)], space.joints.get(name)
    order = _order(builder, place_, handle.dims)
    own = own_shape(builder, place_, handle.dims)
    whole = own_shape(builder, [(space.order[k],) for k in order or range(len(space.order))], handle.dims)
    join = None if joint is None else join_of(joint, builder.sides)
    return Output(handle.operand.name, None if own == whole else own, order, join)


def _order(builder: Builder, place: Place, dims: Mapping[int, Dim]) -> Order:
    """The order of a tensor's memory; without a product axes of size 1 may stand anywhere."""
    if builder.product:
        return order_of(place, builder.space.order)
    wide = tuple(tuple(a for a in group if dims.get(a, 1) != 1) for group in place)
    return order_of(wide, builder.space.order)
