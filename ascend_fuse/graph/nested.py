"""Types through If, Loop, Scan and calls of model-local functions.

A loop-carried value has one type for all rounds: what a first assumption and the body agree on, made more general until
they do. A function's body is inferred for each call that differs, and once for all calls together, to plan it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from onnx import FunctionProto, GraphProto

from ascend_fuse.graph.assumption import Doubt
from ascend_fuse.graph.dim import Dim, Sym
from ascend_fuse.graph.function import FunctionKey, Functions
from ascend_fuse.graph.path import function_path
from ascend_fuse.graph.shape import UNKNOWN, Inference
from ascend_fuse.graph.type import TensorType
from ascend_fuse.graph.view import Node, captures

MAX_DEPTH = 40  # bodies inside one another; beyond, outputs have no type
ROUNDS = 4  # of making loop-carried types more general, before they are given up
LOOP_DEPTH = 3  # beyond, loop-carried values have no type: each loop runs its body several times
Types = tuple[TensorType, ...]


class NestedInference:
    """Infers the outputs of nodes with bodies; `found`: the inference of each scope but the main graph, by path."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.found: dict[str, Inference] = {}
        self._calls: dict[FunctionKey, Types] = {}  # what all calls hand over, joined
        self._results: dict[tuple[FunctionKey, Types], tuple[Types, Doubt, Sym]] = {}
        self._trial = 0  # above 0: only result types are asked for

    def __call__(self, outer: Inference, node: Node) -> Types | None:
        """Types of the node's outputs."""
        if outer.depth >= MAX_DEPTH:
            return None
        if node.domain:
            return self._call(outer, node)
        bodies = outer.bodies.get("".join(node.outputs[:1]), [])
        if node.op == "If":
            return self._if(outer, node, bodies)
        if len(bodies) != 1:
            return None
        return (self._loop if node.op == "Loop" else self._scan)(outer, node, bodies[0])

    def plan_functions(self) -> None:
        """Infer each called function for all of its calls together, callers before what they call."""
        for key in self.functions.callers_first():
            if key in self._calls:
                function = self.functions.by_key[key]
                self.found[function_path(function)] = self._function(function, self._calls[key], None)

    def _body(
        self, outer: Inference, body: tuple[str, GraphProto], types: Sequence[TensorType], doubts: Sequence[Doubt]
    ) -> Inference:
        """A body whose inputs have these types."""
        path, graph = body
        inner = Inference(outer.opset, self, outer, path)
        own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
        inner.inherit(outer, (n for n in captures(graph) if n not in own))
        for v, known, doubt in zip(graph.input, types, doubts, strict=False):
            merged = inner.types[v.name] = inner.merge(known, inner.declared(v, trusted=False))
            inner.mark((v.name,), Doubt.TOLD if merged != known else doubt)
        inner.walk(graph, frozenset(v.name for v in graph.input))
        if not self._trial:
            self.found[path] = inner
        return inner

    def _if(self, outer: Inference, node: Node, bodies: Sequence[tuple[str, GraphProto]]) -> Types | None:
        results: list[Types] = []
        for body in bodies:
            inner = self._body(outer, body, (), ())
            results.append(_results(body[1], inner, outer, node))
        if len(results) != 2 or len(results[0]) != len(results[1]):
            return None
        return tuple(joined(a, b, outer) for a, b in zip(*results, strict=True))

    def _loop(self, outer: Inference, node: Node, body: tuple[str, GraphProto]) -> Types:
        lead = (TensorType("i64", ()), TensorType("bool", ()))
        states = node.inputs[2:]
        results = self._carry(outer, node, body, states, lead, ())[1:]  # the first is the condition
        outer.mark(node.outputs[len(states) :], Doubt.ASSUMED)  # of no round they have sizes of their own
        return results[: len(states)] + tuple(_stacked(t, 0, outer.fresh()) for t in results[len(states) :])

    def _scan(self, outer: Inference, node: Node, body: tuple[str, GraphProto]) -> Types | None:
        count = node.integer("num_scan_inputs", 0)
        if outer.opset < 9 or not 0 < count <= len(node.inputs):
            return None
        states, scanned = node.inputs[: len(node.inputs) - count], node.inputs[len(node.inputs) - count :]
        axes = node.integers("scan_input_axes") or (0,) * count
        slices = tuple(_without(outer.types.get(n, UNKNOWN), a) for n, a in zip(scanned, axes, strict=False))
        results = self._carry(outer, node, body, states, (), slices)
        made = results[len(states) :]
        outer.mark(node.outputs[len(states) :], Doubt.ASSUMED)
        places = node.integers("scan_output_axes") or (0,) * len(made)
        return results[: len(states)] + tuple(_stacked(t, a, outer.fresh()) for t, a in zip(made, places, strict=False))

    def _carry(
        self,
        outer: Inference,
        node: Node,
        body: tuple[str, GraphProto],
        states: Sequence[str],
        before: Types,
        behind: Types,
    ) -> Types:
        """Types of all outputs of a body that hands its states on, in a form that holds for every round."""
        before_all = outer.fresh()
        types = tuple(outer.types.get(n, UNKNOWN) for n in states)
        doubts = [*(Doubt.NONE for _ in before), *(outer.doubt((n,)) for n in states), *(Doubt.ASSUMED for _ in behind)]
        general: set[Dim] = set()
        first = 1 if before else 0  # a Loop's body hands its condition on in front of the states
        if outer.depth > LOOP_DEPTH:
            types = (UNKNOWN,) * len(types)
        for trial in count(1):
            inner = self._body(outer, body, (*before, *types, *behind), doubts)
            results = _results(body[1], inner, outer, node)
            new = tuple(_wider(t, r, general, outer) for t, r in zip(types, results[first:], strict=False))
            if new == types[: len(new)]:
                held = results[:first] + new + results[first + len(new) :]
                return tuple(_renewed((t,), before_all, outer)[0] for t in held)  # a size in a round is none outside
            types = new if trial < ROUNDS else (UNKNOWN,) * len(types)
        raise AssertionError("unknown types cover all")

    def _call(self, outer: Inference, node: Node) -> Types | None:
        key, function = self.functions.called(node.proto)
        if function is None or self.functions.is_foreign(function):
            return None
        types = tuple(outer.types.get(n, UNKNOWN) for n in node.inputs)
        types += (UNKNOWN,) * (len(function.input) - len(types))
        if not self._trial:
            calls = self._calls.get(key, types)
            self._calls[key] = tuple(joined(a, b, outer) for a, b in zip(calls, types, strict=False))
        if (key, types) not in self._results:
            mark = outer.fresh()
            self._trial += 1
            inner = self._function(function, types, outer)
            self._trial -= 1
            doubt = inner.doubt(function.output)
            results = tuple(inner.types.get(o, UNKNOWN) for o in function.output)
            self._results[key, types] = results, doubt, mark
        results, doubt, mark = self._results[key, types]
        results = _renewed(results, mark, outer)  # a size that one call finds is not another's
        outer.mark(node.outputs, max(doubt, outer.doubt(node.inputs)))
        return results

    def _function(self, function: FunctionProto, types: Types, outer: Inference | None) -> Inference:
        inner = Inference(self.functions.opset, self, outer, function_path(function))
        inner.types.update(zip(function.input, types, strict=False))
        inner.mark(function.input, Doubt.ASSUMED)  # one type for calls that differ
        inner.walk(function, frozenset(function.input))
        return inner


