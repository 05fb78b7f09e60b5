"""The nodes of two models side by side: which are new, gone, or changed, and in what."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from ascend_fuse.graph.align import Atom, Side, align
from ascend_fuse.graph.attribute import attribute_texts, tensor_text
from ascend_fuse.graph.change import Change, NodeChange, Nodes, compared
from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.launch import operator_name
from ascend_fuse.graph.path import bodies, function_path
from ascend_fuse.graph.proto import node_label
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.view import subgraphs
from ascend_fuse.graph.weight import constant_content

Graph = GraphProto | FunctionProto
Identities = Mapping[str, Hashable]
ALONE = "alone"  # a value that only one side makes
Bodies = Mapping[str, tuple[str, GraphProto]]  # path and graph by attribute
Given = tuple[str, Graph, Identities]  # path, graph, and what the values are that no node of it makes


@dataclass(frozen=True, slots=True)
class Subject:
    """A model without fused nodes: its types by scope, and what its initializers are to both models.

    `shared`: contents of the other model's initializers; a Constant node may hold the same.
    """

    model: ModelProto
    types: Mapping[str, Inference]
    initializers: Identities
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Scope:
    """One graph of one of them."""

    subject: Subject
    path: str
    graph: Graph
    side: Side
    nested: Mapping[str, list[tuple[str, GraphProto]]]  # paths and graphs by their node's first output

    def type(self, name: str) -> str:
        """The type of a value, "" when it is not known; sizes that inference had to name are `?`."""
        inference = self.subject.types.get(self.path)
        known = None if inference is None else inference.types.get(name)
        if known is None or not known.dtype or known.shape is None:
            return ""
        return f"{known.dtype}[{', '.join('?' if '?' in str(d) else str(d) for d in known.shape)}]"

    def told(self, name: str) -> str:
        """The value as a person finds it: by the node that makes it, else by its name."""
        place = self.side.makers.get(name)
        return name or "none" if place is None else node_label(self.graph.node[place[0]])

    def bodies(self, node: NodeProto) -> dict[str, tuple[str, GraphProto]]:
        """The graphs that a node holds by attribute, each with its path."""
        paths = self.nested.get("".join(node.output[:1]), [])
        inside = list(subgraphs(node))
        if len(paths) != len(inside):  # of an operator that we do not know
            return {name: (f"{self.path}/{node_label(node)}.{name}".lstrip("/"), graph) for name, graph in inside}
        return {name: found for (name, _), found in zip(inside, paths, strict=True)}


def compare_nodes(a: Subject, b: Subject) -> Nodes:
    """Every scope of both models, the main graph first; of functions those that both have."""
    found = _compared(a, b)
    return Nodes(tuple(found.changes), tuple(found.values), found.matched, found.twins)


def paired_nodes(a: Subject, b: Subject) -> list[tuple[NodeProto, NodeProto]]:
    """The nodes that correspond, of every scope."""
    return _compared(a, b).pairs


def _compared(a: Subject, b: Subject) -> _Comparison:
    comparison = _Comparison(a, b)
    comparison.scope(("", a.model.graph, _main(a)), ("", b.model.graph, _main(b)))
    functions = {(f.domain, f.name, f.overload): f for f in b.model.functions}
    for f in a.model.functions:
        other = functions.get((f.domain, f.name, f.overload))
        if other is not None and f.domain != FUSED_DOMAIN:
            path = function_path(f)
            comparison.scope((path, f, _numbered(f.input)), (path, other, _numbered(other.input)))
    return comparison


def _main(subject: Subject) -> Identities:
    inputs: dict[str, Hashable] = {v.name: ("input", v.name) for v in subject.model.graph.input}
    return {**inputs, **subject.initializers}


def _numbered(names: Iterable[str]) -> Identities:
    """Inputs that are bound by position."""
    return {name: ("input", k) for k, name in enumerate(names)}


class _Comparison:
    """What was found so far."""

    def __init__(self, a: Subject, b: Subject) -> None:
        self.a, self.b = a, b
        self.changes: list[NodeChange] = []
        self.values: list[Change] = []
        self.matched = 0
        self.twins: dict[tuple[str, str], str] = {}
        self.pairs: list[tuple[NodeProto, NodeProto]] = []

    def scope(self, of_a: Given, of_b: Given) -> None:
        """Compare two graphs."""
        a, b = _scope(self.a, *of_a), _scope(self.b, *of_b)
        both = _Both(a, b)
        pairs = both.pairs
        self.matched += len(pairs)
        self.pairs += ((a.graph.node[i], b.graph.node[j]) for i, j in pairs.items())
        found = [(i, 0, change) for i in range(len(a.graph.node)) if (change := self._of_a(both, i)) is not None]
        before = -1  # what is new stands behind what it was put behind
        for j, node in enumerate(b.graph.node):
            if j in both.back:
                before = both.back[j]
            else:
                found.append((before, 1, NodeChange(b.path, "added", operator_name(node), "", node_label(node))))
        self.changes += [change for _, _, change in sorted(found, key=lambda f: f[:2])]
        for i, j in pairs.items():
            self._bodies(both, both.a.bodies(a.graph.node[i]), both.b.bodies(b.graph.node[j]))

    def _of_a(self, both: _Both, i: int) -> NodeChange | None:
        """What became of a node of `a`, None when nothing did."""
        node, path = both.a.graph.node[i], both.a.path
        if i not in both.pairs:
            return NodeChange(path, "removed", operator_name(node), node_label(node), "")
        other = both.b.graph.node[both.pairs[i]]
        self.twins.update(((path, x), y) for x, y in zip(node.output, other.output, strict=False) if x and y)
        self.values += _types(both, node, other)
        operands, is_new = _operands(both, node, other)
        own = _own(node, other)
        if not own and not operands:
            return None
        what = "rewired" if is_new and not own else "changed"
        return NodeChange(path, what, operator_name(other), node_label(node), node_label(other), (*own, *operands))

    def _bodies(self, both: _Both, of_a: Bodies, of_b: Bodies) -> None:
        """Compare the graphs that two nodes hold under the same attribute."""
        for name in (n for n in of_a if n in of_b):
            (path_a, graph_a), (path_b, graph_b) = of_a[name], of_b[name]
            inside_a = {**both.known_a, **_numbered(v.name for v in graph_a.input), **_held(graph_a)}
            inside_b = {**both.known_b, **_numbered(v.name for v in graph_b.input), **_held(graph_b)}
            self.scope((path_a, graph_a, inside_a), (path_b, graph_b, inside_b))


def _held(graph: GraphProto) -> Identities:
    """The initializers of an inner graph, by what they hold."""
    return {t.name: tensor_text(t) for t in graph.initializer}


class _Both:
    """Two graphs with their pairs, and what each value is to both."""

    def __init__(self, a: _Scope, b: _Scope) -> None:
        found = align(a.side, b.side)
        self.a, self.b, self.pairs = a, b, found.pairs
        self.back = {j: i for i, j in found.pairs.items()}
        shared = frozenset(found.origins_a) & frozenset(found.origins_b)
        self.known_a = _identities(a.side, {i: i for i in found.pairs}, found.origins_a, shared)
        self.known_b = _identities(b.side, self.back, found.origins_b, shared)


def _identities(
    side: Side, pair: Mapping[int, int], origins: Sequence[int], shared: frozenset[int]
) -> dict[str, Hashable]:
    """What each value is to both graphs: what it is computed from, else which pair makes it."""
    known = dict(side.leaves)
    for name, (i, k) in side.makers.items():
        if origins[i] in shared:
            known[name] = ("computed", origins[i], k)
        else:
            known[name] = ("made", pair[i], k) if i in pair else (ALONE, id(side), name)
    return known


def _scope(subject: Subject, path: str, graph: Graph, leaves: Identities) -> _Scope:
    known = dict(leaves)
    atoms: list[Atom] = []
    for node in graph.node:
        atom = _atom(node)
        if (
            subject.shared and (held := constant_content(node)) in subject.shared
        ):  # elsewhere an initializer: the value is none of a node's making
            known[node.output[0]] = held
            atom = Atom(atom.operator, atom.attributes, (), (), atom.name)
        atoms.append(atom)
    if isinstance(graph, GraphProto):
        main = graph is subject.model.graph
        results = [(v.name, v.name if main else k) for k, v in enumerate(graph.output)]
    else:
        results = [(name, k) for k, name in enumerate(graph.output)]
    weights = frozenset(subject.initializers) if not path else frozenset[str]()
    return _Scope(subject, path, graph, Side(atoms, known, results, weights), bodies(graph, path))


def _atom(node: NodeProto) -> Atom:
    texts = tuple(sorted((a.name, a.type) for a in node.attribute)), tuple(sorted(attribute_texts(node).items()))
    return Atom(operator_name(node), texts, tuple(node.input), tuple(node.output), next(iter(node.output), ""))


def _own(node: NodeProto, other: NodeProto) -> tuple[Change, ...]:
    """What differs in two nodes themselves."""
    a, b = operator_name(node), operator_name(other)
    kind = () if a == b else (Change("operator", "", a, b),)
    return (*kind, *compared("attribute", attribute_texts(node), attribute_texts(other)))


def _operands(both: _Both, node: NodeProto, other: NodeProto) -> tuple[tuple[Change, ...], bool]:
    """Operands that are another value; whether each is so only because of a node that is new or gone."""
    found: list[Change] = []
    is_new = True
    for k in range(max(len(node.input), len(other.input))):
        x = node.input[k] if k < len(node.input) else ""
        y = other.input[k] if k < len(other.input) else ""
        was, now = both.known_a.get(x, x), both.known_b.get(y, y)
        if was != now:
            found.append(Change("operand", str(k), both.a.told(x), both.b.told(y)))
            is_new &= any(isinstance(v, tuple) and v[:1] == (ALONE,) for v in (was, now))
    return tuple(found), is_new


def _types(both: _Both, node: NodeProto, other: NodeProto) -> Iterator[Change]:
    for x, y in zip(node.output, other.output, strict=False):
        was, now = both.a.type(x), both.b.type(y)
        if was and now and was != now:
            yield Change("type", x, was, now)
