"""Small edits of protobuf messages that protobuf itself makes awkward."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import TypeVar

from google.protobuf.message import Message
from onnx import NodeProto

M = TypeVar("M", bound=Message)


def copied(message: M) -> M:
    """A deep copy."""
    out = type(message)()
    out.CopyFrom(message)
    return out


def node_label(node: NodeProto) -> str:
    """What a person can find: the node's name, else its operator and first output."""
    return node.name or f"{node.op_type}({next((o for o in node.output if o), '')})"


def replace(field: MutableSequence[M], items: Iterable[M]) -> None:
    """Make a repeated field hold the items, which may be its own."""
    copies = [copied(i) for i in items]
    del field[:]
    field.extend(copies)
