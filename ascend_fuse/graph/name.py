"""One allocator for the names of values and nodes."""

from __future__ import annotations

from onnx import FunctionProto, GraphProto, ModelProto

from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.view import subgraphs


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
