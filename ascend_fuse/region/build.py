"""From steps to a program: lay every tensor on the space's axes, lower each step, print types over symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import View
from ascend_fuse.program.evaluate import fold
from ascend_fuse.program.op import comes_back, table
from ascend_fuse.program.program import (
    LIMIT_INPUTS,
    LIMIT_INSTRUCTIONS,
    LIMIT_OUTPUTS,
    Attribute,
    Extent,
    Input,
    Instr,
    Literal,
    Operand,
    Output,
    Program,
    Shape,
    Type,
    Value,
)
from ascend_fuse.reason import Miss
from ascend_fuse.region.line import apart, input_line, output_line
from ascend_fuse.region.side import Side, side_line
from ascend_fuse.region.space import Space
from ascend_fuse.region.step import embedded


@dataclass(frozen=True, slots=True)
class Handle:
    """A value while lowering: a line of the program or a literal, with the axes it has and its size on each."""

    operand: Operand
    dtype: str
    dims: Mapping[int, Dim] = field(default_factory=dict[int, Dim])


@dataclass(frozen=True, slots=True)
class Built:
    """A program with the tensors of its `in` lines and outputs, and the size of each symbol."""

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: Mapping[str, Dim]


_ONE = Type("f32", (1,))
NOTHING = Built(Program("elementwise", (1,), None, (), (), ()), (), (), {})  # a view: no launch has it as its program
ONE_NUMBER = replace(  # what converting a number costs where it is a launch of its own
    NOTHING,
    program=Program(
        "elementwise", (1,), None, (Input("x0", _ONE),), (Instr("v0", _ONE, "cast", (Value("x0"),)),), (Output("v0"),)
    ),
)


class Builder:
    """Collects the lines of a program; one per region, fed step by step in topological order.

    `external`: the region's inputs, those that lie beside its space (`sides`) in front.
    """

    def __init__(
        self,
        view: View,
        space: Space,
        values: Mapping[str, ShapeValue],
        external: Sequence[str],
        sides: tuple[Side, ...] = (),
    ) -> None:
        self.view = view
        self.space = space
        self.values = values  # what shapes and constants determine of small integer tensors
        self.instrs: list[Instr] = []
        self.sides = sides
        self.product = any(side.word == "left" for side in sides)
        self.handles: dict[str, Handle] = {}
        self.read: list[str] = []
        self.last = space.order[-1] if space.order else -1
        self.symbols = self._number(self._bound_axes(external))

    def _bound_axes(self, external: Sequence[str]) -> set[int]:
        """Axes that are a whole size of some input; others (an Expand's, a product's) stand as numbers in the text."""
        found: set[int] = set()
        for name in external[len(self.sides) :]:
            shape = self.view.type_of(name).shape or ()
            placed = zip(self.space.places.get(name, ()), shape, strict=False)
            found.update(group[0] for group, d in placed if d != 1 and len(group) == 1)
        for side in self.sides:
            found.update(g[0] for g in side.groups if len(g) == 1 and side.dims[g[0]] != 1)
        return found

    def _number(self, bound: set[int]) -> dict[int, Extent]:
        out: dict[int, Extent] = {}
        count = 0
        for axis in (*self.space.order, *self.space.depth, *(j.length for j in self.space.joints.values())):
            dim = self.space.dims[axis]
            if dim == 1:
                out[axis] = 1
            elif self.space.moves and axis == self.last:
                out[axis] = dim if isinstance(dim, int) else 1
            elif isinstance(dim, int) and axis not in bound:
                out[axis] = dim
            else:
                out[axis] = f"d{count}"
                count += 1
        return out

    def extent(self, axis: int, dim: Dim) -> Extent:
        """What the text says of a size on an axis."""
        if dim == 1:
            return 1
        if self.space.moves and axis == self.last:
            return dim if isinstance(dim, int) else 1
        return self.symbols[axis]

    def type(self, dtype: str, dims: Mapping[int, Dim], rank: int | None = None) -> Type:
        """Extents over the last `rank` axes of the space (None: all)."""
        order = self.space.order if rank is None else self.space.order[len(self.space.order) - rank :]
        extents = tuple(self.extent(a, dims.get(a, 1)) for a in order)
        return self.split(dtype, extents)

    def split(self, dtype: str, extents: Shape) -> Type:
        """Rows and columns of right-aligned extents."""
        row = self.space.row
        if not row:
            return Type(dtype, extents)
        cut = max(len(extents) - row, 0)
        return Type(dtype, extents[:cut], extents[cut:])

    def tensor(self, name: str) -> Handle:
        """The handle of a graph value: made by an earlier step, or an input from now on."""
        found = self.handles.get(name)
        if found is not None:
            return found
        constant = embedded(self.view, name)
        if constant is not None and constant.size == 1:
            scalar: Literal = (
                constant.reshape(-1)[0].item() if constant.dtype.kind in "iub" else float(constant.reshape(-1)[0])
            )
            return Handle(scalar, self.view.type_of(name).dtype)
        dims = self.space.extents(name, self.view.type_of(name).shape or ())
        self.read.append(name)
        handle = Handle(Value(f"\0{name}"), self.view.type_of(name).dtype, dims)
        self.handles[name] = handle
        return handle

    def emit(
        self,
        op: str,
        *operands: Handle,
        dtype: str = "",
        dims: Mapping[int, Dim] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Handle:
        """One instruction; its axes are those of the operands unless `dims` says otherwise."""
        if dims is None:
            wide: dict[int, Dim] = {}
            for h in operands:
                for axis, dim in h.dims.items():
                    if wide.get(axis, 1) == 1:
                        wide[axis] = dim
            dims = wide
        row = table()[op]
        kind = dtype or ("bool" if row.result == "bool" else operands[-1].dtype)
        numbers = [h.operand for h in operands if not isinstance(h.operand, Value)]
        if row.kind == "map" and row.result == "same" and op != "where" and len(numbers) == len(operands):
            return Handle(fold(op, numbers, kind), kind)
        name = f"v{len(self.instrs)}"
        line = Instr(name, self.type(kind, dims), op, tuple(h.operand for h in operands), dict(attributes or {}))
        self.instrs.append(line)
        return Handle(Value(name), kind, dims)

    def dtype(self, value: Value) -> str:
        """The dtype of a line or of an input."""
        if value.name.startswith("\0"):
            return self.view.type_of(value.name[1:]).dtype
        return self.instrs[int(value.name[1:])].type.dtype

    def before_widening(self, handle: Handle, dtype: str) -> Handle:
        """What was converted to the value where that lost nothing and it goes back to its dtype, else the value."""
        if not isinstance(handle.operand, Value) or handle.operand.name.startswith("\0"):
            return handle
        line = self.instrs[int(handle.operand.name[1:])]
        if line.op != "cast" or not isinstance(line.operands[0], Value):
            return handle
        exact = self.dtype(line.operands[0]) == dtype and comes_back(dtype, line.type.dtype)
        return Handle(line.operands[0], dtype, handle.dims) if exact else handle

    def define(self, name: str, handle: Handle) -> None:
        """The value of a graph tensor; widened where the operator's result is wider than what was computed."""
        dims = self.space.extents(name, self.view.type_of(name).shape or ())
        if any(d != 1 and handle.dims.get(a, 1) == 1 for a, d in dims.items()):
            handle = self.emit("broadcast", handle, dtype=handle.dtype, dims=dims)
        self.handles[name] = handle


