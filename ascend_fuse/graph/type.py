"""Tensor types: a dtype name of the program text and a shape of Dims."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import TensorProto

from ascend_fuse.graph.dim import Dim

# The names of docs/design/0001; what is missing here (strings, 4- and 8-bit floats, complex) has no dtype name.
DTYPE_OF_ONNX: dict[int, str] = {
    TensorProto.FLOAT: "f32",
    TensorProto.FLOAT16: "f16",
    TensorProto.BFLOAT16: "bf16",
    TensorProto.DOUBLE: "f64",
    TensorProto.INT8: "i8",
    TensorProto.INT16: "i16",
    TensorProto.INT32: "i32",
    TensorProto.INT64: "i64",
    TensorProto.UINT8: "u8",
    TensorProto.UINT16: "u16",
    TensorProto.UINT32: "u32",
    TensorProto.UINT64: "u64",
    TensorProto.BOOL: "bool",
}
ONNX_OF_DTYPE: dict[str, int] = {name: code for code, name in DTYPE_OF_ONNX.items()}
DTYPE_BYTES: dict[str, int] = {
    "f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "u8": 1, "u16": 2, "u32": 4, "u64": 8, "bool": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorType:
    """dtype: a name of docs/design/0001, or "" when unknown; shape: outermost first, None when the rank is unknown."""

    dtype: str
    shape: tuple[Dim, ...] | None
