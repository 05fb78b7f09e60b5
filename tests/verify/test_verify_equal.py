"""Models that compute the same: as copies, with function bodies, with external weights, over 2 GB."""

import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from verify_sample import Save, fuse

import models
from ascend_fuse.verify import verify

SMALL_BERT = models.bert_layer("batch", "seq", hidden=32, heads=4)
SMALL_LLAMA = models.llama_block(64, 4, 2, 96, batch="batch", seq="seq")


@pytest.mark.parametrize("model", [SMALL_BERT, SMALL_LLAMA, models.add_layernorm(), models.add_rmsnorm()])
def test_equals_itself(model: onnx.ModelProto, write: Save) -> None:
    found = verify(write(model, "a.onnx"), write(model, "b.onnx"), {"batch": 2, "seq": 7}, runs=2)
    assert found.ok, found.failures()
    assert found.runs == 2
    assert found.random_nodes == 0


def test_sizes_are_recorded_and_used(write: Save) -> None:
    path = write(SMALL_BERT)
    found = verify(path, path, {"batch": 3, "seq": 5})
    assert dict(found.sizes) == {"batch": 3, "seq": 5}
    assert found.outputs[0].shape == (3, 5, 32)
    default = verify(path, path)
    assert dict(default.sizes) == {"batch": 1, "seq": 128}


def test_a_size_that_no_input_has_is_noted(write: Save) -> None:
    path = write(SMALL_BERT)
    assert any("sequence" in note for note in verify(path, path, {"sequence": 5}).notes)


@pytest.mark.parametrize("model", [SMALL_BERT, SMALL_LLAMA])
def test_function_bodies(model: onnx.ModelProto, write: Save) -> None:
    movable = [k for k, node in enumerate(model.graph.node) if node.op_type != "Constant"]
    groups = [[k] for k in movable[: len(movable) // 2]]
    fused = fuse(model, groups)
    assert fused.functions
    found = verify(write(model, "a.onnx"), write(fused, "b.onnx"), {"seq": 9})
    assert found.ok, found.failures()


def test_function_body_of_several_nodes_with_two_outputs(write: Save) -> None:
    model = models.add_rmsnorm(seq=8, hidden=64)
    fused = fuse(model, [range(len(model.graph.node))])
    assert len(fused.graph.node) == 1
    found = verify(write(model, "a.onnx"), write(fused, "b.onnx"))
    assert found.ok, found.failures()
    assert [output.name for output in found.outputs] == ["normed", "sum"]


def test_over_two_gigabytes(tmp_path: Path) -> None:
    original = models.save(models.llama_7b(layers=3, seq=2, weights="zero-external"), tmp_path / "big.onnx")
    weights = tmp_path / "big.onnx.data"
    assert weights.stat().st_size > 2**31
    model = onnx.load(original, load_external_data=False)
    first = next(k for k, node in enumerate(model.graph.node) if node.op_type == "Sigmoid")
    fused = tmp_path / "fused.onnx"
    fused.write_bytes(fuse(model, [[first, first + 1]]).SerializeToString())
    found = verify(original, fused)
    assert found.ok, found.failures()


def test_weights_beside_a_model_in_another_folder(tmp_path: Path) -> None:
    model = models.llama_block(64, 4, 4, 96, seq=4, weights="zero-external")
    a = models.save(model, tmp_path / "a" / "model.onnx")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert verify(a, tmp_path / "b" / "model.onnx").ok


def test_import_stays_light() -> None:
    code = (
        "import sys, ascend_fuse.verify, ascend_fuse.verify.result\n"
        "print([name for name in ('numpy', 'onnx', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
