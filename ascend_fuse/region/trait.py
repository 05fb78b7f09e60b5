"""What planning must know of a step before it is lowered: which operands carry data, and what it does to the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Miss

SUPPORTED = frozenset(("f16", "bf16", "f32", "i16", "i32", "bool"))


@dataclass(frozen=True, slots=True)
class Trait:
    """`data`: operand names that the kernel reads; `row`: trailing axes that it reduces or moves along, 0 for none.

    `keep`: reduced axes stay as ones. `view`: the same elements on other axes. `literal`: a number, which no kernel
    reads. `shifts`: operands that end so many dimensions before the right end. `groups`: into so many the channels are
    split, for statistics over each group; `per_group`: scale and shift have one value a group. `headless`: operands
    that lack the second dimension. `product`: of matrices. `turns`: a Transpose, dimension k of its result is
    `turns[k]` of its operand. `joins`: a Concat of two tensors along that dimension, which is not the last.
    """

    data: tuple[str, ...]
    row: int = 0
    reduces: bool = False
    moves: bool = False
    keep: bool = True
    view: bool = False
    literal: bool = False
    shifts: tuple[tuple[str, int], ...] = ()
    groups: int = 0
    per_group: bool = False
    headless: tuple[str, ...] = ()
    product: bool = False
    turns: tuple[int, ...] = ()
    joins: int | None = None

    def renamed(self, names: Mapping[str, str]) -> Trait:
        """The trait of a step that is alike but for its names."""
        data, shifts = tuple(names[n] for n in self.data), tuple((names[n], k) for n, k in self.shifts)
        return replace(self, data=data, shifts=shifts, headless=tuple(names[n] for n in self.headless))


TraitRule = Callable[[Node, View], "Trait | Miss"]


def rank_of(view: View, name: str) -> int | None:
    """The number of dimensions, where it is known."""
    shape = view.type_of(name).shape
    return None if shape is None else len(shape)


def operands(node: Node) -> tuple[str, ...]:
    """Each operand once, absent ones left out."""
    return tuple(dict.fromkeys(i for i in node.inputs if i))


def refused(node: Node, attribute: str, message: str) -> Miss:
    """An `attribute-unsupported` of the node."""
    return Miss("attribute-unsupported", message, node.index, {"attribute": attribute})
