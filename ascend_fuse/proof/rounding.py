"""Casts of the body that the program lacks: what an evaluation at float32 cannot see.

A sum of squares that the body computes in f32 between two Casts overflows in f16, with any input beyond 256.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import NodeProto

from ascend_fuse.graph.type import DTYPE_OF_ONNX
from ascend_fuse.graph.view import constant_value
from ascend_fuse.program.op import FLOATS, comes_back
from ascend_fuse.program.program import Program

SAME = frozenset("Identity Reshape Flatten Squeeze Unsqueeze Transpose Dropout Expand".split())  # the same elements


@dataclass(frozen=True, slots=True)
class _Cast:
    """A Cast of a body: the value that it converts, seen through views, what it makes, and the float types of both."""

    value: str
    result: str
    source: str
    target: str

    @property
    def widens(self) -> bool:
        """Whether a conversion back gives what there was."""
        return comes_back(self.source, self.target)


def _casts(nodes: Sequence[NodeProto], dtypes: Mapping[str, str]) -> list[_Cast]:
    """The Casts between float types; one to the type that a value has is none."""
    known, seen = dict(dtypes), dict[str, str]()
    found: list[_Cast] = []
    for node in nodes:
        source = next((known[i] for i in node.input if known.get(i) in FLOATS), "")
        result = source
        if node.op_type == "Cast":
            result = DTYPE_OF_ONNX.get(next(a.i for a in node.attribute if a.name == "to"), "")
            if result != source and result in FLOATS:
                found.append(_Cast(seen.get(node.input[0], node.input[0]), node.output[0], source, result))
        elif node.op_type == "Constant" and (value := constant_value(node)) is not None:
            result = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}.get(str(value.dtype), "")
        elif node.op_type in SAME:
            seen[node.output[0]] = seen.get(node.input[0], node.input[0])
        known.update(dict.fromkeys(node.output, result))
    return found


def _needed(casts: Sequence[_Cast], nodes: Sequence[NodeProto], outputs: Sequence[str]) -> Counter[str]:
    """How often there has to be a conversion to each type, from the outputs on: one that nothing reads is none.

    Nor is one back from a wider type, which reads what was there before.
    """
    made = {c.result: c for c in casts}
    read = set(outputs)
    found: Counter[str] = Counter()
    for node in reversed(nodes):
        name = node.output[0]
        if name not in read and (node.op_type in SAME or node.op_type == "Cast"):
            continue
        cast = made.get(name)
        first = None if cast is None else made.get(cast.value)
        if cast is None:
            read.update(node.input)
        elif first is not None and first.widens and first.source == cast.target:
            read.add(first.value)
        else:
            found[cast.target] += 1
            read.add(cast.value)
    return found


def lost_casts(program: Program, nodes: Sequence[NodeProto], inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """ "" when the program casts to each float type at least as often as the body has to, else which it lacks."""
    dtypes = {name: line.type.dtype for name, line in zip(inputs, program.inputs, strict=True)}
    have = Counter(i.type.dtype for i in program.instrs if i.op == "cast")
    lost = _needed(_casts(nodes, dtypes), nodes, outputs) - have
    return f"the body has more casts to {', '.join(sorted(lost))}" if lost else ""
