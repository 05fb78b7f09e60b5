"""The tensors that a model holds: where they are, and whether each holds as much as it declares. None is decoded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from ascend_fuse.graph.view import subgraphs

_BITS_BY_NAME = {
    "FLOAT": 32, "UINT8": 8, "INT8": 8, "UINT16": 16, "INT16": 16, "INT32": 32, "INT64": 64, "BOOL": 8, "FLOAT16": 16,
    "DOUBLE": 64, "UINT32": 32, "UINT64": 64, "COMPLEX64": 64, "COMPLEX128": 128, "BFLOAT16": 16, "FLOAT8E4M3FN": 8,
    "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2": 8, "FLOAT8E5M2FNUZ": 8, "FLOAT8E8M0": 8, "FLOAT4E2M1": 4, "UINT4": 4, "INT4": 4,
    "UINT2": 2, "INT2": 2,
}  # fmt: skip
BITS: dict[int, int] = {
    code: _BITS_BY_NAME[name] for name, code in TensorProto.DataType.items() if name in _BITS_BY_NAME
}
# The field that holds a type's elements when raw_data does not; what is missing here is in int32_data.
_FIELDS: dict[int, str] = {
    TensorProto.FLOAT: "float_data", TensorProto.COMPLEX64: "float_data", TensorProto.DOUBLE: "double_data",
    TensorProto.COMPLEX128: "double_data", TensorProto.INT64: "int64_data", TensorProto.UINT64: "uint64_data",
    TensorProto.UINT32: "uint64_data", TensorProto.STRING: "string_data",
}  # fmt: skip
_COPIED = 1 << 16  # bytes; asking protobuf for raw_data copies it, which weights are too large for


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of the model: initializers, sparse ones, attributes; in graphs of any depth and in functions."""
    for graph in (model.graph, *(g for t in model.training_info for g in (t.initialization, t.algorithm))):
        yield from _in_graph(graph)
    for function in model.functions:
        yield from _in_nodes(function.node)


def _in_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        for a in node.attribute:
            if a.HasField("t"):
                yield a.t
            yield from a.tensors
            for sparse in (*((a.sparse_tensor,) if a.HasField("sparse_tensor") else ()), *a.sparse_tensors):
                yield sparse.values
                yield sparse.indices
        for _, inner in subgraphs(node):
            yield from _in_graph(inner)


def size_bytes(tensor: TensorProto) -> int:
    """What the declared shape and type take; -1 for strings."""
    bits = BITS.get(tensor.data_type, 0)
    return (math.prod(tensor.dims) * bits + 7) // 8 if bits else -1


def type_name(code: int) -> str:
    """As in `float16`; `type 999` for one that onnx does not know."""
    kinds = TensorProto.DataType
    return kinds.Name(code).lower() if code in kinds.values() else f"type {code}"


def fault(tensor: TensorProto) -> str:
    """What is wrong with what the tensor declares or holds, as a clause without a subject; "" for nothing."""
    kind = tensor.data_type
    if kind not in BITS and kind != TensorProto.STRING:
        return "has no type" if kind == TensorProto.UNDEFINED else f"has the unknown {type_name(kind)}"
    negative = next((d for d in tensor.dims if d < 0), 0)
    if negative:
        return f"has the negative size {negative}"
    if tensor.data_location == TensorProto.EXTERNAL:
        return "holds strings, which cannot be external data" if kind == TensorProto.STRING else ""
    if tensor.HasField("segment"):
        return ""
    if tensor.HasField("raw_data"):
        return _raw_fault(tensor)
    return _listed_fault(tensor)


def _raw_fault(tensor: TensorProto) -> str:
    if tensor.data_type == TensorProto.STRING:
        return "holds strings as raw bytes"
    wanted = size_bytes(tensor)
    if wanted > _COPIED and tensor.ByteSize() == _message_bytes(tensor, wanted):
        return ""
    held = len(tensor.raw_data)
    return "" if held == wanted else f"holds {held} bytes, but its shape takes {wanted}"


def _message_bytes(tensor: TensorProto, raw: int) -> int:
    """The size of the message if it holds nothing but its header and `raw` bytes."""
    head = TensorProto(dims=tensor.dims, data_type=tensor.data_type)
    for field in ("name", "doc_string", "data_location"):
        if tensor.HasField(field):
            setattr(head, field, getattr(tensor, field))
    return head.ByteSize() + 1 + (raw.bit_length() + 6) // 7 + raw


def _listed_fault(tensor: TensorProto) -> str:
    kind, count = tensor.data_type, math.prod(tensor.dims)
    field = _FIELDS.get(kind, "int32_data")
    held = len(getattr(tensor, field))
    if kind in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        held //= 2
    elif BITS.get(kind, 8) < 8:  # packed: a byte to an int32
        per_byte = 8 // BITS[kind]
        return (
            "" if held == -(-count // per_byte) else f"holds {held} bytes, but its shape takes {-(-count // per_byte)}"
        )
    return "" if held == count else f"holds {held} of {count} elements"
