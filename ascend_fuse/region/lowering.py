"""One step being lowered: what the rules of single operators say it with."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_fuse.graph.view import Node
from ascend_fuse.program.program import Attribute
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Builder, Handle
from ascend_fuse.region.step import Step


class Lowering:
    """One step being lowered; `arg(k)` are the node's operands."""

    def __init__(self, builder: Builder, step: Step) -> None:
        self.builder = builder
        self.step = step
        self.node: Node = step.node
        self.dtype = builder.view.type_of(step.outputs[0]).dtype

    def has(self, k: int) -> bool:
        """Whether operand k is given."""
        return k < len(self.node.inputs) and bool(self.node.inputs[k])

    def arg(self, k: int) -> Handle:
        """Operand k."""
        return self.builder.tensor(self.node.inputs[k])

    def lit(self, value: float, like: Handle) -> Handle:
        """A literal of the same type."""
        kind = bool if like.dtype == "bool" else int if like.dtype.startswith(("i", "u")) else float
        return Handle(kind(value), like.dtype)

    def op(self, name: str, *operands: Handle, **attributes: Attribute) -> Handle:
        """One instruction."""
        return self.builder.emit(name, *operands, attributes=attributes)

    def with_literal(self, name: str, x: Handle, value: float) -> Handle:
        """x op value."""
        return self.builder.emit(name, x, self.lit(value, x), dtype=x.dtype)

    def cast(self, x: Handle, dtype: str) -> Handle:
        """x in another type; nothing when it has it."""
        return x if x.dtype == dtype else self.builder.emit("cast", x, dtype=dtype)

    def reduce(self, name: str, x: Handle) -> Handle:
        """A reduction over the row."""
        row = set(self.builder.space.row_axes)
        return self.builder.emit(name, x, dims={a: d for a, d in x.dims.items() if a not in row})

    def row_index(self, x: Handle) -> Handle:
        """The number of each element in its row, from 0, for rows like those of x; a part of the space's row is cut."""
        space, last = self.builder.space, self.builder.last
        index = self.builder.emit("index", dtype="f32", dims={axis: space.dims[axis] for axis in space.row_axes})
        width = x.dims.get(last, 1)
        if space.moves and isinstance(width, int) and width != space.dims[last]:
            return self.cut(index, 0, width)
        return index

    def cut(self, x: Handle, start: int, stop: int) -> Handle:
        """Elements of the last axis."""
        dims = {**x.dims, self.builder.last: stop - start}
        return self.builder.emit("slice", x, dims=dims, attributes={"start": start, "stop": stop})

    def concat(self, parts: Sequence[Handle], total: int) -> Handle:
        """Joined along the last axis, which is `total` then."""
        dims = {a: d for p in parts for a, d in p.dims.items() if d != 1} | {self.builder.last: total}
        return self.builder.emit("concat", *parts, dims=dims)

    def done(self, handle: Handle, k: int = 0) -> None:
        """Output k of the node."""
        self.builder.define(self.node.outputs[k], handle)

    def number(self, name: str, default: float) -> float:
        """A float attribute."""
        value = self.node.attribute(name, default)
        return float(value) if isinstance(value, (int, float)) else default


def unsupported(low: Lowering, attribute: str, value: Attribute) -> Miss:
    """The operator has a form that the table cannot hold."""
    figures = {"attribute": attribute, "value": value}
    return Miss("attribute-unsupported", f"{low.node.op} with {attribute} {value}", low.node.index, figures)
