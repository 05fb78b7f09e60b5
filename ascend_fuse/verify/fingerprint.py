"""Names-free identities of values: what a value is computed from, and what is computed from it.

Two models that compute the same in another order, with other names, give equal fingerprints.  Identity nodes
do not count; a small constant counts by its value, be it an initializer or a Constant node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, numpy_helper

from ascend_fuse.verify.walk import subgraphs

SMALL_BYTES = 1024  # larger weights count by name
_HIDDEN = frozenset(("seed",))  # attributes that do not make two nodes different


def digest(*parts: object) -> str:
    return hashlib.sha1("\0".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()


def origins(graph: onnx.GraphProto, outer: Mapping[str, str]) -> dict[str, str]:
    """By value name, a digest of the expression that computes it; `outer` holds the captured ones."""
    known = dict(outer)
    for position, value in enumerate(graph.input):
        # Inputs of the model are known by name, those of a subgraph by position.
        known[value.name] = digest("input", position if outer else value.name)
    for tensor in graph.initializer:
        known[tensor.name] = _constant(tensor)
    for node in graph.node:
        for name, origin in zip(node.output, node_origins(node, known), strict=True):
            known[name] = origin
    return known


def node_origins(node: NodeProto, known: Mapping[str, str]) -> list[str]:
    """A digest for each output of `node`, given those of its inputs."""
    inputs = [known.get(name, "") for name in node.input]
    if node.op_type == "Identity" and node.domain == "":
        return inputs
    if node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].name == "value":
        return [_constant(node.attribute[0].t)]
    attributes = [_attribute(attribute) for attribute in sorted(node.attribute, key=lambda a: a.name)]
    bodies = [_body(graph, known) for graph in subgraphs(node)]
    whole = digest(node.domain, node.op_type, *inputs, "|", *attributes, "|", *bodies)
    return [digest(whole, k) for k in range(len(node.output))]


def fates(graph: onnx.GraphProto, known: Mapping[str, str]) -> dict[str, str]:
    """By value name, a digest of all that reads it, as far as the graph's outputs; absent if nothing."""
    uses: dict[str, list[str]] = {}
    for value in graph.output:
        uses.setdefault(value.name, []).append(digest("output", value.name))
    found: dict[str, str] = {}
    for node in reversed(graph.node):
        for name in node.output:
            if name in uses:
                found[name] = _fate(uses[name])
        behind = [found[name] for name in node.output if name in found]
        if not behind and not any(True for _ in subgraphs(node)):
            continue
        inside = {name for graph in subgraphs(node) for name in _captured(graph)}
        for position, name in enumerate(node.input):
            others = [known.get(other, "") for other in node.input if other != name]
            through = behind if node.op_type == "Identity" else [digest(node.op_type, position, *others, *behind)]
            uses.setdefault(name, []).extend(through)
        for name in sorted(inside):
            uses.setdefault(name, []).append(digest("capture", node.op_type, *behind))
    return found


def _fate(uses: list[str]) -> str:
    return uses[0] if len(uses) == 1 else digest("uses", *sorted(uses))


def _captured(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from node.input
        for inner in subgraphs(node):
            yield from _captured(inner)
    for value in graph.output:
        yield value.name


def _body(graph: onnx.GraphProto, outer: Mapping[str, str]) -> str:
    known = origins(graph, {"": "", **outer})
    return digest("body", *(known.get(value.name, "") for value in graph.output))


def _constant(tensor: TensorProto) -> str:
    external = tensor.data_location == TensorProto.EXTERNAL
    if external or tensor.ByteSize() > SMALL_BYTES + len(tensor.name):
        return digest("weight", tensor.name, tuple(tensor.dims))
    dims, elem_type = tuple(tensor.dims), tensor.data_type
    return digest("constant", elem_type, dims, numpy_helper.to_array(tensor).tobytes().hex())


def _attribute(attribute: AttributeProto) -> str:
    if attribute.name in _HIDDEN or attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        return ""
    bare = AttributeProto()
    bare.CopyFrom(attribute)
    bare.doc_string = ""
    return bare.SerializeToString(deterministic=True).hex()