def joined(a: TensorType, b: TensorType, inference: Inference) -> TensorType:
    """The type of a value that is one or the other: sizes that differ become a new symbol."""
    dtype = a.dtype if a.dtype == b.dtype else ""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(dtype, None)
    return TensorType(dtype, tuple(x if x == y else inference.fresh() for x, y in zip(a.shape, b.shape, strict=True)))


def _renewed(types: Types, mark: Sym, inference: Inference) -> Types:
    """The types with a new symbol for each size that was first met behind `mark`."""
    known: dict[Dim, Dim] = {}

    def new(d: Dim) -> Dim:
        inside = not isinstance(d, int) and any(
            n.startswith("?") and int(n[1:]) > int(str(mark)[1:]) for n in d.symbols
        )
        return known.setdefault(d, inference.fresh()) if inside else d

    return tuple(TensorType(t.dtype, None if t.shape is None else tuple(map(new, t.shape))) for t in types)


def _wider(assumed: TensorType, result: TensorType, general: set[Dim], inference: Inference) -> TensorType:
    """The assumed type when it covers the result; `general` holds the sizes that stand for any."""
    dtype = assumed.dtype if assumed.dtype == result.dtype else ""
    if assumed.shape is None or result.shape is None or len(assumed.shape) != len(result.shape):
        return TensorType(dtype, None)
    dims: list[Dim] = []
    for have, got in zip(assumed.shape, result.shape, strict=True):
        if have != got and have not in general:
            have = inference.fresh()
            general.add(have)
        dims.append(have)
    return TensorType(dtype, tuple(dims))


def _results(graph: GraphProto, inner: Inference, outer: Inference, node: Node) -> Types:
    """Types of a body's outputs; what rests on hints inside does so outside."""
    names = [v.name for v in graph.output]
    outer.mark(node.outputs, inner.doubt(names))
    return tuple(inner.types.get(n, UNKNOWN) for n in names)


def _without(t: TensorType, axis: int) -> TensorType:
    if t.shape is None or not -len(t.shape) <= axis < len(t.shape):
        return TensorType(t.dtype, None)
    at = axis % len(t.shape)
    return TensorType(t.dtype, t.shape[:at] + t.shape[at + 1 :])


def _stacked(t: TensorType, axis: int, length: Dim) -> TensorType:
    if t.shape is None or not -len(t.shape) - 1 <= axis <= len(t.shape):
        return TensorType(t.dtype, None)
    at = axis % (len(t.shape) + 1)
    return TensorType(t.dtype, (*t.shape[:at], length, *t.shape[at:]))
