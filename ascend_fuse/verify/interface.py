"""Differences between what two models take and give: names, order, types and symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import TensorProto, TypeProto

from ascend_fuse.verify.feed import required_inputs

IR_WITH_OVERRIDES = 4  # before, every initializer had to be an input and was a constant all the same


def interface_differences(a: onnx.ModelProto, b: onnx.ModelProto) -> tuple[str, ...]:
    """One sentence for each; empty if a caller cannot tell the two models apart."""
    return (
        *_differences("input", required_inputs(a), required_inputs(b)),
        *_differences("output", a.graph.output, b.graph.output),
        *_override_differences(a, b),
    )


def _differences(kind: str, a: Sequence[onnx.ValueInfoProto], b: Sequence[onnx.ValueInfoProto]) -> list[str]:
    types_a = {value.name: _type_text(value.type) for value in a}
    types_b = {value.name: _type_text(value.type) for value in b}
    found = [f"{kind} {name} is missing" for name in types_a if name not in types_b]
    found += [f"{kind} {name} is new" for name in types_b if name not in types_a]
    found += [
        f"{kind} {name} was {types_a[name]} and is {types_b[name]}"
        for name in types_a
        if name in types_b and types_a[name] != types_b[name]
    ]
    if not found and list(types_a) != list(types_b):
        found.append(f"{kind}s are in another order: {', '.join(types_a)} against {', '.join(types_b)}")
    return found


def _type_text(proto: TypeProto) -> str:
    """The type with its shape, as `FLOAT[batch, 128, ?]`; denotations do not count."""
    kind = proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return f"{kind.removesuffix('_type')}({_type_text(getattr(proto, kind).elem_type)})"
    if kind == "map_type":
        return f"map({proto.map_type.key_type}, {_type_text(proto.map_type.value_type)})"
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return "?"
    tensor = getattr(proto, kind)
    name = TensorProto.DataType.Name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return name
    sizes = (str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim)
    return f"{name}[{', '.join(sizes)}]"


def _override_differences(a: onnx.ModelProto, b: onnx.ModelProto) -> list[str]:
    gone = _overridable(a) - _overridable(b)
    new = _overridable(b) - _overridable(a)
    return [
        *(f"initializer {name} could be overridden and no longer can" for name in sorted(gone)),
        *(f"initializer {name} can now be overridden" for name in sorted(new)),
    ]


def _overridable(model: onnx.ModelProto) -> set[str]:
    if model.ir_version < IR_WITH_OVERRIDES:
        return set()
    return {value.name for value in model.graph.input} - {value.name for value in required_inputs(model)}
