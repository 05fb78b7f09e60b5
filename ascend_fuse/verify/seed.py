"""Equal random numbers in two models: each unseeded random node and its twin get the same seed.

Fused nodes share function bodies, so both models are inlined first: each node then is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx
import onnx.inliner
from onnx import NodeProto

from ascend_fuse.verify.fingerprint import digest, fates, node_origins, origins
from ascend_fuse.verify.walk import all_nodes, subgraphs, walk

_RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
DROPOUT_WITH_SEED = 12  # the opset in which Dropout got its training mode and its seed
# Seeds of five of the operators are float32, which holds integers below 2**24 exactly.
_SEEDS = 1 << 20


@dataclass(frozen=True, slots=True)
class SeededPair:
    """Both models inlined, with twins on equal seeds; `findings` are nodes without a twin."""

    a: onnx.ModelProto
    b: onnx.ModelProto
    notes: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Site:
    """A random node and its identity in a model, whatever its name."""

    node: NodeProto
    key: str


def is_random(node: NodeProto) -> bool:
    """Whether the node draws numbers; a Dropout does if it has a training-mode input that is not empty."""
    if node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type == "Dropout":
        return len(node.input) > 2 and bool(node.input[2])
    return node.op_type in _RANDOM


def is_seeded(node: NodeProto) -> bool:
    return any(attribute.name == "seed" for attribute in node.attribute)


def random_nodes(model: onnx.ModelProto) -> tuple[NodeProto, ...]:
    """The random nodes of the graph, its subgraphs and the functions, each body once."""
    return tuple(node for node in all_nodes(model) if is_random(node))


def seed_pair(a: onnx.ModelProto, b: onnx.ModelProto, seed: int) -> SeededPair:
    """Copies of both, inlined, in which the k-th unseeded random node of `a` and its twin share a seed.

    Twins compute from and for the same; where that leaves a choice, the order of the nodes decides.
    """
    a, b = (onnx.inliner.inline_local_functions(model) for model in (a, b))
    sites_a, sites_b = _unseeded(a), _unseeded(b)
    pairs, by_order = _match(sites_a, sites_b)
    for k, (one, other) in enumerate(pairs):
        _set_seed(one.node, 1 + (seed * 7919 + k) % _SEEDS)
        _set_seed(other.node, 1 + (seed * 7919 + k) % _SEEDS)
    notes = [f"{len(pairs)} random nodes without a seed got equal seeds in copies of both models"] if pairs else []
    if by_order:
        notes.append(f"{by_order} of them were paired by their order alone")
    findings: list[str] = []
    if len(sites_a) != len(sites_b):
        findings.append(f"{len(sites_a)} random nodes without a seed against {len(sites_b)}")
    return SeededPair(a, b, tuple(notes), tuple(findings))


def _match(a: list[_Site], b: list[_Site]) -> tuple[list[tuple[_Site, _Site]], int]:
    """Pairs of equal keys, then the rest in order; and how many the rest were."""
    waiting: dict[str, list[_Site]] = {}
    for site in b:
        waiting.setdefault(site.key, []).append(site)
    pairs: list[tuple[_Site, _Site]] = []
    rest_a: list[_Site] = []
    for site in a:
        twins = waiting.get(site.key)
        if twins:
            pairs.append((site, twins.pop(0)))
        else:
            rest_a.append(site)
    rest_b = [site for site in b if any(site is other for other in waiting[site.key])]
    rest = list(zip(rest_a, rest_b, strict=False))
    return pairs + rest, len(rest)


def _unseeded(model: onnx.ModelProto) -> list[_Site]:
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    known = origins(model.graph, {})
    sites = [*_sites(model.graph, known, fates(model.graph, known), "")]
    # Functions that the inliner leaves alone (another opset) are seeded once for all their calls.
    for function in model.functions:
        for k, node in enumerate(walk(function.node)):
            if is_random(node):
                sites.append(_Site(node, digest("function", function.domain, function.name, k)))
    return [
        site
        for site in sites
        if not is_seeded(site.node) and (site.node.op_type != "Dropout" or version >= DROPOUT_WITH_SEED)
    ]


def _sites(graph: onnx.GraphProto, known: Mapping[str, str], fate: Mapping[str, str], path: str) -> Iterator[_Site]:
    """Random nodes that the graph's outputs depend on; those of a subgraph all count."""
    for node in graph.node:
        if is_random(node) and (path or any(name in fate for name in node.output)):
            # A drawn mask and a dropped tensor may both be used: every output tells.
            behind = (fate.get(name, "") for name in node.output)
            yield _Site(node, digest(path, *node_origins(node, known), *behind))
        for k, inner in enumerate(subgraphs(node)):
            # A node that may have no output still has a place, among nodes of its kind.
            inner_path = digest(path, node.op_type, k, *node_origins(node, known))
            yield from _sites(inner, origins(inner, {"": "", **known}), {}, inner_path)


def _set_seed(node: NodeProto, seed: int) -> None:
    value = seed if node.op_type == "Dropout" else float(seed)
    node.attribute.append(onnx.helper.make_attribute("seed", value))
