"""Differences that verification must see: each is put in on purpose."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from verify_sample import Save, make_model

import models
from ascend_fuse.verify import Verification, verify

SIZES = {"batch": 2, "seq": 8}


@pytest.fixture
def bert() -> onnx.ModelProto:
    return models.bert_layer("batch", "seq", hidden=32, heads=4)


def compare(a: onnx.ModelProto, b: onnx.ModelProto, write: Save) -> Verification:
    return verify(write(a, "a.onnx"), write(b, "b.onnx"), SIZES)


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    return copied


def node_of(model: onnx.ModelProto, op: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == op)


def set_weight(model: onnx.ModelProto, name: str, value: float) -> None:
    """Change one element."""
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name.endswith(name))
    values = numpy_helper.to_array(tensor).copy()
    values.reshape(-1)[3] = value
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def test_one_changed_weight(bert: onnx.ModelProto, write: Save) -> None:
    changed = copy_of(bert)
    tensor = next(t for t in bert.graph.initializer if t.name.endswith("query.weight"))
    next_float = np.nextafter(numpy_helper.to_array(tensor).reshape(-1)[3], np.float32(9))
    set_weight(changed, "query.weight", float(next_float))
    found = compare(bert, changed, write)
    assert not found.ok
    assert found.outputs[0].unequal > 0
    assert 0 < found.outputs[0].max_abs < 1e-3
    assert found.outputs[0].max_ulp > 0
    assert "elements differ" in found.failures()[0]


def test_changed_attribute(bert: onnx.ModelProto, write: Save) -> None:
    changed = copy_of(bert)
    for attribute in node_of(changed, "LayerNormalization").attribute:
        if attribute.name == "epsilon":
            attribute.f = 1e-3
    assert not compare(bert, changed, write).ok


def test_dropped_mask(bert: onnx.ModelProto, write: Save) -> None:
    """The Add of the mask before Softmax is bypassed: seen only because drawn masks have zeros."""
    changed = copy_of(bert)
    softmax = node_of(changed, "Softmax")
    add = next(node for node in changed.graph.node if softmax.input[0] in node.output)
    softmax.input[0] = add.input[0]
    found = compare(bert, changed, write)
    assert not found.ok
    assert found.outputs[0].max_abs > 1e-3


def test_nan_against_a_number(bert: onnx.ModelProto, write: Save) -> None:
    changed = copy_of(bert)
    set_weight(changed, "output.LayerNorm.bias", float("nan"))
    found = compare(bert, changed, write)
    assert not found.ok
    assert found.outputs[0].nan_mismatches > 0
    assert "NaN against a number" in found.failures()[0]


def test_nan_on_both_sides_is_equal_but_noted(write: Save) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    nan = helper.make_tensor("nan", TensorProto.FLOAT, [], [float("nan")])
    model = make_model([helper.make_node("Add", ["x", "nan"], ["y"])], [x], [y], [nan])
    found = compare(model, model, write)
    assert found.ok
    assert any("NaN" in note for note in found.notes)


def test_signed_zero(write: Save) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [4], [0.0] * 4)
    minus = helper.make_tensor("zero", TensorProto.FLOAT, [4], [-0.0] * 4)
    nodes = [helper.make_node("Sub", ["x", "x"], ["d"]), helper.make_node("Mul", ["d", "zero"], ["y"])]
    found = compare(make_model(nodes, [x], [y], [zero]), make_model(nodes, [x], [y], [minus]), write)
    assert not found.ok
    assert (found.outputs[0].max_abs, found.outputs[0].max_ulp) == (0.0, 0)


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        (lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[0], "dim_param", "b"), "input hidden"),
        (lambda m: setattr(m.graph.output[0].type.tensor_type.shape.dim[1], "dim_value", 8), "output last"),
        (lambda m: m.graph.input.reverse(), "input order was"),
    ],
)
def test_interface(bert: onnx.ModelProto, write: Save, edit, finding: str) -> None:
    changed = copy_of(bert)
    edit(changed)
    found = compare(bert, changed, write)
    assert not found.ok
    assert any(finding in sentence for sentence in found.interface), found.interface
    assert all(output.equal for output in found.outputs)


def test_lost_and_renamed_outputs(write: Save) -> None:
    model = models.add_layernorm(seq=4, hidden=16)
    lost = copy_of(model)
    del lost.graph.output[1]
    found = compare(model, lost, write)
    assert found.interface == ("output sum is missing",)
    assert not found.ok


def test_further_input_is_a_finding_not_a_crash(write: Save) -> None:
    model = models.add_layernorm(seq=4, hidden=16)
    more = copy_of(model)
    more.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1]))
    found = compare(model, more, write)
    assert not found.ok
    assert "input z is new" in found.interface
    assert found.outputs == ()


def test_overridable_initializer_is_part_of_the_interface(write: Save) -> None:
    model = models.add_layernorm(seq=4, hidden=16)
    open_model = copy_of(model)
    tensor = open_model.graph.initializer[0]
    open_model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    found = compare(open_model, model, write)
    assert not found.ok
    assert "could be overridden" in found.interface[0]
