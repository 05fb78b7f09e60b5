"""What onnx's operator schemas say of a pattern's node."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnx import NodeProto, defs


def misfit(node: NodeProto, opsets: Sequence[int], optional: Collection[str] = ()) -> str:
    """Why no opset of the range has the node in this form, "" when one has; `optional` operands may be missing.

    Fewer operands than the operator wants are no reason: a pattern may leave out those that another form has.
    """
    why = f"opsets {opsets[0]} to {opsets[-1]} have no {node.op_type}"
    for opset in opsets:
        try:
            schema = defs.get_schema(node.op_type, opset, "")
        except defs.SchemaError:
            continue
        if schema.deprecated:
            continue
        why = _refused(node, schema, optional)
        if not why:
            return ""
    return why


def _refused(node: NodeProto, schema: defs.OpSchema, optional: Collection[str]) -> str:
    for attribute in node.attribute:
        if attribute.name not in schema.attributes:
            return f"{node.op_type} has no attribute {attribute.name} in the rule's opsets"
    needed = max((k + 1 for k, name in enumerate(node.input) if name and name not in optional), default=0)
    if needed > schema.max_input:
        return f"{node.op_type} takes {schema.max_input} operands at most, not {needed}"
    if len(node.output) > schema.max_output:
        return f"{node.op_type} has {schema.max_output} results at most, not {len(node.output)}"
    return ""


def has_attribute(op: str, name: str) -> bool:
    """Whether the operator has the attribute at its latest version."""
    try:
        return name in defs.get_schema(op).attributes
    except defs.SchemaError:
        return False
