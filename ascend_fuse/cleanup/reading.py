"""Who reads a value once the claimed nodes are gone."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import FunctionProto, GraphProto

from ascend_fuse.graph.view import Node, View, subgraphs


def defined_inside(graph: GraphProto | FunctionProto) -> Iterator[str]:
    """Every name that a graph nested in it, however deep, defines itself."""
    for node in graph.node:
        for _, inner in subgraphs(node):
            yield from (v.name for v in inner.input)
            yield from (t.name for t in inner.initializer)
            yield from (s.values.name for s in inner.sparse_initializer)
            yield from (o for n in inner.node for o in n.output if o)
            yield from defined_inside(inner)


class Reading:
    """Readers of each value of a scope while nodes are claimed.

    `gone`: nodes that are claimed; `replace` claims one and hands its readers to the value that takes the place.
    """

    def __init__(self, view: View) -> None:
        self.gone: set[int] = set()
        self._view = view
        self._kept: dict[str, str] = {}  # output of a claimed node → the value that stays
        self._names: dict[str, list[str]] = {}  # the value that stays → the outputs it stands for
        self._renamed: set[str] = set()
        self._pinned = frozenset(defined_inside(view.graph)) | annotated(view.graph)

    def resolved(self, name: str) -> str:
        """The value that stands for `name` now."""
        return self._kept.get(name, name)

    def replace(self, node: Node, kept: str) -> bool:
        """Claim the node for `kept`; False, and nothing happens, where its output cannot be replaced.

        A nested graph that defines one of the two names would read its own. A graph output keeps its name: the
        value that stays takes it over, once, if a node of this scope makes it.
        """
        output, root = node.outputs[0], self.resolved(kept)
        if not self._pinned.isdisjoint((output, kept, root)):
            return False
        if self._view.is_output(output):
            maker = self._view.producer(root)
            if maker is None or self._view.is_output(root) or root in self._renamed:
                return False
            self._renamed.add(root)
        self._kept[output] = root
        self._names.setdefault(root, []).append(output)
        self.gone.add(node.index)
        return True

    def _all(self, name: str) -> list[str]:
        return [name, *self._names.get(name, ())]

    def readers(self, name: str) -> list[int]:
        """Nodes that are left and read the value, under whichever name."""
        return [r for n in self._all(name) for r in self._view.readers(n) if r not in self.gone]

    def is_output(self, name: str) -> bool:
        """Whether the value is, under whichever name, an output of the scope."""
        return any(self._view.is_output(n) for n in self._all(name))

    def is_read(self, name: str) -> bool:
        """Whether anything needs the value, be it an annotation."""
        return name in self._pinned or self.is_output(name) or bool(self.readers(name))


def annotated(graph: GraphProto | FunctionProto) -> frozenset[str]:
    """Values that a quantisation annotation speaks of by name."""
    if isinstance(graph, FunctionProto):
        return frozenset()
    about = {a.tensor_name for a in graph.quantization_annotation}
    return frozenset(about | {p.value for a in graph.quantization_annotation for p in a.quant_parameter_tensor_names})
