"""The structural proof under mutation of the fused model: each change is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, NodeProto, numpy_helper
from proof_claim import TEXTS, sample

import ascend_fuse
from ascend_fuse.error import InternalError
from ascend_fuse.proof.structure import Numbers, prove_structure, signature

# Two regions with bodies of their own, nodes beside them, a constant that a body carries, an attribute in a body.
TEXT = """
<ir_version: 10, opset_import: ["": 18]>
g (float[4,256,64] x, float[4,256,64] r, float[64,64] w) => (float[4,256,64] y, float[4,256,64] z)
<float scale = {0.125}, float[64] gain, float[64] bias>
{
  s = Sub (x, r)
  n = LayerNormalization <epsilon = 0.01> (s, gain, bias)
  p = MatMul (n, w)
  a = Mul (p, scale)
  b = Sub (a, s)
  y = LeakyRelu <alpha = 0.1> (b)
  z = Trilu (n)
}
"""


def original() -> ModelProto:
    model = onnx.parser.parse_model(TEXT)
    held = {t.name for t in model.graph.initializer}
    for name in ("gain", "bias"):
        if name not in held:
            model.graph.initializer.append(numpy_helper.from_array(np.ones(64, np.float32), name))
    return model


def fused() -> ModelProto:
    return ascend_fuse.optimize(original()).model


def calls(model: ModelProto) -> list[NodeProto]:
    return [n for n in model.graph.node if n.domain == "ai.ascendfuse"]


def body(model: ModelProto, op: str) -> NodeProto:
    """The first node of that operator in any body."""
    return next(n for f in model.functions for n in f.node if n.op_type == op)


def swap_inputs(model: ModelProto) -> None:
    node = calls(model)[0]
    node.input[0], node.input[1] = node.input[1], node.input[0]


def swap_outputs(model: ModelProto) -> None:
    node = next(n for n in calls(model) if len(n.output) > 1)
    node.output[0], node.output[1] = node.output[1], node.output[0]


def change_attribute(model: ModelProto) -> None:
    body(model, "LayerNormalization").attribute[0].f = 0.02


def drop_attribute(model: ModelProto) -> None:
    del body(model, "LayerNormalization").attribute[:]


def change_scalar(model: ModelProto) -> None:
    tensor = body(model, "Constant").attribute[0].t
    tensor.CopyFrom(numpy_helper.from_array(np.float32(0.25).reshape(())))


def change_scalar_shape(model: ModelProto) -> None:
    """[1] for [] may add an axis."""
    tensor = body(model, "Constant").attribute[0].t
    tensor.CopyFrom(numpy_helper.from_array(np.asarray([0.125], np.float32)))


def change_scalar_type(model: ModelProto) -> None:
    tensor = body(model, "Constant").attribute[0].t
    tensor.CopyFrom(numpy_helper.from_array(np.float64(0.125).reshape(())))


def drop_node(model: ModelProto) -> None:
    node = next(n for n in model.graph.node if n.op_type == "Trilu")
    model.graph.node.remove(node)


def drop_body_node(model: ModelProto) -> None:
    function = next(f for f in model.functions if any(n.op_type == "LeakyRelu" for n in f.node))
    function.node.remove(function.node[-1])
    function.node[-1].output[0] = function.output[0]


def add_node(model: ModelProto) -> None:
    model.graph.node.append(onnx.helper.make_node("Neg", ["y"], ["unused"]))


def rewire_output(model: ModelProto) -> None:
    """z becomes the triangle of another value of that shape."""
    next(n for n in model.graph.node if n.op_type == "Trilu").input[0] = "x"


def rewire_call(model: ModelProto) -> None:
    node = calls(model)[-1]
    node.input[list(node.input).index("s")] = "n"


def swap_body_operands(model: ModelProto) -> None:
    node = body(model, "Sub")
    node.input[0], node.input[1] = node.input[1], node.input[0]


def change_body_operator(model: ModelProto) -> None:
    body(model, "Sub").op_type = "Add"


def change_weight(model: ModelProto) -> None:
    """Another initializer in the place of one."""
    node = calls(model)[0]
    at = list(node.input).index("gain")
    node.input[at] = "bias"


def rename_outputs(model: ModelProto) -> None:
    """The graph's two outputs have each other's value."""
    for node in model.graph.node:
        for k, name in enumerate(node.output):
            node.output[k] = {"y": "z", "z": "y"}.get(name, name)


def wrong_function(model: ModelProto) -> None:
    """A function of another signature."""
    first, second = calls(model)
    first.op_type, second.op_type = second.op_type, first.op_type


def unknown_function(model: ModelProto) -> None:
    calls(model)[0].op_type = "FusedRowwise_000000000000"


def alike_function(model: ModelProto) -> None:
    """A function of the same signature that computes something else."""
    node = calls(model)[-1]
    function = next(f for f in model.functions if f.name == node.op_type)
    other = onnx.FunctionProto.FromString(function.SerializeToString())
    other.name = node.op_type = "FusedElementwise_000000000000"
    other.node[-1].attribute[0].f = 0.2
    model.functions.append(other)


MUTATIONS: tuple[Callable[[ModelProto], None], ...] = (
    swap_inputs, swap_outputs, change_attribute, drop_attribute, change_scalar, change_scalar_shape, change_scalar_type,
    drop_node, drop_body_node, add_node, rewire_output, rewire_call, swap_body_operands, change_body_operator,
    change_weight, rename_outputs, wrong_function,
    unknown_function, alike_function,
)  # fmt: skip


def test_the_fused_model_is_proved() -> None:
    model = fused()
    assert len(calls(model)) == 2
    numbers = Numbers()
    prove_structure(signature(original(), numbers), signature(model, numbers))


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda m: m.__name__)
def test_a_change_is_refused(mutate: Callable[[ModelProto], None]) -> None:
    model = fused()
    before = model.SerializeToString(deterministic=True)
    mutate(model)
    assert model.SerializeToString(deterministic=True) != before
    numbers = Numbers()
    with pytest.raises(InternalError) as caught:
        prove_structure(signature(original(), numbers), signature(model, numbers))
    assert caught.value.where == "structural proof"
    assert caught.value.exit_code == 5


def test_names_order_and_documentation_do_not_matter() -> None:
    model = fused()
    for k, node in enumerate(model.graph.node):
        node.name, node.doc_string = f"other{k}", "said"
    nodes = list(model.graph.node)
    at = next(k for k, n in enumerate(nodes) if n.op_type == "Trilu")
    moved = [*nodes[:at], *nodes[at + 1 :], nodes[at]]
    copies = [NodeProto.FromString(n.SerializeToString()) for n in moved]
    del model.graph.node[:]
    model.graph.node.extend(copies)
    numbers = Numbers()
    prove_structure(signature(original(), numbers), signature(model, numbers))


@pytest.mark.parametrize("name", TEXTS)
def test_every_sample_is_proved(name: str) -> None:
    made = sample(name)
    numbers = Numbers()
    prove_structure(signature(made.before, numbers), signature(made.after, numbers))
    assert calls(made.after)
