"""Equal random numbers in two models: each unseeded random node and its twin get the same seed.

Fused nodes share function bodies, so both models are inlined first: each node then is one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx
import onnx.inliner
from onnx import NodeProto

from ascend_fuse.graph.attribute import tensor_text
from ascend_fuse.graph.node_difference import Subject, paired_nodes
from ascend_fuse.graph.view import captures, model_opset, subgraphs, tensor_is_small
from ascend_fuse.verify.walk import all_nodes

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

    Twins stand in the same place of both structures (`graph/align`); what has none is paired by its order.
    """
    a, b = _inlined(a), _inlined(b)
    count_a, count_b = len(_unseeded(a)), len(_unseeded(b))
    twins = [pair for pair in paired_nodes(_subject(a), _subject(b)) if _are_twins(pair)]
    for k, pair in enumerate(twins):
        _set_seed(pair, seed, k)
    rest = list(zip(_unseeded(a), _unseeded(b), strict=False))
    for k, pair in enumerate(rest, start=len(twins)):
        _set_seed(pair, seed, k)
    count = len(twins) + len(rest)
    notes = [f"{count} random nodes without a seed got equal seeds in copies of both models"] if count else []
    if rest:
        notes.append(f"{len(rest)} of them were paired by their order alone")
    findings = (f"{count_a} random nodes without a seed against {count_b}",) if count_a != count_b else ()
    return SeededPair(a, b, tuple(notes), findings)


def _inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without calls and without what no output depends on; functions of another opset are seeded once."""
    copy = onnx.inliner.inline_local_functions(model)
    read = {value.name for value in copy.graph.output}
    for k in reversed(range(len(copy.graph.node))):
        node = copy.graph.node[k]
        if read.isdisjoint(node.output):
            del copy.graph.node[k]
            continue
        read.update(name for name in node.input if name)
        read.update(name for _, graph in subgraphs(node) for name in captures(graph))
    return copy


def _subject(model: onnx.ModelProto) -> Subject:
    """The model as its nodes are compared: no type counts, a weight by its name, a small constant by its value."""
    held = {t.name: tensor_text(t) if tensor_is_small(t) else f"weight {t.name}" for t in model.graph.initializer}
    return Subject(model, {}, held)


def _unseeded(model: onnx.ModelProto) -> list[NodeProto]:
    version = model_opset(model)
    found = (node for node in random_nodes(model) if not is_seeded(node))
    return [node for node in found if node.op_type != "Dropout" or version >= DROPOUT_WITH_SEED]


def _are_twins(pair: tuple[NodeProto, NodeProto]) -> bool:
    """Whether both draw, and nobody has said what."""
    one, other = pair
    return one.op_type == other.op_type and all(is_random(n) and not is_seeded(n) for n in pair)


def _set_seed(pair: tuple[NodeProto, NodeProto], seed: int, k: int) -> None:
    number = 1 + (seed * 7919 + k) % _SEEDS
    for node in pair:
        value = number if node.op_type == "Dropout" else float(number)
        node.attribute.append(onnx.helper.make_attribute("seed", value))
