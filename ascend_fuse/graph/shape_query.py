"""What a shape rule may ask of its node, and the rule that nearly all share: broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ascend_fuse.graph.dim import Dim, Sym
from ascend_fuse.graph.type import TensorType
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node

Shape = tuple[Dim, ...]
Result = tuple[TensorType, ...] | None
MAX_SIZE = 1 << 62  # of one axis: what is added to it still fits 64 bits


class Unfit(Exception):
    """The node cannot run as it stands: nothing is known of its results, whatever the model declares."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """One node with the types and known values of its inputs; `fresh` makes an unknown size."""

    node: Node
    ins: tuple[TensorType | None, ...]
    values: tuple[ShapeValue | None, ...]
    fresh: Callable[[], Sym]
    opset: int

    def shape(self, k: int) -> Shape | None:
        """Shape of input k; None when absent or unknown."""
        t = self.ins[k] if k < len(self.ins) else None
        return None if t is None else t.shape

    def dtype(self, k: int) -> str:
        """dtype of input k, "" when unknown."""
        t = self.ins[k] if k < len(self.ins) else None
        return "" if t is None else t.dtype

    def integers(self, k: int, attribute: str) -> tuple[int, ...] | None:
        """An operand that older opsets have as an attribute."""
        found = self.node.integers(attribute)
        if found is not None:
            return found
        value = self.values[k] if k < len(self.values) else None
        return None if value is None else value.integers()

    def present(self, k: int) -> bool:
        """Whether input k is given."""
        return k < len(self.ins) and self.ins[k] is not None


def broadcast(shapes: list[Shape], fresh: Callable[[], Sym]) -> Shape:
    """numpy broadcasting; a size that cannot be told is fresh."""
    rank = max(len(s) for s in shapes)
    out: list[Dim] = []
    for axis in range(-rank, 0):
        dims = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        numbers = [d for d in dims if isinstance(d, int)]
        if not dims:
            out.append(1)
        elif len(dims) == 1:
            out.append(dims.pop())
        else:
            out.append(numbers[0] if numbers else fresh())
    return tuple(out)


def axis_of(axis: int, rank: int) -> int:
    """The axis, counted from the front. Raises IndexError for one that a tensor of that rank does not have."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} of {rank}")
    return axis % rank


def applied(rule: Callable[[Shapes], Result], shapes: Shapes) -> Result:
    """What the rule infers. Raises Unfit for operands that the operator cannot take and sizes that no tensor has."""
    try:
        found = rule(shapes)
    except (ArithmeticError, LookupError, TypeError, ValueError) as e:
        raise Unfit(str(e)) from e
    for t in found or ():
        if any(isinstance(d, int) and not 0 <= d < MAX_SIZE for d in t.shape or ()):
            raise Unfit("a size that no tensor has")
    return found
