"""What the initializers of two models hold, as texts that are equal when the bytes are, wherever those are.

Memory stays flat: external data are read in pieces, and only where that can tell two weights apart or equal.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from ascend_fuse.error import ModelError
from ascend_fuse.graph.external import check_external, external_file
from ascend_fuse.graph.tensor import size_bytes, type_name

PIECE = 1 << 20  # bytes of a data file that are held at once
SHOWN = 16  # hex digits of a SHA-256


@dataclass(frozen=True, slots=True)
class Held:
    """One model with the file that it was read from, beside which its external data are."""

    model: ModelProto
    source: Path

    @property
    def tensors(self) -> Mapping[str, TensorProto]:
        """The dense initializers of the main graph by name."""
        return {t.name: t for t in self.model.graph.initializer}


def type_text(tensor: TensorProto) -> str:
    """As in `float16[64, 64]`."""
    return f"{type_name(tensor.data_type)}[{', '.join(map(str, tensor.dims))}]"


def content(tensor: TensorProto) -> str:
    """The type and a digest of the bytes of a tensor in the model, whichever field holds them."""
    if tensor.HasField("raw_data"):
        held = tensor.raw_data
    elif tensor.data_type == TensorProto.STRING:
        held = b"".join(len(s).to_bytes(8, "little") + s for s in tensor.string_data)
    else:
        held = numpy_helper.to_array(tensor).tobytes()
    return _digested(tensor, hashlib.sha256(held).hexdigest())


def constant_content(node: NodeProto) -> str:
    """What a Constant node holds as a tensor of the model, "" for any other."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.output) != 1:
        return ""
    tensor = next((a.t for a in node.attribute if a.name == "value" and not a.ref_attr_name), None)
    return "" if tensor is None or is_external(tensor) else content(tensor)


def is_external(tensor: TensorProto) -> bool:
    """Whether the bytes are in a file beside the model."""
    return tensor.data_location == TensorProto.EXTERNAL


def place_text(tensor: TensorProto, file: str = "") -> str:
    """The type of an external tensor and where its bytes are: `file`, or as the model names it."""
    entry = {e.key: e.value for e in tensor.external_data}
    where = f"{file or external_file(tensor)} offset {entry.get('offset') or '0'}"
    return f"{type_text(tensor)} external {where} length {entry.get('length') or 'rest'}"


def contents(a: Held, b: Held, by_place: bool = False) -> tuple[dict[str, str], dict[str, str]]:
    """What each initializer of both holds, by name.

    External bytes are told by their place when the other model has the same place, when nothing in it has their type
    and shape, and always with `by_place`; else they are read.
    Raises ModelError where bytes to be read are missing.
    """
    places = _Places()
    first, second = _Reader(a, places), _Reader(b, places)
    read_a, read_b = _wanted(first, second), _wanted(second, first)
    return tuple(  # pyright: ignore[reportReturnType]
        {name: reader.text(t, not by_place and name in read) for name, t in reader.held.tensors.items()}
        for reader, read in ((first, read_a), (second, read_b))
    )


def _digested(tensor: TensorProto, digest: str) -> str:
    return f"{type_text(tensor)} sha256 {digest[:SHOWN]}"


@dataclass(slots=True)
class _Places:
    """One name for each data file, by whichever link it is reached."""

    known: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])

    def name(self, path: Path) -> str:
        real = os.path.realpath(path)
        try:
            found = os.stat(real)
        except (OSError, ValueError):
            return real
        return self.known.setdefault((found.st_dev, found.st_ino), real)


class _Reader:
    """The weights of one model."""

    def __init__(self, held: Held, places: _Places) -> None:
        self.held = held
        external = {n: t for n, t in held.tensors.items() if is_external(t)}
        self.places = {
            n: place_text(t, places.name(held.source.parent / external_file(t))) for n, t in external.items()
        }
        self._checked = False

    def text(self, tensor: TensorProto, read: bool) -> str:
        if not is_external(tensor):
            return content(tensor)
        return _digested(tensor, self._digest(tensor)) if read else self.places[tensor.name]

    def _digest(self, tensor: TensorProto) -> str:
        if not self._checked:
            check_external(self.held.model, self.held.source)
            self._checked = True
        entry = {e.key: e.value for e in tensor.external_data}
        path = self.held.source.parent / external_file(tensor)
        found = hashlib.sha256()
        try:
            for piece in _pieces(path, int(entry.get("offset") or 0), size_bytes(tensor)):
                found.update(piece)
        except OSError as e:
            what = f"the data of tensor {tensor.name} cannot be read: {e.strerror}"
            raise ModelError(what, where=str(path), do="check the file") from e
        return found.hexdigest()


def _wanted(reader: _Reader, other: _Reader) -> set[str]:
    """The external weights of which the other model may have the bytes elsewhere."""
    mine, places = set(reader.places.values()), set(other.places.values())
    kinds = {type_text(t) for n, t in other.held.tensors.items() if other.places.get(n, "") not in mine}
    tensors = reader.held.tensors
    return {n for n, place in reader.places.items() if place not in places and type_text(tensors[n]) in kinds}


def _pieces(path: Path, offset: int, length: int) -> Iterator[bytes]:
    with path.open("rb") as stream:
        stream.seek(offset)
        while length > 0 and (piece := stream.read(min(PIECE, length))):
            length -= len(piece)
            yield piece
