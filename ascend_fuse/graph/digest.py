"""What each output of a model computes, as a digest that ignores value names, node names and node order."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Iterable, Mapping

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from ascend_fuse.graph.view import subgraphs

Digest = bytes
FunctionKey = tuple[str, str, str]


def _hash(*parts: bytes) -> Digest:
    h = hashlib.sha256()
    for part in parts:
        h.update(len(part).to_bytes(8, "little"))
        h.update(part)
    return h.digest()


def _attribute(attribute: AttributeProto) -> bytes:
    bare = AttributeProto()
    bare.CopyFrom(attribute)
    bare.ClearField("doc_string")
    if bare.HasField("t"):
        bare.t.ClearField("name")
        bare.t.ClearField("doc_string")
    return bare.SerializeToString(deterministic=True)


class OutputDigests:
    """Digests over one model; a function's body is part of each of its calls.

    `initializers`: what those of the main graph are, where that is not their names.
    """

    def __init__(self, model: ModelProto, initializers: Mapping[str, str] | None = None) -> None:
        self._model = model
        self._initializers = initializers or {}
        self._functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._bodies: dict[FunctionKey, Digest] = {}

    def outputs(self) -> Mapping[str, Digest]:
        """Output name → digest of the computation; inputs count by name."""
        return self._graph(self._model.graph, ChainMap())

    def _graph(self, graph: GraphProto, outer: ChainMap[str, Digest]) -> Mapping[str, Digest]:
        named = [t.name for t in graph.initializer]
        named += [t.values.name for t in graph.sparse_initializer]
        told = self._initializers if graph is self._model.graph else {}
        known = {name: _hash(b"initializer", told.get(name, name).encode()) for name in named}
        for position, v in enumerate(graph.input):
            # the inputs of a subgraph are bound by position, those of the model by name
            label = v.name if graph is self._model.graph else f"#{position}"
            known.setdefault(v.name, _hash(b"input", label.encode()))
        self._nodes(graph.node, known, outer)
        return {v.name: known.get(v.name, outer.get(v.name, b"")) for v in graph.output}

    def _nodes(self, nodes: Iterable[NodeProto], known: dict[str, Digest], outer: ChainMap[str, Digest]) -> None:
        for node in nodes:
            digest = self._node(node, known, outer)
            for position, name in enumerate(node.output):
                if name:
                    known[name] = _hash(digest, position.to_bytes(4, "little"))

    def _node(self, node: NodeProto, known: dict[str, Digest], outer: ChainMap[str, Digest]) -> Digest:
        domain = "" if node.domain == "ai.onnx" else node.domain
        parts = [domain.encode(), node.op_type.encode(), node.overload.encode()]
        parts += [known.get(name, outer.get(name, b"")) if name else b"-" for name in node.input]
        plain = [a for a in node.attribute if a.type not in (AttributeProto.GRAPH, AttributeProto.GRAPHS)]
        parts += sorted(_attribute(a) for a in plain)
        nested = list(subgraphs(node))
        if nested:
            scope = outer.new_child(known)
            for name, graph in sorted(nested, key=lambda pair: pair[0]):
                digests = self._graph(graph, scope)
                parts += [name.encode(), *(digests[v.name] for v in graph.output)]
        key = (node.domain, node.op_type, node.overload)
        if key in self._functions:
            parts.append(self.function(key))
        return _hash(*parts)

    def function(self, key: FunctionKey) -> Digest:
        """The digest of a function's body."""
        if key not in self._bodies:
            self._bodies[key] = b"recursive"
            self._bodies[key] = self._function(self._functions[key])
        return self._bodies[key]

    def _function(self, function: FunctionProto) -> Digest:
        known = {name: _hash(b"input", str(k).encode()) for k, name in enumerate(function.input)}
        self._nodes(function.node, known, ChainMap())
        imports = sorted(f"{'' if o.domain == 'ai.onnx' else o.domain}:{o.version}" for o in function.opset_import)
        return _hash("\n".join(imports).encode(), *(known.get(o, b"") for o in function.output))
