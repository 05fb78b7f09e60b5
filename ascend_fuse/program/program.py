"""A program: what one fused node computes, as SSA over an iteration space (docs/design/0001)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LIMIT_INSTRUCTIONS = 64
DRAW = "random_"  # how the operators that draw begin
LIMIT_INPUTS = 16
LIMIT_OUTPUTS = 8

Extent = int | str  # a number, or a symbol "d0"
Shape = tuple[Extent, ...]
OwnShape = tuple[Shape, ...]  # of a tensor: each of its sizes is the product of one or more extents
Order = tuple[int, ...]  # axis p of the memory is axis order[p] of the type; () in the type's own order
Attribute = int | float | str


@dataclass(frozen=True, slots=True)
class Type:
    """`rows` and `cols` are the extents in front of and behind the bar, outermost first."""

    dtype: str
    rows: Shape
    cols: Shape | None = None

    @property
    def extents(self) -> Shape:
        """All extents, the row's last."""
        return self.rows + (self.cols or ())

    @property
    def reduced(self) -> bool:
        """Whether the row is a single value."""
        return self.cols is not None and all(c == 1 for c in self.cols)


@dataclass(frozen=True, slots=True)
class Value:
    """A reference to an earlier line."""

    name: str


Literal = bool | int | float
Operand = Value | bool | int | float


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the node; `shape` is the tensor's own where the type's extents are not; host: no kernel reads it.

    `side`: "left" or "right" of a product, which alone reads it, or the "past" of an output, which nothing reads: they
    lie on no axes of the space. `order`: as its memory has the type's axes.
    """

    name: str
    type: Type
    host: bool = False
    shape: OwnShape | None = None
    side: str = ""
    order: Order = ()

    @property
    def memory(self) -> Shape:
        """The extents in the order of the memory."""
        return ordered(self.type.extents, self.order)

    @property
    def tensor_shape(self) -> OwnShape:
        """The shape of the tensor that the node receives."""
        return tuple((e,) for e in self.memory) if self.shape is None else self.shape

    @property
    def bound(self) -> frozenset[str]:
        """The symbols that stand alone in the tensor's shape, so that its sizes bind them."""
        return frozenset(s[0] for s in self.tensor_shape if len(s) == 1 and isinstance(s[0], str))


@dataclass(frozen=True, slots=True)
class Instr:
    """name: type = op operands {attributes}."""

    name: str
    type: Type
    op: str
    operands: tuple[Operand, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


def literal_dtype(line: Instr, dtypes: Mapping[str, str]) -> str:
    """The dtype of the line's literals: the other operands' (the result's for `where`, whose first is bool)."""
    kinds = [dtypes[o.name] for o in line.operands if isinstance(o, Value)]
    return kinds[-1] if kinds and line.op != "where" else line.type.dtype


@dataclass(frozen=True, slots=True)
class Join:
    """The other part of an output: an input of side "past", along dimension `axis` of both tensors.

    `behind`: the value stands behind it, else in front of it.
    """

    past: str
    axis: int
    behind: bool = True


@dataclass(frozen=True, slots=True)
class Output:
    """One output of the node; `shape` and `order` as for Input, both of the value's own part."""

    name: str
    shape: OwnShape | None = None
    order: Order = ()
    join: Join | None = None


def ordered(extents: Shape, order: Order) -> Shape:
    """The extents as the memory has them."""
    return tuple(extents[k] for k in order) if order else extents


@dataclass(frozen=True, slots=True)
class Program:
    """family over the space [rows | cols]; `cols` is None for elementwise."""

    family: str
    rows: Shape
    cols: Shape | None
    inputs: tuple[Input, ...]
    instrs: tuple[Instr, ...]
    outputs: tuple[Output, ...]

    @property
    def draws(self) -> tuple[Instr, ...]:
        """The lines that draw random numbers."""
        return tuple(line for line in self.instrs if line.op.startswith(DRAW))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols, in the order of their numbers."""
        seen = {e for e in self.rows + (self.cols or ()) if isinstance(e, str)}
        for line in self.inputs:
            seen.update(e for size in (*line.tensor_shape, line.type.extents) for e in size if isinstance(e, str))
        return tuple(sorted(seen, key=lambda s: int(s[1:])))

    def types(self) -> dict[str, Type]:
        """Type of every line."""
        found = {i.name: i.type for i in self.inputs}
        found.update((i.name, i.type) for i in self.instrs)
        return found
