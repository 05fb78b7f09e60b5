"""A model without the bytes of its large weights, which another copy of the model has under the same names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import ModelProto, TensorProto

WEIGHT_BYTES = 1024  # a smaller initializer costs less than its digest


def without_weights(
    model: ModelProto, known: Mapping[str, bytes] | None = None
) -> tuple[ModelProto, Mapping[str, bytes]] | None:
    """A copy without the bytes of the large initializers of the main graph, and the digests of those by name.

    With `known`, only those go that are known by that name and digest. None where a copy would not be exact: two
    initializers of one name, or fields that this version of ONNX does not know.
    """
    held = model.graph.initializer
    if len({t.name for t in held}) < len(held) or _has_unknown(model) or _has_unknown(model.graph):
        return None
    light, digests = ModelProto(), dict[str, bytes]()
    _copy_fields(model, light, "graph")
    _copy_fields(model.graph, light.graph, "initializer")
    for t in held:
        out, digest = light.graph.initializer.add(), _digest(t)
        if digest and (known is None or known.get(t.name) == digest):
            digests[t.name] = digest
            _copy_fields(t, out, "raw_data")
        else:
            out.CopyFrom(t)
    return light, digests


def give_weights(light: ModelProto, names: frozenset[str], source: ModelProto) -> None:
    """Put the bytes back under these names (edited in place). Raises KeyError where the source lacks one."""
    held = {t.name: t for t in source.graph.initializer if t.name in names}
    for t in light.graph.initializer:
        if t.name in names:
            t.raw_data = held[t.name].raw_data


def _has_unknown(message: Message) -> bool:
    return len(UnknownFieldSet(message)) > 0  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]


def _copy_fields(source: Message, target: Message, but: str) -> None:
    """All fields but one, whose value is not looked at: protobuf copies bytes that are read."""
    for name in (d.name for d in source.DESCRIPTOR.fields if d.name != but):
        value: Any = getattr(source, name)
        if isinstance(value, Message):
            if source.HasField(name):
                getattr(target, name).CopyFrom(value)
        elif not isinstance(value, (str, bytes, int, float)):
            getattr(target, name).extend(value)
        elif source.HasField(name):
            setattr(target, name, value)


def _digest(tensor: TensorProto) -> bytes:
    """Of the bytes and what they stand for; b"" for a tensor that is small or whose bytes are elsewhere."""
    if not tensor.HasField("raw_data") or tensor.ByteSize() <= WEIGHT_BYTES or _has_unknown(tensor):
        return b""
    return hashlib.sha256(f"{tensor.data_type} {list(tensor.dims)} ".encode() + tensor.raw_data).digest()
