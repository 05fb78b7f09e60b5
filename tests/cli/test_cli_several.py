"""Several models and folders: what is written where, what one bad model costs, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data

from ascend_fuse.batch import optimize_all
from ascend_fuse.cli.main import app_main
from ascend_fuse.config import Settings
from ascend_fuse.error import UsageError
from ascend_fuse.report.batch import batch_page
from ascend_fuse.report.text import render_text
from models import BUILDERS
from models import save as save_model

WriteModel = Callable[[str, str], Path]
NAMED = """
<ir_version: 10, opset_import: ["" : 17]>
chain (float[seq, 64] x) => (float[seq, 64] y) { a = Add (x, x) b = Mul (a, x) y = Relu (b) }
"""


@pytest.fixture
def folder(tmp_path: Path, chain: Path) -> Path:
    """in/a.onnx, in/sub/b.onnx, and files that are no models of ours."""
    top = tmp_path / "in"
    (top / "sub").mkdir(parents=True)
    (top / ".hidden").mkdir()
    for name in ("a.onnx", "sub/b.onnx", ".hidden/c.onnx", ".d.onnx", "a.txt"):
        (top / name).write_bytes(chain.read_bytes())
    return top


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def run(*args: object) -> int:
    return app_main([str(a) for a in args])


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_keeps_its_relative_paths(
    folder: Path, chain: Path, tmp_path: Path, jobs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "alone.onnx"
    assert run("optimize", chain, "-o", alone, "-q") == 0
    assert run("optimize", chain, folder, "-o", tmp_path / "out" / "deep", "--jobs", jobs) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert tree(tmp_path / "out" / "deep") == {"chain.onnx", "a.onnx", "sub/b.onnx"}
    for name in ("chain.onnx", "a.onnx", "sub/b.onnx"):
        assert (tmp_path / "out" / "deep" / name).read_bytes() == alone.read_bytes()
    assert "3 models done, 0 failed; 3 written." in out
    assert "failed (" not in out


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_bad_model_does_not_stop_the_others(
    folder: Path, tmp_path: Path, jobs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.onnx").write_bytes(b"this is no model")
    report = tmp_path / "r.json"
    args = ("optimize", folder, tmp_path / "absent.onnx", "-o", tmp_path / "out", "--jobs", jobs, "--format", "json")
    assert run(*args, "--report", report) == 3
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document == json.loads(report.read_text("utf-8"))
    assert document["schema"] == "ascend-fuse/batch/1"
    assert (document["exit_code"], document["interrupted"]) == (3, False)
    told = {Path(m["model"]).name: m for m in document["models"]}
    assert list(told) == ["a.onnx", "bad.onnx", "b.onnx", "absent.onnx"]
    for name, model in told.items():
        if name in ("bad.onnx", "absent.onnx"):
            assert model["error"]["exit_code"] == 3
            assert name in model["error"]["what"]
            assert (model["plan"], model["output"]) == (None, None)
        else:
            assert model["error"] is None
            assert model["plan"]["schema"] == "ascend-fuse/plan/1"
            assert Path(model["output"]).is_file()
    assert tree(tmp_path / "out") == {"a.onnx", "sub/b.onnx"}
    lines = err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("ascend-fuse: error: ") for line in lines)


def test_the_exit_code_is_the_highest(folder: Path, tmp_path: Path) -> None:
    (folder / "bad.onnx").write_bytes(b"this is no model")
    batch = optimize_all([folder], Settings(dims={"bach": 3}), output=tmp_path / "out")
    assert [o.error.exit_code if o.error else 0 for o in batch.outcomes] == [0, 3, 0]
    assert batch.absent_sizes == ("bach",)
    assert batch.exit_code == 3
    (folder / "bad.onnx").unlink()
    assert optimize_all([folder], Settings(dims={"bach": 3}), output=tmp_path / "out").exit_code == 2


def test_a_size_is_for_the_models_that_have_it(
    write_model: WriteModel, chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_model("named.onnx", NAMED)
    args = ("optimize", chain, other, "-o", tmp_path / "out", "--format", "json")
    assert run(*args, "--dim", "seq=8", "--dim", "batch=3") == 0
    first, second = json.loads(capsys.readouterr().out)["models"]
    assert (first["plan"]["dims"], second["plan"]["dims"]) == ({"batch": 3}, {"seq": 8})
    assert first["plan"]["notes"] == ["no size of this model is called 'seq': known are batch"]
    assert run(*args, "--dim", "seqq=8") == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["absent_sizes"] == ["seqq"]
    assert err == "ascend-fuse: error: --dim: none of the models has a size 'seqq'; did you mean 'seq'?\n"


def test_in_place_and_again(folder: Path, chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(folder)
    assert run("optimize", folder, folder / "a.onnx", "--in-place") == 0
    assert "2 models done, 0 failed; 2 written." in capsys.readouterr().out
    assert tree(folder) == before
    assert (folder / "a.onnx").read_bytes() != chain.read_bytes()
    assert (folder / ".d.onnx").read_bytes() == chain.read_bytes()
    assert run("optimize", folder, "--in-place") == 0
    assert capsys.readouterr().out.count("already fused") == 2


def test_a_folder_may_hold_its_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # the second time, what the first wrote is no input
        assert run("optimize", folder, "-o", folder / "fused", "--format", "json") == 0
        assert len(json.loads(capsys.readouterr().out)["models"]) == 2
    assert tree(folder / "fused") == {"a.onnx", "sub/b.onnx"}


def test_one_model_for_a_folder_that_is_there(chain: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert run("optimize", chain, "-o", tmp_path / "out", "-q") == 0
    assert tree(tmp_path / "out") == {"chain.onnx"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["in/a.onnx", "other/a.onnx", "-o", "out"], "would both be written there"),
        (["in", "other", "-o", "out"], "would both be written there"),
        (["in", "-o", "in"], "the output is the input"),
        (["other", "in/sub/b.onnx", "-o", "in"], "an output is an input"),
        (["empty", "-o", "out"], "no *.onnx is under the folder"),
        (["in", "-o", "file"], "need a folder to go to"),
        (["in", "-o", "file/out"], "cannot create the folder"),
        (["in", "-o", "out", "--report", "out/a.onnx"], "no report format"),
        (["in", "-o", "out", "--report", "absent/r.md"], "the report's folder does not exist"),
        (["in", "-o", "out", "--soc", "Ascend000"], "Ascend000"),
        (["in", "-o", "out", "--ignore", "AF999"], "AF999"),
        (["in", "-o", "out", "--jobs", "0"], "--jobs"),
    ],
)  # fmt: skip
def test_what_can_be_refused_is_refused_before_anything_runs(
    args: list[str], says: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name in ("other", "other/sub", "empty"):
        (tmp_path / name).mkdir()
    for name in ("a.onnx", "sub/b.onnx"):
        (tmp_path / "other" / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert run("optimize", *args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert not (tmp_path / "out").exists()


def external(path: Path, weight: float, data: str = "weights.bin") -> Path:
    """A model whose one weight lies in a file beside it."""
    model = onnx.parser.parse_model(NAMED.replace("Add (x, x)", "Add (x, w)"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((64,), weight, np.float32), "w"))
    convert_model_to_external_data(model, location=data, size_threshold=0)
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path)
    return path


def test_data_files_of_one_name_are_refused(tmp_path: Path) -> None:
    a, b = external(tmp_path / "a" / "m.onnx", 1.0), external(tmp_path / "b" / "n.onnx", 2.0)
    with pytest.raises(UsageError, match=r"weights\.bin: .* would both be written there"):
        optimize_all([a, b], output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("weights", ["link", "copy"])
def test_models_may_share_a_data_file(tmp_path: Path, weights: Any) -> None:
    external(tmp_path / "in" / "m.onnx", 1.0)
    (tmp_path / "in" / "n.onnx").write_bytes((tmp_path / "in" / "m.onnx").read_bytes())
    external(tmp_path / "in" / "o.onnx", 2.0, "other.bin")
    settings = Settings(jobs=2, weights=weights, verify=True)
    batch = optimize_all([tmp_path / "in"], settings, output=tmp_path / "out")
    assert batch.exit_code == 0, batch.errors
    assert tree(tmp_path / "out") == {"m.onnx", "n.onnx", "o.onnx", "weights.bin", "other.bin"}
    assert (tmp_path / "out" / "weights.bin").samefile(tmp_path / "in" / "weights.bin") == (weights == "link")
    assert all(o.verification is not None and o.verification.ok for o in batch.outcomes)


def test_a_report_holds_every_model(folder: Path, tmp_path: Path) -> None:
    (folder / "bad.onnx").write_bytes(b"this is no model")
    reports = [tmp_path / "r.md", tmp_path / "r.txt"]
    batch = optimize_all([folder], output=tmp_path / "out", reports=reports)
    for path in reports:
        text = path.read_text("utf-8")
        for name in ("a.onnx: Fusions", "b.onnx: Not fused", "cannot parse the model"):
            assert name in text
    assert "Fusions" not in render_text(batch_page(batch))


DYING = """
import os, sys
from ascend_fuse import task
read = task.read_model
def dying(path):
    if path.name == "crash.onnx" and __name__ != "__main__":  # in a worker, whose main module has another name
        os._exit(9)
    return read(path)