def finish(builder: Builder, external: Sequence[str], wanted: Sequence[str]) -> Built | Miss:
    """The program: `external` are the region's inputs in order, `wanted` the values read outside."""
    space = builder.space
    names = {f"\0{n}": f"x{k}" for k, n in enumerate(external)}
    if len(external) > LIMIT_INPUTS:
        return Miss("limit-inputs", "too many inputs", figures={"count": len(external), "limit": LIMIT_INPUTS})
    if len(builder.instrs) > LIMIT_INSTRUCTIONS:
        figures = {"count": len(builder.instrs), "limit": LIMIT_INSTRUCTIONS}
        return Miss("limit-instructions", "too many instructions", figures=figures)
    if len(wanted) > LIMIT_OUTPUTS:
        return Miss("limit-outputs", "too many outputs", figures={"count": len(wanted), "limit": LIMIT_OUTPUTS})
    mixed = _mixed(builder)
    if mixed is not None:
        return mixed
    count = len(builder.sides)
    lines: list[Input | Miss] = [side_line(builder, side, f"x{k}") for k, side in enumerate(builder.sides)]
    lines += [input_line(builder, n, f"x{k}") for k, n in enumerate(external[count:], count)]
    inputs = tuple(i for i in lines if isinstance(i, Input))
    if len(inputs) < len(lines):
        return next(i for i in lines if isinstance(i, Miss))
    outputs = [output_line(builder, n) for n in apart(builder, wanted)]
    for o in outputs:
        if isinstance(o, Miss):
            return o
    instrs = _read(builder, [o.name for o in outputs if isinstance(o, Output)])
    names |= {line.name: f"v{k}" for k, line in enumerate(instrs)}
    cut = len(space.order) - space.row
    extents = tuple(builder.symbols[a] for a in space.order)
    rows, cols = (extents[:cut] or (1,), extents[cut:]) if space.row else (extents or (1,), None)
    program = Program(
        _family(builder), rows, cols, inputs,
        tuple(_renamed(i, names) for i in instrs),
        tuple(replace(o, name=names.get(o.name, o.name)) for o in outputs if isinstance(o, Output)),
    )  # fmt: skip
    sizes = {s: space.dims[a] for a, s in builder.symbols.items() if isinstance(s, str)}
    return _bound(Built(program, tuple(external), tuple(wanted), sizes))


