"""One allocator for the names of values and nodes."""

from __future__ import annotations

from collections import Counter

from onnx import FunctionProto, GraphProto, ModelProto

from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.proto import copied
from ascend_fuse.graph.view import subgraphs


def shared_names(graph: GraphProto) -> tuple[str, ...]:
    """Names that several nodes of the graph, or of one nested in it, have: ONNX Runtime loads no such model."""
    counted = Counter(n.name for n in graph.node if n.name)
    nested = (name for n in graph.node for _, inner in subgraphs(n) for name in shared_names(inner))
    return tuple(dict.fromkeys((*(name for name, count in counted.items() if count > 1), *nested)))


def named_apart(model: ModelProto) -> ModelProto:
    """A copy in which no two nodes have one name; the model itself where none have."""
    if not shared_names(model.graph):
        return model
    copy = copied(model)
    _rename(copy.graph, Names.of(copy))
    return copy


def _rename(graph: GraphProto, names: Names) -> None:
    seen: set[str] = set()
    for node in graph.node:
        if node.name and node.name in seen:
            node.name = names.fresh(node.name)
        seen.add(node.name)
        for _, inner in subgraphs(node):
            _rename(inner, names)


class Names:
    """Names in use anywhere in a model; `fresh` never repeats one."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    @classmethod
    def of(cls, model: ModelProto) -> Names:
        """With every name of the main graph, of nested graphs and of functions."""
        names = cls()
        names.add_graph(model.graph)
        for function in model.functions:
            if function.domain != FUSED_DOMAIN:
                names.add_graph(function)
        return names

    def add_graph(self, graph: GraphProto | FunctionProto) -> None:
        """Take a graph's names."""
        if isinstance(graph, GraphProto):
            self._used.update(v.name for v in graph.input)
            self._used.update(t.name for t in graph.initializer)
        else:
            self._used.update(graph.input)
        for node in graph.node:
            self._used.add(node.name)
            self._used.update(node.input)
            self._used.update(node.output)
            for _, inner in subgraphs(node):
                self.add_graph(inner)

    def fresh(self, stem: str) -> str:
        """`stem`, or `stem_1` … when it is taken; the counter runs on, so many equal stems stay cheap."""
        name = stem
        while name in self._used:
            self._next[stem] = self._next.get(stem, 0) + 1
            name = f"{stem}_{self._next[stem]}"
        self._used.add(name)
        return name
