"""Reading a model without its weights: external tensors stay on disk, inline ones stay undecoded in the proto."""

from __future__ import annotations

import stat
from codecs import getincrementaldecoder
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto

from ascend_fuse.error import ModelError
from ascend_fuse.graph.check import (
    DEFAULT,
    check_functions,
    check_ir,
    check_opset,
    check_values,
    clashes,
    unknown_operators,
)
from ascend_fuse.graph.external import check_external as check_external
from ascend_fuse.graph.external import external_files as external_files
from ascend_fuse.graph.proto import replace
from ascend_fuse.graph.text import has_only_text
from ascend_fuse.graph.view import model_opset

MIN_IR_FOR_FUNCTIONS = 8
MAX_BYTES = (1 << 31) - 1  # of a protobuf message
# How files begin that are often taken for models, and what to do with them.
_OTHERS = (
    (b"version https://git-lfs", "it is a Git LFS pointer, not the file: run git lfs pull"),
    (b"PK\x03\x04", "it is a zip archive, such as PyTorch and Keras write: export the model to ONNX, or unpack it"),
    (b"\x1f\x8b", "it is compressed: unpack it with gunzip"),
    (b"\x89HDF", "it is an HDF5 file, such as Keras writes: export the model to ONNX"),
    (b"\x80", "it is a pickle: export the model to ONNX"),
    (b"{", "it is JSON: read it with onnx.load_model(…, format='json') and save it again"),
    (b"<", "it is text: read ONNX text with onnx.load_model(…, format='onnxtxt') and save it again"),
    (b"ir_version", "it is text: read it with onnx.load_model(…, format='textproto') and save it again"),
)


def read_model(path: Path) -> ModelProto:
    """The proto in the file. Raises ModelError when it is missing, unreadable, truncated or no model."""
    data = _read(path)
    do = next((do for start, do in _OTHERS if data.lstrip().startswith(start)), "")
    do = do or _likely(data)
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError) as e:
        raise ModelError("cannot parse the model", where=str(path), do=do) from e
    if not model.HasField("graph") or not (model.ir_version or model.opset_import):
        raise ModelError("there is no model in the file", where=str(path), do=do)
    if not has_only_text(model):
        do = "export it again with names in UTF-8, unless the file is damaged: then copy it again"
        raise ModelError("cannot parse the model: it has names that are no text", where=str(path), do=do)
    return model


def read_with_data(path: Path) -> ModelProto:
    """The same, when all of its external tensors are there as well."""
    model = read_model(path)
    try:
        check_external(model, path)
    except ModelError as e:
        raise e.of(path) from e
    return model


def _likely(data: bytes) -> str:
    """What a file that begins like none that is known may be, and what to do."""
    if not data:
        return "the file is empty: export or copy it again"
    if _is_text(data[:4096]):
        return "it is text, not ONNX: give the file that the exporter wrote"
    return "the file is truncated, nested more than 100 levels deep, or not ONNX: export or copy it again"


def _is_text(begin: bytes) -> bool:
    """Whether bytes, the last character of which may be cut, are UTF-8 without control characters."""
    try:
        text = getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeDecodeError:
        return False
    return all(c >= " " or c in "\t\n\r\f" for c in text)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            mode = path.stat().st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise ModelError("cannot read the model: it is a device", where=str(path), do="give a file")
            data = stream.read(MAX_BYTES + 1) if path.stat().st_size <= MAX_BYTES else b""
            whole = path.stat().st_size <= MAX_BYTES and len(data) <= MAX_BYTES
    except FileNotFoundError as e:
        if str(path) == "-":
            raise ModelError("a model cannot come from standard input", where="-", do="name a file") from e
        raise ModelError("no such file", where=str(path), do="check the path") from e
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise ModelError(f"cannot read the model: {why}", where=str(path), do="check the file") from e
    if not whole:
        do = "store the weights as external data (onnx.save_model with save_as_external_data=True)"
        raise ModelError("the file has over 2 GB, more than a protobuf can hold", where=str(path), do=do)
    return data


def normalise(model: ModelProto) -> tuple[str, ...]:
    """Make the model one that functions and planning accept (edited in place); notes say what changed.

    Raises ModelError for versions that nobody knows, operators that are misused, values made twice or never, cycles.
    """
    notes: list[str] = []
    check_ir(model)
    notes += _one_opset(model)
    check_opset(model)
    check_functions(model)
    notes += check_values(model)
    notes += clashes(model)
    unknown = unknown_operators(model)
    if unknown:
        listed = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        notes.append(f"opset {model_opset(model)} has no operator {listed}: left as they are")
    if any(not t.name for t in model.graph.initializer):
        notes.append("initializers without a name, which nothing can read, were taken out")
        replace(model.graph.initializer, [t for t in model.graph.initializer if t.name])
    if model.ir_version < MIN_IR_FOR_FUNCTIONS:
        notes += _raise_ir(model)
    return tuple(notes)


def _one_opset(model: ModelProto) -> list[str]:
    """Runtimes and the checker of onnx take the last of several imports; so do we, and say it."""
    found = [o.version for o in model.opset_import if o.domain in DEFAULT]
    if len(found) < 2:
        return []
    last = next(o for o in reversed(model.opset_import) if o.domain in DEFAULT)
    replace(model.opset_import, [o for o in model.opset_import if o is last or o.domain not in DEFAULT])
    if len(set(found)) == 1:
        return []
    versions = ", ".join(map(str, found))
    return [f"the default opset is imported in several versions ({versions}): the last one counts"]


def _raise_ir(model: ModelProto) -> list[str]:
    notes = [f"IR version {model.ir_version} raised to {MIN_IR_FOR_FUNCTIONS}, the first that has functions"]
    if model.ir_version < 4:
        held = {t.name for t in model.graph.initializer}
        kept = [v for v in model.graph.input if v.name not in held]
        if len(kept) < len(model.graph.input):
            notes.append("initializers were taken out of the graph inputs (IR 3 listed them there)")
            replace(model.graph.input, kept)
    model.ir_version = MIN_IR_FOR_FUNCTIONS
    return notes