def _family(builder: Builder) -> str:
    if builder.product:
        return "matmul"
    if builder.space.barred:
        return "transform"
    return "rowwise" if builder.space.row else "elementwise"


def _read(builder: Builder, outputs: Sequence[str]) -> list[Instr]:
    """The lines without conversions that nothing reads any more, since what reads them goes back."""
    read, kept = set(outputs), list[Instr]()
    for line in reversed(builder.instrs):
        if line.op != "cast" or line.name in read:
            read.update(o.name for o in line.operands if isinstance(o, Value))
            kept.append(line)
    return kept[::-1]


def _mixed(builder: Builder) -> Miss | None:
    """A line whose operands differ in type: no operator of the table converts, whatever a model's own types are."""
    made = {line.name: line.type.dtype for line in builder.instrs}
    for line in builder.instrs:
        read = [o.name for o in line.operands[line.op == "where" :] if isinstance(o, Value)]
        found = sorted({made[n] if n in made else builder.view.type_of(n[1:]).dtype for n in read})
        if len(found) > 1 and line.op in table() and table()[line.op].kind == "map":
            return Miss("dtype-unsupported", f"{line.op} of {' and '.join(found)}", figures={"dtype": found[-1]})
    return None


def _renamed(line: Instr, names: Mapping[str, str]) -> Instr:
    operands = tuple(Value(names.get(o.name, o.name)) if isinstance(o, Value) else o for o in line.operands)
    return Instr(names[line.name], line.type, line.op, operands, line.attributes)


def _bound(built: Built) -> Built | Miss:
    """Each symbol must stand in an input's own shape; a size that only an Expand names is written as a number."""
    seen = {e for i in built.program.inputs if not i.host for e in i.bound}
    for symbol, dim in built.sizes.items():
        if symbol not in seen:
            return Miss("shape-unknown", f"no input has the size {dim} by itself", figures={"axis": symbol})
    return built
