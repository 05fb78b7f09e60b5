"""AF013 and AF014: initializers that nothing reads, operator sets that nothing is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from ascend_fuse.cleanup.reading import annotated
from ascend_fuse.graph.proto import replace
from ascend_fuse.graph.scope import scopes
from ascend_fuse.graph.view import captures, subgraphs
from ascend_fuse.plan import Cleanup
from ascend_fuse.rule.load import Rule, RuleSet

UNUSED_INITIALIZER = "unused-initializer"
UNUSED_IMPORT = "unused-import"
DEFAULT = frozenset({"", "ai.onnx"})


@dataclass(frozen=True, slots=True)
class Unused:
    """An initializer or an imported domain `name`; `path` is the scope's, a function's for its imports."""

    rule: str
    path: str
    name: str
    is_import: bool

    @property
    def cleanup(self) -> Cleanup:
        """As the report lists it."""
        what = "no operator is of this domain" if self.is_import else "nothing reads this initializer"
        return Cleanup(self.path, self.rule, self.name, what)


def find_unused(model: ModelProto, rules: RuleSet) -> tuple[Unused, ...]:
    """What nothing uses in the model as it is now; nothing is edited.

    A model that carries a training algorithm keeps all: its graph reads the same names.
    """
    if model.training_info:
        return ()
    found: list[Unused] = []
    if rule := _builtin(rules, UNUSED_INITIALIZER):
        for scope in scopes(model):
            if isinstance(scope.graph, GraphProto):
                found += (Unused(rule.code, scope.path, n, False) for n in _unread(scope.graph))
    if rule := _builtin(rules, UNUSED_IMPORT):
        found += (Unused(rule.code, path, d, True) for path, d in _idle_imports(model))
    return tuple(found)


def drop_unused(model: ModelProto, unused: Sequence[Unused]) -> None:
    """Take them out of the model (edited in place)."""
    names: dict[str, set[str]] = {}
    domains: dict[str, set[str]] = {}
    for u in unused:
        (domains if u.is_import else names).setdefault(u.path, set()).add(u.name)
    for scope in scopes(model):
        gone = names.get(scope.path)
        if gone and isinstance(scope.graph, GraphProto):
            replace(scope.graph.initializer, [t for t in scope.graph.initializer if t.name not in gone])
            sparse = [s for s in scope.graph.sparse_initializer if s.values.name not in gone]
            replace(scope.graph.sparse_initializer, sparse)
            replace(scope.graph.value_info, [v for v in scope.graph.value_info if v.name not in gone])
    for path, owner in _importers(model).items():
        if gone := domains.get(path):
            replace(owner.opset_import, [o for o in owner.opset_import if o.domain not in gone])


def _builtin(rules: RuleSet, name: str) -> Rule | None:
    return next((r for r in rules.rules if r.builtin == name and r.status != "removed"), None)


def _unread(graph: GraphProto) -> Iterator[str]:
    read = set(captures(graph)) | annotated(graph) | {v.name for v in graph.input}
    for t in graph.initializer:
        if t.name not in read:
            yield t.name
    for s in graph.sparse_initializer:
        if s.values.name not in read:
            yield s.values.name


def _importers(model: ModelProto) -> Mapping[str, ModelProto | FunctionProto]:
    """By path: the model itself and its functions, the bodies of fused nodes left out."""
    functions = {s.path: s.graph for s in scopes(model) if isinstance(s.graph, FunctionProto)}
    return {"": model, **functions}


def _idle_imports(model: ModelProto) -> Iterator[tuple[str, str]]:
    """The model's imports have to cover its functions and what these import."""
    for path, owner in _importers(model).items():
        if isinstance(owner, ModelProto):
            used = _domains(owner.graph.node) | {f.domain for f in owner.functions}
            used |= {d for f in owner.functions for d in _domains(f.node)}
        else:
            used = _domains(owner.node)
        for domain in dict.fromkeys(o.domain for o in owner.opset_import):
            if domain not in used and domain not in DEFAULT:
                yield path, domain


def _domains(nodes: Iterable[NodeProto]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        found.add(node.domain)
        for _, inner in subgraphs(node):
            found |= _domains(inner.node)
    return found
