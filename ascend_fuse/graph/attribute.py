"""Attributes of nodes as people read them."""

from __future__ import annotations

import hashlib

from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

from ascend_fuse.graph.view import tensor_is_small
from ascend_fuse.graph.weight import content, is_external, place_text, type_text

LONGEST = 120  # characters of a value; longer ones are cut
GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def attribute_texts(node: NodeProto) -> dict[str, str]:
    """Each attribute that is no graph, by name. Equal texts mean equal values: what is cut ends in a digest."""
    return {a.name: _text(a) for a in node.attribute if a.type not in GRAPHS}


def tensor_text(tensor: TensorProto) -> str:
    """A small tensor by its elements, another by its digest; an external one, which is not read, by its place."""
    if is_external(tensor):
        return place_text(tensor)
    if not tensor_is_small(tensor):
        return content(tensor)
    return _cut(f"{type_text(tensor)} {numpy_helper.to_array(tensor).tolist()}")


def _text(attribute: AttributeProto) -> str:
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    if attribute.type == AttributeProto.TENSOR:
        return tensor_text(attribute.t)
    if attribute.type == AttributeProto.TENSORS:
        return ", ".join(map(tensor_text, attribute.tensors))
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return _cut(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, float):
        return f"{value:.9g}"  # as many digits as tell any two of its 32 bits apart
    return _cut(str(value).strip())


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… sha256 {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
