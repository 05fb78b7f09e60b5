"""The second opinion of the program proof: body and program in double precision, where rounding excuses nothing.

In float32 two right answers may differ widely, as where ONNX Runtime takes a variance as E[x²] - E[x]² of nearly equal
values. What differs for any other reason still does in double precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, inliner, numpy_helper

from ascend_fuse.error import AscendFuseError
from ascend_fuse.graph.view import constant_value
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.program import Instr, Operand, Program, Type
from ascend_fuse.proof.body import open_body

Array = npt.NDArray[Any]
# Of the value, and of the outputs' greatest: double precision over ≤ 64 roundings and a cancellation of float32's.
CLOSE = (1e-6, 1e-10)
STASHED = ("GroupNormalization", "RMSNormalization")


def doubled(program: Program) -> Program:
    """The program computed in f64, with its literals as float32 holds them."""

    def wide(t: Type) -> Type:
        return replace(t, dtype="f64" if t.dtype == "f32" else t.dtype)

    def held(o: Operand) -> Operand:
        return float(np.float32(o)) if isinstance(o, float) else o

    def line(i: Instr) -> Instr:
        return replace(i, type=wide(i.type), operands=tuple(map(held, i.operands)))

    inputs = tuple(replace(i, type=wide(i.type)) for i in program.inputs)
    return replace(program, inputs=inputs, instrs=tuple(map(line, program.instrs)))


def _wide_node(node: NodeProto) -> NodeProto:
    out = NodeProto()
    out.CopyFrom(node)
    value = constant_value(node) if node.op_type == "Constant" else None
    if value is not None and value.dtype == np.float32:
        tensor = numpy_helper.from_array(value.astype(np.float64))
        return helper.make_node("Constant", [], list(node.output), value=tensor)
    for a in out.attribute:
        if a.name == "to" and a.i == TensorProto.FLOAT:
            a.i = TensorProto.DOUBLE
        if a.name == "value" and a.t.data_type == TensorProto.FLOAT:
            a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float64)))
    if out.op_type in STASHED:  # or their functions would cast to float32 inside
        kept = [a for a in out.attribute if a.name != "stash_type"]
        del out.attribute[:]
        out.attribute.extend([*kept, helper.make_attribute("stash_type", TensorProto.DOUBLE)])
    return out


def _wide_model(model: ModelProto) -> ModelProto:
    out = ModelProto()
    out.CopyFrom(model)
    del out.graph.node[:]
    out.graph.node.extend(map(_wide_node, model.graph.node))
    for v in (*out.graph.input, *out.graph.output):
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = TensorProto.DOUBLE
    if any(n.op_type in STASHED for n in out.graph.node):  # onnx's evaluator does not find the functions by itself
        return inliner.inline_selected_functions(out, [("", op) for op in STASHED], inline_schema_functions=True)
    return out


def agrees(program: Program, body: ModelProto, feeds: Mapping[str, Array], outputs: Sequence[str]) -> bool:
    """Whether the program equals the body on the feeds (in the order of its inputs), both in double precision.

    False as well where nothing here runs the body in it.
    """
    wide = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in feeds.items()}
    try:
        want = open_body(_wide_model(body), "a body in double precision").run(wide)
    except AscendFuseError:
        return False
    got = evaluate(doubled(program), list(wide.values()), {})
    return all(_close(np.asarray(want[name]), value) for name, value in zip(outputs, got, strict=True))


def _close(want: Array, got: Array) -> bool:
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if want.dtype.kind != "f":
        return bool((want == got).all())
    with np.errstate(all="ignore"):
        greatest = np.max(np.abs(want), initial=0.0, where=np.isfinite(want))
        near = np.abs(want - got) <= CLOSE[0] * np.abs(want) + CLOSE[1] * greatest
    return bool((near | (want == got) | (np.isnan(want) & np.isnan(got))).all())
