"""What a caller of a model relies on: its inputs and outputs by name, order, type and symbolic size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import GraphProto, ModelProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto

from ascend_fuse.graph.change import Change, compared

OPTIONAL = "optional input"


def contract_changes(a: ModelProto, b: ModelProto) -> tuple[Change, ...]:
    """What a caller has to know of, of inputs, of initializers that may be given, of outputs."""
    inputs_a, outputs_a = _contract(a.graph)
    inputs_b, outputs_b = _contract(b.graph)
    return (
        *compared("input", inputs_a, inputs_b),
        *_order("input", inputs_a, inputs_b),
        *compared(OPTIONAL, optional_inputs(a), optional_inputs(b)),
        *compared("output", outputs_a, outputs_b),
        *_order("output", outputs_a, outputs_b),
    )


def contract_sentences(a: ModelProto, b: ModelProto) -> tuple[str, ...]:
    """The same in words; empty if a caller cannot tell the two models apart."""
    return tuple(map(_sentence, contract_changes(a, b)))


def _sentence(change: Change) -> str:
    kind = "initializer" if change.kind == OPTIONAL else change.kind
    what = f"{kind} {change.name}".rstrip()
    if change.before and change.after:
        return f"{what} was {change.before} and is {change.after}"
    if change.kind == OPTIONAL:
        return f"{what} could be overridden and no longer can" if change.before else f"{what} can now be overridden"
    return f"{what} is missing" if change.before else f"{what} is new"


def required_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """The inputs that have no initializer: before IR 4 every initializer is an input as well."""
    held = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    return [v for v in graph.input if v.name not in held]


def optional_inputs(model: ModelProto) -> dict[str, str]:
    """Initializers that a caller may replace; before IR 4 all are inputs and constants all the same."""
    if model.ir_version < 4:
        return {}
    required = {v.name for v in required_inputs(model.graph)}
    return _typed(v for v in model.graph.input if v.name not in required)


def _order(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> tuple[Change, ...]:
    """Inputs and outputs are bound by position in some runtimes."""
    if set(a) == set(b) and list(a) != list(b):
        return (Change(f"{kind} order", "", ", ".join(a), ", ".join(b)),)
    return ()


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
    return _typed(required_inputs(graph)), _typed(graph.output)
