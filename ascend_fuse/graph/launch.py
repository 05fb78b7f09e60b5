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
from ascend_fuse.graph.function import FUSED_DOMAIN, FunctionKey, Functions
from ascend_fuse.graph.path import bodies, function_path
from ascend_fuse.graph.view import captures, constant_value, subgraphs, tensor_is_small

FREE = frozenset({"Constant", "Identity"})
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
SHAPES = frozenset({"Shape", "Size"})
# RandomNormalLike reads only a shape, yet its values are made on the device.
RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
)


def operator_name(node: NodeProto) -> str:
    """`Add`, or `domain::Op` outside the default domain."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


NOTHING: Counter[str] = Counter()


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
    """Walks graphs and calls; a function is counted once for each set of its inputs that is dynamic.

    `own`: by path of scope, the launches of each node without what its bodies and functions hold.
    """

    def __init__(self, model: ModelProto) -> None:
        self.own: dict[str, list[int]] = {}
        self._local = Functions(model)
        self._functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._bodies: dict[tuple[FunctionKey, frozenset[int]], tuple[Counter[str], frozenset[int]]] = {}
        self._open: set[FunctionKey] = set()
        self._single: dict[str, Counter[str]] = {}

    def graph(self, graph: GraphProto, scope: _Scope, path: str) -> Counter[str]:
        """Launches of the graph by `operator_name`."""
        return _sum(self.each(graph, scope, path))

    def each(self, graph: GraphProto, scope: _Scope, path: str) -> Iterator[Counter[str]]:
        """Launches of each node of the graph, with what its bodies and functions hold."""
        scope.scalars.update((t.name, t) for t in graph.initializer)
        return self._each(graph, {v.name for v in graph.output}, scope, path)

    def _each(
        self, graph: GraphProto | FunctionProto, outputs: set[str], scope: _Scope, path: str
    ) -> Iterator[Counter[str]]:
        listed = list(graph.node)
        read = _masks_read(listed, outputs)
        inside = bodies(graph, path)
        before = self.own.get(path, [0] * len(listed))
        own = self.own[path] = [0] * len(listed)
        for k, node in enumerate(listed):
            key = (node.domain, node.op_type, node.overload)
            if node.op_type == "Constant" and node.output:
                scope.scalars[node.output[0]] = node
                yield NOTHING
            elif key in self._functions and node.domain != FUSED_DOMAIN:
                counts = self._call(key, node, scope)
                own[k] = 0 if self._is_planned(key) else counts.total()
                yield counts
            else:
                counts = self._nested(node, inside, scope)
                name = self._node(node, read, scope, counts is not None)
                own[k] = 1 if name else 0
                yield self._with(counts, name)
            own[k] = max(own[k], before[k])  # another call of the same function may launch it

    def _with(self, held: Counter[str] | None, name: str) -> Counter[str]:
        """What a node holds and itself; nearly all hold nothing, and share one count for each operator."""
        if held:
            return held + Counter([name] if name else [])
        if name and name not in self._single:
            self._single[name] = Counter([name])
        return self._single[name] if name else NOTHING

    def _is_planned(self, key: FunctionKey) -> bool:
        function = self._local.by_key.get(key)
        return function is not None and not self._local.is_foreign(function)

    def _call(self, key: FunctionKey, node: NodeProto, scope: _Scope) -> Counter[str]:
        function = self._functions[key]
        live = frozenset(k for k, name in enumerate(node.input) if name and scope.is_dynamic(name))
        known = self._bodies.get((key, live))
        if known is None:
            if key in self._open:
                raise ModelError("the function calls itself", where=f"function {key[0]}::{key[1]}")
            self._open.add(key)
            inner = _Scope(None, {name for k, name in enumerate(function.input) if k in live})
            counts = _sum(self._each(function, set(function.output), inner, function_path(function)))
            known = counts, frozenset(k for k, o in enumerate(function.output) if inner.is_dynamic(o))
            self._bodies[(key, live)] = known
            self._open.discard(key)
        scope.dynamic.update(o for k, o in enumerate(node.output) if o and k in known[1])
        return known[0]

    def _nested(
        self, node: NodeProto, inside: Mapping[str, list[tuple[str, GraphProto]]], scope: _Scope
    ) -> Counter[str] | None:
        """What the node's bodies launch; None when nothing that they make is dynamic."""
        if not inside:
            return None
        found: Counter[str] = Counter()
        dynamic = False
        for path, inner in inside.get("".join(node.output[:1]), ()):
            # a loop-carried value changes at run time whatever its first value is
            nested = _Scope(scope, {v.name for v in inner.input})
            found.update(self.graph(inner, nested, path))
            dynamic |= any(nested.is_dynamic(v.name) for v in inner.output)
        return found if dynamic or found else None

    def _node(self, node: NodeProto, read: frozenset[str], scope: _Scope, dynamic: bool) -> str:
        """The operator that the node launches, "" for none."""
        dynamic |= node.op_type in RANDOM
        if node.op_type not in SHAPES:
            dynamic |= any(scope.is_dynamic(name) for name in node.input if name)
        if not dynamic:
            return ""
        scope.dynamic.update(o for o in node.output if o)
        return "" if _is_free(node, read, scope) else operator_name(node)


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for c in counts:
        found.update(c)
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


def _counter(model: ModelProto) -> tuple[_Counter, Iterator[Counter[str]]]:
    graph = model.graph
    held = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    counter = _Counter(model)
    return counter, counter.each(graph, _Scope(None, {v.name for v in graph.input if v.name not in held}), "")


def launch_counts(model: ModelProto) -> Mapping[str, int]:
    """Launches of the model by `operator_name`. Raises ModelError on a function that calls itself."""
    return _sum(_counter(model)[1])


def launches_by_node(model: ModelProto) -> tuple[int, ...]:
    """Launches of each node of the main graph, in list order; a node counts what its subgraphs hold."""
    return tuple(c.total() for c in _counter(model)[1])


def launches_by_scope(model: ModelProto) -> Mapping[str, tuple[int, ...]]:
    """Launches of each node of every scope, by path; what a node's bodies hold is counted in their scopes."""
    counter, each = _counter(model)
    for _ in each:
        pass
    return {path: tuple(own) for path, own in counter.own.items()}
