"""Every bad or odd model: the exit code, the words, nothing half done; what ONNX Runtime loads, it still loads."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import external_case
import function_case
import name_case
import onnxruntime
import opset_case
import pytest
import tensor_case
import value_case
from input_case import Case

from ascend_fuse.cli.main import app_main

MODULES = (opset_case, value_case, tensor_case, function_case, name_case)
SLOW_IN_ORT = ("2^40 calls", "20,000 inputs")  # it expands the one and looks every name up in the other


def loads(path: Path) -> bool:
    """Whether ONNX Runtime makes a session of it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:  # of many kinds
        return False
    return True


def treated(case: Case, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Optimise the case's model in a folder, as a command, and look at all that can be seen."""
    made = case.make()
    path, target, report = folder / "bad.onnx", folder / "out" / "o.onnx", folder / "out" / "r.md"
    target.parent.mkdir()
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    before = path.read_bytes()
    code = app_main(["optimize", str(path), "-o", str(target), "--report", str(report)])
    out, err = capsys.readouterr()
    said = out + err
    assert code == case.code, said[-600:]
    for word in case.words:
        assert word in said
    assert "Traceback" not in said and "internal error" not in said
    assert all(line.isprintable() for line in said.splitlines())
    assert path.read_bytes() == before
    left = {p.name for p in target.parent.iterdir()} - {"w.bin", "sub", "link.bin", "bad.onnx"}
    assert left == (set() if code else {"o.onnx", "r.md"})
    if code:
        assert err.startswith("ascend-fuse: error: ") and err.count("\n") == 1 and len(err) < 6000
    elif case.name not in SLOW_IN_ORT and loads(path):
        assert loads(target)


@pytest.mark.parametrize("case", [c for m in MODULES for c in m.CASES], ids=lambda c: c.name)
def test_a_model(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    treated(case, tmp_path, capsys)


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with data files, links and what is no file; a secret outside."""
    (tmp_path / "secret").write_bytes(bytes(64))
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "v.bin").write_bytes(bytes(64))
    folder = tmp_path / "m"
    (folder / "sub").mkdir(parents=True)
    for name in ("w.bin", "sub/v.bin"):
        (folder / name).write_bytes(bytes(range(64)))
    for name, to in (("link.bin", "w.bin"), ("dangling.bin", "gone"), ("out.bin", "../secret"), ("outside", "../far")):
        (folder / name).symlink_to(to)
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("case", external_case.CASES, ids=lambda c: c.name)
def test_external_data(case: Case, beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    treated(case, beside, capsys)


def test_a_model_that_is_a_link_may_have_its_data_where_it_links_to(tmp_path: Path) -> None:
    """As a cache of downloads has it: both files are links into a folder of blobs."""
    blobs, folder = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    folder.mkdir()
    (blobs / "1").write_bytes(external_case.beside().SerializeToString())
    (blobs / "2").write_bytes(bytes(64))
    for name, blob in (("m.onnx", "1"), ("w.bin", "2")):
        (folder / name).symlink_to(Path("..") / "blobs" / blob)
    assert loads(folder / "m.onnx")
    assert app_main(["optimize", str(folder / "m.onnx"), "-q"]) == 0
    shutil.move(blobs / "2", tmp_path / "3")
    (folder / "w.bin").unlink()
    (folder / "w.bin").symlink_to(Path("..") / "3")
    assert app_main(["optimize", str(folder / "m.onnx"), "-q"]) == 3
