"""The structural proof: the fused model with its bodies expanded is the input graph, node for node.

Independent of the edit and of `inline`: both graphs are numbered value by value (operator, attributes, numbers of the
operands, what its graphs make), fused nodes as the nodes of their function, and the counts of each number must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, numpy_helper

from ascend_fuse.error import InternalError
from ascend_fuse.graph.path import bodies, function_path
from ascend_fuse.graph.view import Constant, captures, constant_value, subgraphs, tensor_is_small
from ascend_fuse.region.step import SMALL_HOST

DOMAIN = "ai.ascendfuse"
NONE = -1  # the number of an operand that is left out
Bodies = Mapping[str, list[tuple[str, GraphProto]]]  # paths and graphs by their node's first output


@dataclass(frozen=True, slots=True)
class Signature:
    """How often each computation occurs, and which one makes each graph output; numbers are those of one `Numbers`."""

    nodes: Counter[int]
    outputs: Mapping[str, int]
    labels: Mapping[int, str]


class Numbers:
    """Gives equal computations the same number, in every signature that is taken with it."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def __call__(self, *key: Hashable) -> int:
        return self._known.setdefault(key, len(self._known))

    def leaf(self, name: str) -> int:
        """A value that counts by its name."""
        return self("leaf", name)

    def constant(self, name: str, value: object) -> int:
        """Constants that a body may carry count by value, others by name."""
        array = np.asarray(value)
        carried = array.size == 1 or (array.ndim <= 1 and array.dtype.kind in "iu" and array.size <= SMALL_HOST)
        if name and not carried:
            return self.leaf(name)
        data = repr(array.tolist()) if array.dtype.kind == "O" else array.tobytes()  # strings are references
        return self("constant", str(array.dtype), array.shape, data)


class Values(dict[str, int]):
    """Value name → number in one graph; what it does not make is looked up in the graph around it."""

    def __init__(self, outer: Values | None = None) -> None:
        self._outer = outer

    def number(self, name: str, numbers: Numbers) -> int:
        """The value's number, that of its name when nothing is known of it."""
        found = self.get(name)
        if found is not None:
            return found
        return numbers.leaf(name) if self._outer is None else self._outer.number(name, numbers)


class StandIn(Protocol):
    """What a cleanup claims of a node (`cleanup.claim.Claim`): another value, a constant, or that nobody reads it."""

    @property
    def node(self) -> int: ...
    @property
    def output(self) -> str: ...
    @property
    def kept(self) -> str: ...
    @property
    def constant(self) -> Constant | None: ...