task.read_model = dying
from ascend_fuse.cli.main import app_main
if __name__ == "__main__":
    sys.exit(app_main(sys.argv[1:]))
"""


def test_a_process_that_dies_costs_one_model(folder: Path, tmp_path: Path) -> None:
    """A library that crashes takes its process along; the others of the pool are done again."""
    (folder / "crash.onnx").write_bytes(b"")
    (tmp_path / "main.py").write_text(DYING)
    args = ["optimize", str(folder), "-o", str(tmp_path / "out"), "--jobs", "2", "--format", "json"]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "main.py"), *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    models = json.loads(done.stdout)["models"]
    assert [Path(m["model"]).name for m in models if m["error"]] == ["crash.onnx"]
    assert "the process ended" in done.stderr
    assert tree(tmp_path / "out") == {"a.onnx", "sub/b.onnx"}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupting_says_what_was_done(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "in").mkdir()
    save_model(BUILDERS["bert-layer"](), tmp_path / "in" / "m00.onnx")
    for k in range(1, 60):
        os.link(tmp_path / "in" / "m00.onnx", tmp_path / "in" / f"m{k:02}.onnx")
    out = tmp_path / "out"
    args = ["optimize", str(tmp_path / "in"), "-o", str(out), "--jobs", str(jobs), "--format", "json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ascend_fuse", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    # by then each process has imported what it needs
    while len(list(out.glob("m*.onnx"))) < 4 * jobs and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    text, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err == "ascend-fuse: interrupted; nothing is half-written\n"
    document = json.loads(text)
    assert (document["interrupted"], document["exit_code"]) == (True, 130)
    written = {Path(m["output"]).name for m in document["models"]}
    assert 0 < len(written) < 60
    assert {p.name for p in out.iterdir()} == written
    for name in written:
        onnx.load(out / name)
