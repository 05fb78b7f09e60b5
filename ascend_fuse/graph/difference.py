"""How two models differ in structure: operators, interface, opsets, functions, launches, weights."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto

from ascend_fuse.graph.change import Change, compared
from ascend_fuse.graph.contract import contract_changes, optional_inputs
from ascend_fuse.graph.digest import OutputDigests
from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.launch import launch_counts, operator_name
from ascend_fuse.graph.tensor import size_bytes
from ascend_fuse.graph.view import subgraphs
from ascend_fuse.graph.weight import Held, constant_content, contents, type_text


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is of one model; counts cover subgraphs and, once each, function bodies."""

    nodes: int
    launches: int
    functions: int
    initializers: int
    initializer_bytes: int


@dataclass(frozen=True, slots=True)
class Structure:
    """Changes by what they are of; the counts of `operators` are decimal, `computation` names outputs.

    `leaves_a`, `leaves_b`: what each initializer is, by name, the same text where two correspond; `shared_a`,
    `shared_b`: what those of each hold.
    """

    a: Counts
    b: Counts
    operators: tuple[Change, ...]
    interface: tuple[Change, ...]
    opsets: tuple[Change, ...]
    functions: tuple[Change, ...]
    initializers: tuple[Change, ...]
    computation: tuple[Change, ...]
    leaves_a: Mapping[str, str]
    leaves_b: Mapping[str, str]
    shared_a: frozenset[str]
    shared_b: frozenset[str]


def structure(a: Held, b: Held, by_place: bool = False) -> Structure:
    """What differs between two models as they are in their files; `by_place`: external weights are not read.

    Raises ModelError where weights to be read are missing, or a function calls itself.
    """
    text_a, text_b = contents(a, b, by_place)
    given_a, given_b = optional_inputs(a.model), optional_inputs(b.model)
    held_a, held_b = _held(text_a, a.model), _held(text_b, b.model)
    leaves_a = _leaves(text_a, text_b, held_b, {*given_a, *given_b})
    leaves_b = _leaves(text_b, text_a, held_a, {*given_a, *given_b})
    digests_a, digests_b = OutputDigests(a.model, leaves_a), OutputDigests(b.model, leaves_b)
    return Structure(
        a=_counts(a.model),
        b=_counts(b.model),
        operators=compared("operator", _operators(a.model), _operators(b.model)),
        interface=contract_changes(a.model, b.model),
        opsets=compared("opset", _opsets(a.model), _opsets(b.model)),
        functions=compared("function", _functions(a.model, digests_a), _functions(b.model, digests_b)),
        initializers=(*_initializers((text_a, leaves_a), (text_b, leaves_b)),
                      *compared("initializer", _sparse(a.model.graph), _sparse(b.model.graph))),
        computation=_computation(digests_a, digests_b),
        leaves_a=leaves_a,
        leaves_b=leaves_b,
        shared_a=frozenset(text_a.values()),
        shared_b=frozenset(text_b.values()),
    )  # fmt: skip


def _held(texts: Mapping[str, str], model: ModelProto) -> set[str]:
    """The contents of initializers and of Constant nodes."""
    return {*texts.values(), *map(constant_content, model.graph.node)}


def _leaves(own: Mapping[str, str], other: Mapping[str, str], theirs: set[str], given: set[str]) -> dict[str, str]:
    """What each initializer is to both models, as a text that is equal where two correspond.

    One that a caller may give counts by its name. So does one that holds something else in the other model, unless both
    models have both contents: then names were handed out anew, as exporters do that count. All others count by what
    they hold.
    """
    ours = set(own.values())
    found: dict[str, str] = {}
    for name, text in own.items():
        now = other.get(name, "")
        by_name = now not in ("", text) and not (text in theirs and now in ours)
        if name in given or by_name:
            found[name] = f"initializer {name}"
        else:
            found[name] = text if text in theirs else f"another {text.split(']')[0]}]"
    return found


def _initializers(
    a: tuple[Mapping[str, str], Mapping[str, str]], b: tuple[Mapping[str, str], Mapping[str, str]]
) -> tuple[Change, ...]:
    """What differs of texts, each with its leaves: what counts by its content may have another name."""
    left_a = {n: t for n, t in a[0].items() if b[0].get(n) != t}
    left_b = {n: t for n, t in b[0].items() if a[0].get(n) != t}
    renamed = Counter(t for n, t in left_a.items() if a[1][n] == t) & Counter(
        t for n, t in left_b.items() if b[1][n] == t
    )
    return compared("initializer", _without(left_a, a[1], renamed), _without(left_b, b[1], renamed))


def _without(left: Mapping[str, str], leaves: Mapping[str, str], renamed: Counter[str]) -> dict[str, str]:
    spent = Counter(renamed)
    found: dict[str, str] = {}
    for name, text in left.items():
        if leaves[name] == text and spent[text] > 0:
            spent[text] -= 1
        else:
            found[name] = text
    return found


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, inner in subgraphs(node):
            yield from _nodes(inner.node)


def _operators(model: ModelProto) -> dict[str, str]:
    counts = Counter(operator_name(n) for n in _nodes(model.graph.node))
    for f in model.functions:
        # a body belongs to its function; what a fused node holds is listed under the function
        if f.domain != FUSED_DOMAIN:
            counts.update(operator_name(n) for n in _nodes(f.node))
    return {name: str(n) for name, n in sorted(counts.items())}


def _opsets(model: ModelProto) -> dict[str, str]:
    return {o.domain or "ai.onnx": str(o.version) for o in model.opset_import}


def _functions(model: ModelProto, digests: OutputDigests) -> dict[str, str]:
    return {
        f"{f.domain}::{f.name}" + (f":{f.overload}" if f.overload else ""): (
            f"{len(f.node)} nodes, {digests.function((f.domain, f.name, f.overload)).hex()[:12]}"
        )
        for f in model.functions
    }


def _sparse(graph: GraphProto) -> dict[str, str]:
    return {
        t.values.name: f"sparse {type_text(t.values)} sha256 "
        + hashlib.sha256(t.SerializeToString(deterministic=True)).hexdigest()[:16]
        for t in graph.sparse_initializer
    }


def _counts(model: ModelProto) -> Counts:
    dense = model.graph.initializer
    return Counts(
        nodes=sum(1 for _ in _nodes(model.graph.node)),
        launches=sum(launch_counts(model).values()),
        functions=len(model.functions),
        initializers=len(dense) + len(model.graph.sparse_initializer),
        initializer_bytes=sum(max(size_bytes(t), 0) for t in dense),
    )


def _computation(a: OutputDigests, b: OutputDigests) -> tuple[Change, ...]:
    first, second = a.outputs(), b.outputs()
    common = [name for name in first if name in second and first[name] != second[name]]
    return tuple(Change("computation", n, first[n].hex()[:12], second[n].hex()[:12]) for n in common)
