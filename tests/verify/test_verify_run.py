"""Models that cannot be compared: each says what, where and what to do."""

from pathlib import Path

import pytest
from onnx import TensorProto, helper
from verify_sample import Save, make_model

import models
from ascend_fuse.error import ModelError, UsageError, VerificationError
from ascend_fuse.verify import verify

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)


def test_bfloat16(write: Save) -> None:
    path = write(models.attention_training("dropout", "bfloat16", heads=2, seq=4))
    with pytest.raises(VerificationError, match=r"not runnable.*float16 export") as caught:
        verify(path, path)
    assert caught.value.do


def test_bfloat16_inside_alone(write: Save) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BFLOAT16),
        helper.make_node("Add", ["b", "b"], ["c"]),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    path = write(make_model(nodes, [X], [Y]))
    with pytest.raises(VerificationError, match=r"not runnable.*bfloat16") as caught:
        verify(path, path)
    assert caught.value.where == str(path)


def test_operator_without_a_kernel(write: Save) -> None:
    model = make_model([helper.make_node("Mystery", ["x"], ["y"], domain="com.example")], [X], [Y])
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    path = write(model)
    with pytest.raises(VerificationError, match=r"not runnable.*com\.example.*leave verification out"):
        verify(path, path)


def test_run_that_fails_names_the_model(write: Save) -> None:
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [7])
    path = write(make_model([helper.make_node("Reshape", ["x", "shape"], ["y"])], [X], [Y], [shape]))
    with pytest.raises(UsageError, match=r"does not run on drawn inputs: .*inputs of your own") as caught:
        verify(path, path)
    assert caught.value.where == str(path)


def test_run_that_fails_names_the_sizes(write: Save) -> None:
    """Nothing is said of the other model: this is no difference (4) but a size to give (2)."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", None])
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [12])
    path = write(make_model([helper.make_node("Reshape", ["x", "shape"], ["y"])], [x], [Y], [shape]))
    with pytest.raises(UsageError, match=r"sizes rows=64, x:1=64: .*by --dim.*`ascend-fuse verify` alone"):
        verify(path, path)
    assert verify(path, path, sizes={"rows": 3, "x:1": 4}).ok


@pytest.mark.parametrize(
    ("payload", "says"), [(None, "no such file"), (b"this is no protobuf message", "cannot parse the model")]
)
def test_no_model(tmp_path: Path, payload: bytes | None, says: str) -> None:
    path = tmp_path / "model.onnx"
    if payload is not None:
        path.write_bytes(payload)
    with pytest.raises(ModelError, match=says) as caught:
        verify(path, path)
    assert caught.value.where == str(path)
    assert caught.value.sentence().count(str(path)) == 1


def test_no_run(write: Save) -> None:
    path = write(models.add_layernorm(seq=2, hidden=8))
    with pytest.raises(UsageError, match="runs=0"):
        verify(path, path, runs=0)
