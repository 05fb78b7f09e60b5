"""How two models differ in structure: operators, interface, opsets, functions, launches, weights.

External tensors are never read: they are equal when they name the same bytes of the same file.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
    numpy_helper,
)

from ascend_fuse.graph.digest import OutputDigests
from ascend_fuse.graph.launch import launch_counts, operator_name
from ascend_fuse.graph.load import read_model
from ascend_fuse.graph.view import subgraphs

SCHEMA = "ascend-fuse/difference/1"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs: `kind` says of what, "" in `before` or `after` means absent."""

    kind: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two models; counts cover subgraphs and, once each, function bodies."""

    path: str
    nodes: int
    launches: int
    functions: int
    initializers: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Changes by what they are of; the counts of `operators` are decimal, `computation` names outputs."""

    a: Side
    b: Side
    operators: tuple[Change, ...]
    interface: tuple[Change, ...]
    opsets: tuple[Change, ...]
    functions: tuple[Change, ...]
    initializers: tuple[Change, ...]
    computation: tuple[Change, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """All of them."""
        structure = (*self.interface, *self.opsets, *self.operators, *self.functions)
        return (*structure, *self.initializers, *self.computation)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but names of values and nodes, order of nodes, docs and metadata."""
        return not self.changes


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, inner in subgraphs(node):
            yield from _nodes(inner.node)


def _operators(model: ModelProto) -> Counter[str]:
    counts = Counter(operator_name(n) for n in _nodes(model.graph.node))
    for f in model.functions:
        # a body belongs to its function; what a fused node holds is listed under the function
        if f.domain != "ai.ascendfuse":
            counts.update(operator_name(n) for n in _nodes(f.node))
    return counts


def _dims(shape: Iterable[TensorShapeProto.Dimension]) -> str:
    return ", ".join(str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in shape)


def _type(proto: TypeProto) -> str:
    if proto.HasField("tensor_type"):
        t = proto.tensor_type
        name = TensorProto.DataType.Name(t.elem_type).lower()
        return f"{name}[{_dims(t.shape.dim)}]" if t.HasField("shape") else f"{name}[...]"
    if proto.HasField("sequence_type"):
        return f"sequence({_type(proto.sequence_type.elem_type)})"
    if proto.HasField("optional_type"):
        return f"optional({_type(proto.optional_type.elem_type)})"
    if proto.HasField("map_type"):
        key = TensorProto.DataType.Name(proto.map_type.key_type).lower()
        return f"map({key}, {_type(proto.map_type.value_type)})"
    return proto.WhichOneof("value") or "unknown"


def _typed(values: Iterable[ValueInfoProto]) -> dict[str, str]:
    return {v.name: _type(v.type) for v in values}


def _contract(graph: GraphProto) -> tuple[dict[str, str], dict[str, str]]:
    held = {t.name for t in graph.initializer}
    # IR 3 lists every initializer among the inputs; a caller need not give those
    return _typed(v for v in graph.input if v.name not in held), _typed(graph.output)


def _compare(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> tuple[Change, ...]:
    names = dict.fromkeys([*a, *b])
    return tuple(Change(kind, n, a.get(n, ""), b.get(n, "")) for n in names if a.get(n) != b.get(n))


def _optional(model: ModelProto) -> dict[str, str]:
    """Initializers that a caller may replace; before IR 4 all are inputs and constants all the same."""
    if model.ir_version < 4:
        return {}
    held = {t.name for t in model.graph.initializer}
    return _typed(v for v in model.graph.input if v.name in held)


def _order(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> tuple[Change, ...]:
    """Inputs and outputs are bound by position in some runtimes."""
    if set(a) == set(b) and list(a) != list(b):
        return (Change(f"{kind} order", "", ", ".join(a), ", ".join(b)),)
    return ()


def _opsets(model: ModelProto) -> dict[str, str]:
    return {o.domain or "ai.onnx": str(o.version) for o in model.opset_import}


def _functions(model: ModelProto, digests: OutputDigests) -> dict[str, str]:
    return {
        f"{f.domain}::{f.name}" + (f":{f.overload}" if f.overload else ""): (
            f"{len(f.node)} nodes, {digests.function((f.domain, f.name, f.overload)).hex()[:12]}"
        )
        for f in model.functions
    }


def _external(tensor: TensorProto, folder: Path) -> str:
    entry = {e.key: e.value for e in tensor.external_data}
    # links are followed, so that a weight reached by two names is one weight
    where = os.path.realpath(folder / entry.get("location", ""))
    return f"external {where} offset {entry.get('offset', '0')} length {entry.get('length', 'rest')}"


def _content(tensor: TensorProto, folder: Path) -> str:
    head = f"{TensorProto.DataType.Name(tensor.data_type).lower()}[{', '.join(map(str, tensor.dims))}]"
    if tensor.data_location == TensorProto.EXTERNAL:
        return f"{head} {_external(tensor, folder)}"
    if tensor.HasField("raw_data"):
        held = tensor.raw_data
    elif tensor.data_type == TensorProto.STRING:
        held = b"".join(len(s).to_bytes(8, "little") + s for s in tensor.string_data)
    else:
        held = numpy_helper.to_array(tensor).tobytes()
    return f"{head} sha256 {hashlib.sha256(held).hexdigest()[:16]}"


def _initializers(graph: GraphProto, folder: Path) -> dict[str, str]:
    held = {t.name: _content(t, folder) for t in graph.initializer}
    for t in graph.sparse_initializer:
        digest = hashlib.sha256(t.SerializeToString(deterministic=True)).hexdigest()[:16]
        held[t.values.name] = f"sparse sha256 {digest}"
    return held


def _side(path: Path, model: ModelProto) -> Side:
    return Side(
        path=str(path),
        nodes=sum(1 for _ in _nodes(model.graph.node)),
        launches=sum(launch_counts(model).values()),
        functions=len(model.functions),
        initializers=len(model.graph.initializer) + len(model.graph.sparse_initializer),
    )


def _counted(model: ModelProto) -> dict[str, str]:
    return {name: str(n) for name, n in sorted(_operators(model).items())}


def _computation(a: OutputDigests, b: OutputDigests) -> tuple[Change, ...]:
    first, second = a.outputs(), b.outputs()
    common = [name for name in first if name in second and first[name] != second[name]]
    return tuple(Change("computation", n, first[n].hex()[:12], second[n].hex()[:12]) for n in common)


def difference(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Difference:
    """What differs between two model files. Raises ModelError for a file that is no model."""
    path_a, path_b = Path(a), Path(b)
    model_a, model_b = read_model(path_a), read_model(path_b)
    digests_a, digests_b = OutputDigests(model_a), OutputDigests(model_b)
    inputs_a, outputs_a = _contract(model_a.graph)
    inputs_b, outputs_b = _contract(model_b.graph)
    interface = (
        *_compare("input", inputs_a, inputs_b),
        *_order("input", inputs_a, inputs_b),
        *_compare("optional input", _optional(model_a), _optional(model_b)),
        *_compare("output", outputs_a, outputs_b),
        *_order("output", outputs_a, outputs_b),
    )
    return Difference(
        a=_side(path_a, model_a),
        b=_side(path_b, model_b),
        operators=_compare("operator", _counted(model_a), _counted(model_b)),
        interface=interface,
        opsets=_compare("opset", _opsets(model_a), _opsets(model_b)),
        functions=_compare("function", _functions(model_a, digests_a), _functions(model_b, digests_b)),
        initializers=_compare(
            "initializer",
            _initializers(model_a.graph, path_a.parent),
            _initializers(model_b.graph, path_b.parent),
        ),
        computation=_computation(digests_a, digests_b),
    )


def to_json(d: Difference) -> dict[str, object]:
    """The difference as `ascend-fuse/difference/1`."""

    def listed(changes: tuple[Change, ...]) -> list[dict[str, str]]:
        return [{"kind": c.kind, "name": c.name, "before": c.before, "after": c.after} for c in changes]

    def side(s: Side) -> dict[str, object]:
        return {"path": s.path, "nodes": s.nodes, "launches": s.launches, "functions": s.functions,
                "initializers": s.initializers}  # fmt: skip

    return {
        "schema": SCHEMA,
        "same": d.is_same,
        "a": side(d.a),
        "b": side(d.b),
        "interface": listed(d.interface),
        "opsets": listed(d.opsets),
        "operators": listed(d.operators),
        "functions": listed(d.functions),
        "initializers": listed(d.initializers),
        "computation": listed(d.computation),
    }
