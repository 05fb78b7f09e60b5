"""Casts of the body that the program lacks: what an evaluation at float32 cannot see.

A sum of squares that the body computes in f32 between two Casts overflows in f16, with any input beyond 256.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from onnx import NodeProto

from ascend_fuse.graph.type import DTYPE_OF_ONNX
from ascend_fuse.graph.view import constant_value
from ascend_fuse.program.op import FLOATS
from ascend_fuse.program.program import Program


def _casts(nodes: Sequence[NodeProto], dtypes: Mapping[str, str]) -> Counter[str]:
    """How often the body casts to each float type; a Cast to the type that a value has is none."""
    known = dict(dtypes)
    found: Counter[str] = Counter()
    for node in nodes:
        source = next((known[i] for i in node.input if known.get(i) in FLOATS), "")
        result = source
        if node.op_type == "Cast":
            result = DTYPE_OF_ONNX.get(next(a.i for a in node.attribute if a.name == "to"), "")
            found[result] += result != source and result in FLOATS
        elif node.op_type == "Constant" and (value := constant_value(node)) is not None:
            result = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}.get(str(value.dtype), "")
        known.update(dict.fromkeys(node.output, result))
    return found


def lost_casts(program: Program, nodes: Sequence[NodeProto], inputs: Sequence[str]) -> str:
    """ "" when the program casts to each float type at least as often as the body, else which it lacks."""
    dtypes = {name: line.type.dtype for name, line in zip(inputs, program.inputs, strict=True)}
    have = Counter(i.type.dtype for i in program.instrs if i.op == "cast")
    lost = _casts(nodes, dtypes) - have
    return f"the body has more casts to {', '.join(sorted(lost))}" if lost else ""
