"""Which nodes start a kernel on a device.

Not: Constant, Identity, a Dropout in inference mode whose mask nobody reads; views (Reshape, Squeeze,
Unsqueeze, Flatten); values that follow from shapes and constants alone. A node in a subgraph counts once. A
call of a fused node counts once, a call of another function as its body does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ascend_fuse.error import ModelError
from ascend_fuse.graph.view import captures, constant_value, subgraphs, tensor_is_small

FUSED_DOMAIN = "ai.ascendfuse"
FREE = frozenset({"Constant", "Identity"})
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
SHAPES = frozenset({"Shape", "Size"})
# RandomNormalLike reads only a shape, yet its values are made on the device.
RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
)

FunctionKey = tuple[str, str, str]


def operator_name(node: NodeProto) -> str:
    """`Add`, or `domain::Op` outside the default domain."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


@dataclass(slots=True)
class _Scope:
    """Names of one graph that depend on run-time values, and its scalars; `outer` is the graph around it."""

    outer: _Scope | None
    dynamic: set[str] = field(default_factory=set[str])
    scalars: dict[str, TensorProto | NodeProto] = field(default_factory=dict[str, TensorProto | NodeProto])

    def is_dynamic(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.dynamic:
                return True
            scope = scope.outer
        return False

    def is_false(self, name: str) -> bool:
        """Whether the value is a constant False."""
        scope: _Scope | None = self
        while scope is not None:
            held = scope.scalars.get(name)
            if held is not None:
                small = isinstance(held, NodeProto) or tensor_is_small(held)
                value = constant_value(held) if isinstance(held, NodeProto) else None
                if isinstance(held, TensorProto) and small:
                    value = numpy_helper.to_array(held)
                return value is not None and value.size == 1 and not bool(value.item())
            scope = scope.outer
        return False


class _Counter:
    """Walks graphs and calls; a function is counted once for each set of its inputs that is dynamic."""

    def __init__(self, functions: Iterable[FunctionProto]) -> None:
        self._functions = {(f.domain, f.name, f.overload): f for f in functions}
        self._bodies: dict[tuple[FunctionKey, frozenset[int]], tuple[Counter[str], frozenset[int]]] = {}
        self._open: set[FunctionKey] = set()

    def graph(self, graph: GraphProto, scope: _Scope) -> Counter[str]:
        scope.scalars.update((t.name, t) for t in graph.initializer)
        return self._nodes(graph.node, {v.name for v in graph.output}, scope)

    def each(self, graph: GraphProto, scope: _Scope) -> tuple[int, ...]:
        """Launches of each node of the graph."""
        scope.scalars.update((t.name, t) for t in graph.initializer)
        return tuple(c.total() for c in self._each(graph.node, {v.name for v in graph.output}, scope))

    def _nodes(self, nodes: Iterable[NodeProto], outputs: set[str], scope: _Scope) -> Counter[str]:
        found: Counter[str] = Counter()
        for counts in self._each(nodes, outputs, scope):
            found.update(counts)
        return found

    def _each(self, nodes: Iterable[NodeProto], outputs: set[str], scope: _Scope) -> Iterator[Counter[str]]:
        listed = list(nodes)
        read = _masks_read(listed, outputs)
        for node in listed:
            key = (node.domain, node.op_type, node.overload)
            if node.op_type == "Constant" and node.output:
                scope.scalars[node.output[0]] = node
                yield Counter()
            elif key in self._functions and node.domain != FUSED_DOMAIN:
                yield self._call(key, node, scope)
            else:
                yield self._node(node, read, scope)

    def _call(self, key: FunctionKey, node: NodeProto, scope: _Scope) -> Counter[str]:
        function = self._functions[key]
        live = frozenset(k for k, name in enumerate(node.input) if name and scope.is_dynamic(name))
        known = self._bodies.get((key, live))
        if known is None:
            if key in self._open:
                raise ModelError("the function calls itself", where=f"function {key[0]}::{key[1]}")
            self._open.add(key)
            inner = _Scope(None, {name for k, name in enumerate(function.input) if k in live})
            counts = self._nodes(function.node, set(function.output), inner)
            known = counts, frozenset(k for k, o in enumerate(function.output) if inner.is_dynamic(o))
            self._bodies[(key, live)] = known
            self._open.discard(key)
        scope.dynamic.update(o for k, o in enumerate(node.output) if o and k in known[1])
        return known[0]

    def _node(self, node: NodeProto, read: frozenset[str], scope: _Scope) -> Counter[str]:
        found: Counter[str] = Counter()
        dynamic = node.op_type in RANDOM
        for _, inner in subgraphs(node):
            # a loop-carried value changes at run time whatever its first value is
            nested = _Scope(scope, {v.name for v in inner.input})
            found.update(self.graph(inner, nested))
            dynamic |= any(nested.is_dynamic(v.name) for v in inner.output)
        if node.op_type not in SHAPES:
            dynamic |= any(scope.is_dynamic(name) for name in node.input if name)
        if not dynamic:
            return found
        scope.dynamic.update(o for o in node.output if o)
        if not _is_free(node, read, scope):
            found[operator_name(node)] += 1
        return found


def _masks_read(nodes: list[NodeProto], outputs: set[str]) -> frozenset[str]:
    """Mask outputs of Dropouts that somebody reads."""
    masks = {n.output[1] for n in nodes if n.op_type == "Dropout" and len(n.output) > 1 and n.output[1]}
    if not masks:
        return frozenset()
    return frozenset(masks.intersection(_read(nodes)) | (masks & outputs))


def _read(nodes: list[NodeProto]) -> Iterator[str]:
    for n in nodes:
        yield from n.input
        for _, inner in subgraphs(n):
            yield from captures(inner)


def _is_free(node: NodeProto, read: frozenset[str], scope: _Scope) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type == "Dropout":
        training = node.input[2] if len(node.input) > 2 else ""
        mask_is_read = len(node.output) > 1 and node.output[1] in read
        return not mask_is_read and (not training or scope.is_false(training))
    return node.op_type in FREE or node.op_type in VIEWS


def launch_counts(model: ModelProto) -> Mapping[str, int]:
    """Launches of the model by `operator_name`. Raises ModelError on a function that calls itself."""
    graph = model.graph
    held = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    scope = _Scope(None, {v.name for v in graph.input if v.name not in held})
    return _Counter(model.functions).graph(graph, scope)


def launches_by_node(model: ModelProto) -> tuple[int, ...]:
    """Launches of each node of the main graph, in list order; a node counts what its subgraphs hold."""
    graph = model.graph
    held = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    scope = _Scope(None, {v.name for v in graph.input if v.name not in held})
    return _Counter(model.functions).each(graph, scope)