class _Numbering:
    """Numbers the scopes of one model; `redirected`: Shape node output → the value that it reads since the cleanup.

    `claims`: by path of scope and position of a node, what stands in for its output since the cleanup.
    """

    def __init__(
        self,
        model: ModelProto,
        numbers: Numbers,
        redirected: Mapping[str, str],
        claims: Mapping[str, Mapping[int, StandIn]],
    ) -> None:
        self.bodies = {f.name: f for f in model.functions if f.domain == DOMAIN}
        self.numbers = numbers
        self.redirected = redirected
        self.claims = claims
        self.nodes: Counter[int] = Counter()
        self.labels: dict[int, str] = {}

    def graph(self, graph: GraphProto, outer: Values | None, path: str, kind: str = "") -> Values:
        """The numbers of the graph's values; its inputs count by name in the main graph, by position in others.

        `path` finds the scope's claims; `kind`, the attributes on the way, is part of the numbers.
        """
        values = Values(outer)
        inputs = {v.name for v in graph.input}
        for k, v in enumerate(graph.input):
            values[v.name] = self.numbers("input", kind, k if kind else v.name)
        for t in graph.initializer:
            small = tensor_is_small(t) and t.name not in inputs
            held = numpy_helper.to_array(t) if small else None
            values[t.name] = self.numbers.leaf(t.name) if held is None else self.numbers.constant(t.name, held)
        for s in graph.sparse_initializer:
            values[s.values.name] = self.numbers.leaf(s.values.name)
        self.list(graph, values, path, kind)
        return values

    def function(self, function: FunctionProto, path: str) -> Values:
        """The same for a function's body."""
        values = Values()
        values.update((name, self.numbers("input", path, k)) for k, name in enumerate(function.input))
        self.list(function, values, path, path)
        return values

    def list(self, graph: GraphProto | FunctionProto, values: Values, path: str, kind: str, label: str = "") -> None:
        """Number the nodes in order; `values` maps names to numbers."""
        claims = self.claims.get(path, {})
        inside = bodies(graph, path)
        for k, node in enumerate(graph.node):
            if k in claims:
                self._claimed(claims[k], values)
            elif node.domain == DOMAIN:
                self._call(node, values, path, kind)
            else:
                self._node(node, values, kind, label, inside)

    def _claimed(self, claim: StandIn, values: Values) -> None:
        """The node is gone; readers of its output read what stands in for it."""
        if claim.constant is not None:
            values[claim.output] = self.numbers.constant("", claim.constant)
        elif claim.kept:
            values[claim.output] = values.number(claim.kept, self.numbers)

    def _call(self, node: NodeProto, values: Values, path: str, kind: str) -> None:
        body = self.bodies.get(node.op_type)
        if body is None or (len(body.input), len(body.output)) != (len(node.input), len(node.output)):
            what = f"{node.name} does not fit its body {node.op_type}"
            raise InternalError(what, where="structural proof", do="please report the model; nothing was written")
        inner = Values()
        inner.update((f, values.number(a, self.numbers)) for f, a in zip(body.input, node.input, strict=True))
        self.list(body, inner, path, kind, node.name)
        for f, a in zip(body.output, node.output, strict=True):
            values[a] = inner[f]

    def _node(self, node: NodeProto, values: Values, kind: str, label: str, inside: Bodies) -> None:
        op, domain = node.op_type, node.domain if node.domain != "ai.onnx" else ""
        outputs = node.output
        constant = constant_value(node) if op == "Constant" and not domain else None
        if constant is not None:
            values[outputs[0]] = self.numbers.constant("", constant)
            return
        inputs = list(node.input)
        while inputs and not inputs[-1]:
            inputs.pop()
        if op == "Shape" and not kind and outputs[0] in self.redirected:
            inputs[0] = self.redirected[outputs[0]]
        parts = [values.number(i, self.numbers) if i else NONE for i in inputs]
        number = self.numbers(
            kind, op, domain, node.overload, *parts, *(self._held(node, values, kind, inside) if node.attribute else ())
        )
        self.nodes[number] += 1
        if number not in self.labels:
            self.labels[number] = label or node.name or f"{op}({''.join(outputs[:1])})"
        for k, o in enumerate(outputs):
            if o:
                values[o] = self.numbers(number, k) if k else number

    def _held(self, node: NodeProto, values: Values, kind: str, inside: Bodies) -> Iterator[Hashable]:
        """The node's attributes and what its graphs make; these nodes count too, unknown operators' do not."""
        yield from _attributes(node)
        known = inside.get("".join(node.output[:1]), [])
        for (path, graph), (name, _) in zip(known, subgraphs(node), strict=False):
            inner = self.graph(graph, values, path, f"{kind}/{name}")
            yield name
            yield from (inner.number(v.name, self.numbers) for v in graph.output)
        if not known:
            for name, graph in subgraphs(node):
                yield from (name, graph.SerializeToString(deterministic=True))
                yield from (values.number(c, self.numbers) for c in dict.fromkeys(captures(graph)))


def _attributes(node: NodeProto) -> list[bytes]:
    out: list[bytes] = []
    for a in sorted(node.attribute, key=lambda a: a.name):
        if a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            continue
        bare = AttributeProto()
        bare.CopyFrom(a)
        bare.ClearField("doc_string")
        out.append(bare.SerializeToString(deterministic=True))
    return out


def signature(
    model: ModelProto,
    numbers: Numbers,
    redirected: Mapping[str, str] | None = None,
    claims: Mapping[str, Sequence[StandIn]] | None = None,
) -> Signature:
    """The model's computations as they are to be after the edit; take it of the input before."""
    placed = {path: {c.node: c for c in found} for path, found in (claims or {}).items()}
    numbering = _Numbering(model, numbers, redirected or {}, placed)
    values = numbering.graph(model.graph, None, "")
    outputs = {v.name: values.number(v.name, numbers) for v in model.graph.output}
    for function in model.functions:
        if function.domain != DOMAIN:
            path = function_path(function)
            made = numbering.function(function, path)
            outputs |= {f"{path}: {o}": made.number(o, numbers) for o in function.output}
    return Signature(numbering.nodes, outputs, numbering.labels)


def prove_structure(before: Signature, after: Signature) -> None:
    """Raises InternalError naming what was lost, added or rewired."""
    lost, added = before.nodes - after.nodes, after.nodes - before.nodes
    if lost or added:
        names = [before.labels.get(n, "?") for n in lost] or [after.labels.get(n, "?") for n in added]
        what = f"the bodies do not give the input graph back: {', '.join(sorted(names)[:3])}"
        raise InternalError(what, where="structural proof", do="please report the model; nothing was written")
    for name, number in before.outputs.items():
        if after.outputs.get(name) != number:
            raise InternalError(
                f"output {name} is made otherwise", where="structural proof", do="please report the model"
            )
