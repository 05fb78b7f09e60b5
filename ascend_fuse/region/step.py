"""Steps: what a region is made of. One node each, or one idiom with all its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from onnx import defs

from ascend_fuse.graph.view import Constant, Node, View

SMALL_HOST = 16  # elements of a constant that a body may carry instead of reading it (axes, bounds, shapes)


class IdiomMatch(Protocol):
    """What the matcher says of an idiom (`rule.match.Match`)."""

    @property
    def nodes(self) -> tuple[int, ...]: ...
    @property
    def inputs(self) -> Mapping[str, str]: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """`nodes` ascending; the last makes `outputs`. `instruction` ("gelu x") and `binding` belong to idioms."""

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    instruction: str = ""
    rule: str = ""
    binding: tuple[tuple[str, str], ...] = ()

    @property
    def node(self) -> Node:
        """The node that makes the outputs."""
        return self.nodes[-1]

    @property
    def index(self) -> int:
        """Position of that node in the graph's list."""
        return self.nodes[-1].index

    @property
    def label(self) -> str:
        """What a person can find."""
        return self.node.label


def single(node: Node) -> Step:
    """A step of one node."""
    names = tuple(dict.fromkeys(i for i in node.inputs if i))
    return Step((node,), names, tuple(o for o in node.outputs if o))


def idiom(view: View, match: IdiomMatch, code: str, instruction: str) -> Step:
    """A step of an idiom's nodes; its inputs are what the pattern's inputs are bound to."""
    nodes = tuple(view.nodes[i] for i in sorted(match.nodes))
    made = {o for n in nodes for o in n.outputs}
    names = tuple(dict.fromkeys(i for n in nodes for i in n.inputs if i and i not in made))
    return Step(nodes, names, match.outputs, instruction, code, tuple(sorted(match.inputs.items())))


def embedded(view: View, name: str) -> Constant | None:
    """The constant that a body carries itself: one element of any type, or a short integer list."""
    value = view.constant(name)
    if value is None:
        return None
    if view.opset < 9 and value.dtype.kind != "f":
        return None  # a Constant node holds floats only
    short_list = value.ndim <= 1 and value.dtype.kind in "iu" and value.size <= SMALL_HOST
    return value if value.size == 1 or short_list else None


@lru_cache(maxsize=1024)
def is_defined(op: str, opset: int) -> bool:
    """Whether the default domain has the operator at that opset; a body with another one would not run."""
    try:
        defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return False
    return True


def order(steps: Sequence[Step]) -> list[Step]:
    """By position: a topological order, as the node list is one."""
    return sorted(steps, key=lambda s: s.index)
