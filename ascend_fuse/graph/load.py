"""Reading a model without its weights: external tensors stay on disk, inline ones stay undecoded in the proto."""

from __future__ import annotations

import os
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TensorProto

from ascend_fuse.error import ModelError
from ascend_fuse.graph.check import check_opset, check_values, unknown_operators
from ascend_fuse.graph.order import sorted_nodes
from ascend_fuse.graph.proto import replace
from ascend_fuse.graph.view import model_opset, subgraphs

MIN_IR_FOR_FUNCTIONS = 8


def read_model(path: Path) -> ModelProto:
    """The proto in the file. Raises ModelError when it is missing, unreadable, truncated or no model."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as e:
        raise ModelError("no such file", where=str(path), do="check the path") from e
    except OSError as e:
        raise ModelError(f"cannot read the model: {e.strerror}", where=str(path), do="check the file") from e
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as e:
        do = "the file is truncated or not ONNX; export or copy it again"
        raise ModelError("cannot parse the model", where=str(path), do=do) from e
    if not model.ir_version or not model.HasField("graph"):
        do = "the file is truncated or not ONNX; export or copy it again"
        raise ModelError("there is no model in the file", where=str(path), do=do)
    return model


def tensors(graph: GraphProto) -> list[TensorProto]:
    """Initializers of the graph and of all nested graphs."""
    found = list(graph.initializer)
    for node in graph.node:
        for _, inner in subgraphs(node):
            found += tensors(inner)
    return found


def external_file(tensor: TensorProto) -> str:
    """The relative path of an external tensor's file, "" when the tensor is in the model."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return ""
    return next((e.value for e in tensor.external_data if e.key == "location"), "")


def external_files(model: ModelProto) -> tuple[str, ...]:
    """Relative paths of all external data files, in order of first use."""
    return tuple(dict.fromkeys(f for t in tensors(model.graph) if (f := external_file(t))))


def check_external(model: ModelProto, folder: Path) -> None:
    """Every external tensor lies inside a file under the model's folder. Raises ModelError."""
    sizes: dict[str, int] = {}
    root = folder.resolve()
    for t in tensors(model.graph):
        name = external_file(t)
        if not name:
            continue
        if name not in sizes:
            sizes[name] = _file_size(root, name, t.name)
        fields = {e.key: e.value for e in t.external_data}
        end = int(fields.get("offset") or 0) + int(fields.get("length") or 0)
        if end > sizes[name]:
            do = f"the file has {sizes[name]} bytes; copy it again"
            raise ModelError(f"tensor {t.name} ends at byte {end}", where=str(folder / name), do=do)


def _file_size(root: Path, name: str, tensor: str) -> int:
    path = Path(os.path.normpath(root / name))
    if os.path.isabs(name) or root not in path.parents:
        raise ModelError(
            f"tensor {tensor} lies outside the model's folder", where=name, do="put the data beside the model"
        )
    try:
        return path.stat().st_size
    except OSError as e:
        raise ModelError(
            f"the data file of tensor {tensor} is missing", where=str(path), do="copy it beside the model"
        ) from e


def normalise(model: ModelProto) -> tuple[str, ...]:
    """Make the model one that functions and planning accept (edited in place); notes say what changed.

    Raises ModelError for opsets under 7 or unknown, values made twice or never, and cycles.
    """
    notes: list[str] = []
    check_opset(model)
    check_values(model)
    unknown = unknown_operators(model)
    if unknown:
        notes.append(f"opset {model_opset(model)} has no operator {', '.join(unknown)}: left as they are")
    ordered = sorted_nodes(model.graph.node)
    if any(a is not b for a, b in zip(ordered, model.graph.node, strict=True)):
        notes.append("nodes were not in topological order and have been sorted")
        replace(model.graph.node, ordered)
    if model.ir_version < MIN_IR_FOR_FUNCTIONS:
        notes += _raise_ir(model)
    return tuple(notes)


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
