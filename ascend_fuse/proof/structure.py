"""The structural proof: the fused model with its bodies expanded is the input graph, node for node.

Independent of the edit and of `inline`: both graphs are numbered value by value (operator, attributes, numbers of the
operands), fused nodes as the nodes of their function, and the counts of each number must agree.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onnx import AttributeProto, ModelProto, NodeProto, numpy_helper

from ascend_fuse.error import InternalError
from ascend_fuse.graph.view import captures, constant_value, subgraphs, tensor_is_small
from ascend_fuse.region.step import SMALL_HOST

DOMAIN = "ai.ascendfuse"


@dataclass(frozen=True, slots=True)
class Signature:
    """How often each computation occurs, and which one makes each graph output."""

    nodes: Counter[bytes]
    outputs: Mapping[str, bytes]
    labels: Mapping[bytes, str]


def _hash(*parts: bytes) -> bytes:
    h = hashlib.blake2b(digest_size=16)
    for p in parts:
        h.update(len(p).to_bytes(4, "little"))
        h.update(p)
    return h.digest()


class _Numbering:
    def __init__(self, model: ModelProto, redirected: Mapping[str, str]) -> None:
        self.functions = {f.name: f for f in model.functions if f.domain == DOMAIN}
        self.redirected = redirected  # Shape node output → the value that it reads since the cleanup
        self.nodes: Counter[bytes] = Counter()
        self.labels: dict[bytes, str] = {}
        self.values: dict[str, bytes] = {}
        inputs = {v.name for v in model.graph.input}
        for v in inputs:
            self.values[v] = _hash(b"input", v.encode())
        for t in model.graph.initializer:
            small = tensor_is_small(t) and t.name not in inputs
            value = numpy_helper.to_array(t) if small else None
            self.values[t.name] = _leaf(t.name) if value is None else _constant(t.name, value)
        for s in model.graph.sparse_initializer:
            self.values[s.values.name] = _leaf(s.values.name)

    def graph(self, nodes: Iterable[NodeProto], values: dict[str, bytes], label: str = "") -> None:
        """Number nodes in order; `values` maps names to numbers."""
        for node in nodes:
            if node.domain == DOMAIN:
                self._call(node, values)
            else:
                self._node(node, values, label)

    def _call(self, node: NodeProto, values: dict[str, bytes]) -> None:
        function = self.functions.get(node.op_type)
        if function is None or (len(function.input), len(function.output)) != (len(node.input), len(node.output)):
            what = f"{node.name} does not fit its body {node.op_type}"
            raise InternalError(what, where="structural proof", do="please report the model; nothing was written")
        inner = {f: values[a] for f, a in zip(function.input, node.input, strict=True)}
        self.graph(function.node, inner, node.name)
        for f, a in zip(function.output, node.output, strict=True):
            values[a] = inner[f]

    def _node(self, node: NodeProto, values: dict[str, bytes], label: str) -> None:
        constant = constant_value(node) if node.op_type == "Constant" and node.domain in ("", "ai.onnx") else None
        if constant is not None:
            values[node.output[0]] = _constant("", constant)
            return
        inputs = list(node.input)
        while inputs and not inputs[-1]:
            inputs.pop()
        if node.op_type == "Shape" and node.output[0] in self.redirected:
            inputs[0] = self.redirected[node.output[0]]
        parts = [values.get(i, _leaf(i)) if i else b"-" for i in inputs]
        domain = b"" if node.domain == "ai.onnx" else node.domain.encode()
        number = _hash(node.op_type.encode(), domain, *_attributes(node), *parts, *_captured(node, values))
        self.nodes[number] += 1
        self.labels.setdefault(number, label or node.name or f"{node.op_type}({node.output[0]})")
        for k, o in enumerate(node.output):
            if o:
                values[o] = _hash(number, k.to_bytes(2, "little"))


def _leaf(name: str) -> bytes:
    return _hash(b"leaf", name.encode())


def _constant(name: str, value: object) -> bytes:
    """Constants that a body may carry count by value, others by name."""
    import numpy as np

    array = np.asarray(value)
    carried = array.size == 1 or (array.ndim <= 1 and array.dtype.kind in "iu" and array.size <= SMALL_HOST)
    if name and not carried:
        return _leaf(name)
    data = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()  # strings are references
    return _hash(b"constant", str(array.dtype).encode(), repr(array.shape).encode(), data)


def _attributes(node: NodeProto) -> list[bytes]:
    out: list[bytes] = []
    for a in sorted(node.attribute, key=lambda a: a.name):
        bare = AttributeProto()
        bare.CopyFrom(a)
        bare.ClearField("doc_string")
        out.append(bare.SerializeToString(deterministic=True))
    return out


def _captured(node: NodeProto, values: Mapping[str, bytes]) -> list[bytes]:
    names = sorted({c for _, g in subgraphs(node) for c in captures(g) if c in values})
    return [part for n in names for part in (n.encode(), values[n])]


def signature(model: ModelProto, redirected: Mapping[str, str] | None = None) -> Signature:
    """The model's computations; take it of the input before the edit."""
    numbering = _Numbering(model, redirected or {})
    numbering.graph(model.graph.node, numbering.values)
    outputs = {v.name: numbering.values.get(v.name, _leaf(v.name)) for v in model.graph.output}
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
