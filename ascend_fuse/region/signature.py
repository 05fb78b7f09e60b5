"""What a step's program depends on, without its names: steps with equal signatures share one program.

Traits, places and lowerings of a step may read its nodes' operators and attributes, which names are equal, and of each
name its type, its small constant and its shape value; nothing else. What is not said here must not decide there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from onnx import AttributeProto

from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node, View
from ascend_fuse.region.step import SMALL_HOST, Step

Key = tuple[Hashable, ...]
_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


class Signatures:
    """Numbers for the steps of one view."""

    def __init__(self, view: View, values: Mapping[str, ShapeValue]) -> None:
        self._view = view
        self._values = values
        self._kinds: dict[Key, int] = {}
        self._known: dict[str, int] = {}

    def of(self, step: Step) -> tuple[int, tuple[str, ...]]:
        """The number of the step's kind, and its names in the order of their first appearance."""
        at: dict[str, int] = {}
        parts: list[Hashable] = [step.instruction]
        for node in step.nodes:
            parts += (node.op, node.domain, _attributes(node), _places(node.inputs, at), _places(node.outputs, at))
        if step.instruction:
            parts += (word for word, _ in step.binding)
            parts += (_places([name for _, name in step.binding], at), _places(step.outputs, at))
        parts += map(self._what, at)
        return self._kinds.setdefault(tuple(parts), len(self._kinds)), tuple(at)

    def _what(self, name: str) -> Hashable:
        """What is known of a value."""
        kind = self._view.type_of(name)
        constant = self._view.constant(name)
        value: Hashable = None
        if constant is not None:
            carried = constant.size <= SMALL_HOST or constant.dtype.kind in "iub"
            content = str(constant.tolist()) if constant.dtype.kind == "O" else constant.tobytes()
            value = (constant.dtype.str, constant.shape, content if carried else b"")
        return kind.dtype, kind.shape, value, self._values.get(name)


def _attributes(node: Node) -> Hashable:
    """Their bytes; a graph stays unread, as no vector family holds one."""
    found = node.proto.attribute
    if not found:
        return ()
    return tuple(a.name if a.type in _GRAPHS else a.SerializeToString(deterministic=True) for a in found)


def _places(names: Iterable[str], at: dict[str, int]) -> tuple[int, ...]:
    """The number of each name, -1 for none; a new name takes the next."""
    return tuple(at.setdefault(n, len(at)) if n else -1 for n in names)
