"""Bad files: each with what, where and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ascend_fuse.error import ModelError
from ascend_fuse.graph.load import check_external, external_files, normalise, read_model

TEXT = '<ir_version: 10, opset_import: ["": 18]> g (float[2,8] x) => (float[2,8] y) { a = Relu (x) y = Add (a, w) }'


def model() -> ModelProto:
    made = onnx.parser.parse_model(TEXT)
    made.graph.initializer.append(numpy_helper.from_array(np.ones((2, 8), np.float32), "w"))
    return made


def external(location: str, offset: int = 0, length: int = 64) -> ModelProto:
    made = onnx.parser.parse_model(TEXT)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 8], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    made.graph.initializer.append(tensor)
    return made


def refused(error: pytest.ExceptionInfo[ModelError], what: str) -> None:
    assert what in error.value.what
    assert error.value.where
    assert error.value.do
    assert error.value.exit_code == 3


def test_a_whole_file(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "a.onnx")
    assert read_model(tmp_path / "a.onnx") == model()


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as e:
        read_model(tmp_path / "none.onnx")
    refused(e, "no such file")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as e:
        read_model(tmp_path)
    refused(e, "cannot read")


def test_truncated_anywhere(tmp_path: Path) -> None:
    """At no length does a cut file give another model: it is refused here, or for its graph."""
    data = model().SerializeToString()
    path = tmp_path / "a.onnx"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        try:
            cut = read_model(path)
        except ModelError as e:
            assert e.do and str(path) in e.where
        else:  # protobuf ends where a field ends: the fields behind are gone
            assert len(cut.SerializeToString()) == length


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x00" * 64, b"<html></html>"])
def test_no_model(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError) as e:
        read_model(path)
    refused(e, "model")


def test_external_data_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(bytes(128))
    made = external("sub/w.bin", 64)
    check_external(made, tmp_path)
    assert external_files(made) == ("sub/w.bin",)


def test_external_data_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as e:
        check_external(external("w.bin"), tmp_path)
    refused(e, "data file of tensor w is missing")


@pytest.mark.parametrize("offset", [1, 64, 1 << 40])
def test_external_data_short(offset: int, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(64))
    with pytest.raises(ModelError) as e:
        check_external(external("w.bin", offset), tmp_path)
    refused(e, f"tensor w ends at byte {offset + 64}")


@pytest.mark.parametrize("location", ["../w.bin", "sub/../../w.bin", "/etc/passwd", "."])
def test_external_data_escaping(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(64))
    with pytest.raises(ModelError) as e:
        check_external(external(location), folder)
    refused(e, "outside the model's folder")


def test_external_data_of_a_subgraph_counts(tmp_path: Path) -> None:
    inner = external("w.bin").graph
    inner.name = "inner"
    outer = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], "g", [], [])
    made = helper.make_model(outer)
    assert external_files(made) == ("w.bin",)
    with pytest.raises(ModelError):
        check_external(made, tmp_path)


@pytest.mark.parametrize(
    ("opset", "what", "do"),
    [(6, "opset 6 of the default domain is older than 7", "version_converter"), (0, "no default opset", "export")],
)
def test_opsets(opset: int, what: str, do: str) -> None:
    made = model()
    del made.opset_import[:]
    if opset:
        made.opset_import.append(helper.make_opsetid("", opset))
    with pytest.raises(ModelError) as e:
        normalise(made)
    refused(e, what)
    assert do in e.value.do


def test_a_value_made_twice() -> None:
    made = model()
    made.graph.node[1].output[0] = "a"
    with pytest.raises(ModelError) as e:
        normalise(made)
    refused(e, "value a is made twice")


def test_an_input_made_again() -> None:
    made = model()
    made.graph.node[0].output[0] = "x"
    with pytest.raises(ModelError) as e:
        normalise(made)
    refused(e, "value x is made twice")


def test_unsorted_nodes_are_sorted_with_a_note() -> None:
    made = model()
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in made.graph.node][::-1]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    notes = normalise(made)
    assert [n.op_type for n in made.graph.node] == ["Relu", "Add"]
    assert any("sorted" in n for n in notes)
