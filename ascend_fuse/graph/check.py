"""What a model must be before it is planned: opsets that we know, every value made once and before it is read."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, defs

from ascend_fuse.error import ModelError
from ascend_fuse.graph.view import model_opset

MIN_OPSET = 7
AGAIN = "export the model again"


def _label(node: NodeProto) -> str:
    return f"node {node.name or node.op_type}"


def _is_default(node: NodeProto) -> bool:
    return node.domain in ("", "ai.onnx")


def check_opset(model: ModelProto) -> None:
    """Raises ModelError for a default-domain opset that is missing, too old, or newer than the installed onnx."""
    if not any(_is_default(n) for n in model.graph.node):
        return
    opset, newest = model_opset(model), defs.onnx_opset_version()
    if not opset:
        raise ModelError("no default opset", where="opset_import", do=AGAIN)
    if opset < MIN_OPSET:
        do = "convert the model with onnx.version_converter first"
        raise ModelError(f"opset {opset} of the default domain is older than {MIN_OPSET}", where="opset_import", do=do)
    if opset > newest:
        do = "upgrade onnx, or export with an older opset"
        raise ModelError(f"opset {opset} is newer than the {newest} of the installed onnx", where="opset_import", do=do)


def check_values(model: ModelProto) -> None:
    """Raises ModelError for a value made twice, read but never made, or declared as output but never made."""
    graph = model.graph
    made = {v.name for v in graph.input}
    for node in graph.node:
        for name in node.output:
            if name and name in made:
                raise ModelError(f"value {name} is made twice", where=_label(node), do=AGAIN)
            made.add(name)
    made.update(t.name for t in graph.initializer)
    made.update(t.values.name for t in graph.sparse_initializer)
    for node in graph.node:
        missing = next((i for i in node.input if i and i not in made), "")
        if missing:
            raise ModelError(f"reads {missing}, which nothing makes", where=_label(node), do=AGAIN)
    lost = next((v.name for v in graph.output if v.name not in made), "")
    if lost:
        raise ModelError(f"nothing makes output {lost}", where="graph output", do=AGAIN)


def unknown_operators(model: ModelProto) -> tuple[str, ...]:
    """Default-domain operators that the installed onnx does not have at the model's opset, each once."""
    opset = model_opset(model)
    local = {f.name for f in model.functions if f.domain in ("", "ai.onnx")}
    ops = dict.fromkeys(n.op_type for n in model.graph.node if _is_default(n))
    return tuple(op for op in ops if op not in local and not defs.has(op, opset, ""))
