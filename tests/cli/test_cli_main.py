"""Exit codes, streams, and what a start costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_fuse.cli.main import app_main

HEAVY = {"numpy", "onnx", "onnxruntime", "onnx_graphsurgeon", "rich", "google.protobuf"}
COMMAND = (sys.executable, "-m", "ascend_fuse")


def run(*args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, args)], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error; nothing may be on standard output."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ascend-fuse: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("args", [["--help"], ["optimize", "-h"], ["diff", "--help"], ["--version"]])
def test_asking_is_no_error(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(args) == 0
    out, err = capsys.readouterr()
    assert out
    assert err == ""


@pytest.mark.parametrize(
    "args",
    [
        ["frobnicate"], ["diff"], ["diff", "a", "b", "--format", "xml"],
        ["optimize", "m", "--min-gain", "-1"],
        ["optimize", "m", "--weights", "burn"], ["inline", "m"], [],
    ],
)  # fmt: skip
def test_usage_is_2(args: list[str]) -> None:
    assert app_main(args) == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["optimize", "m.onnx", "--dim", "batch"], "--dim batch: not a size"),
        (["optimize", "m.onnx", "--dim", "batch=0"], "positive integer"),
        (["optimize", "m.onnx", "--dim", "b=1", "--dim", "b=2"], "given twice"),
        (["optimize", "m.onnx", "--report", "r.pdf"], "r.pdf: no report format"),
        (["optimize", "m.onnx", "--in-place", "-o", "n.onnx"], "both --in-place and -o"),
        (["optimize", "m.onnx", "--report", "absent/r.md"], "absent/r.md: the report's folder does not exist"),
        (["optimize", "."], "give -o OUTDIR or --in-place"),
        (["optimize", "a.onnx", "b.onnx"], "several models, or a folder, need a folder to go to"),
        (["optimize", "a.onnx", "b.onnx", "-o", "o", "--in-place"], "both a folder and --in-place"),
        (["optimize", "a.onnx", "b.onnx", "-o", "o", "--plan", "p.json"], "a plan is of one model"),
        (["optimize", "m.onnx", "--config", "absent.toml"], "absent.toml: cannot read the configuration"),
        (["explain", "shape-unknwon"], "did you mean 'shape-unknown'"),
        (["explain", "AF999"], "AF999"),
        (["explain", "no-gain", "--node", "x"], "are for a model"),
        (["explain", "m.onnx", "--code", "no-gains"], "did you mean 'no-gain'"),
        (["explain", "m.onnx", "--rule", "AF999"], "AF999"),
        (["apply", "m.onnx", "absent.json"], "absent.json: cannot read the plan"),
        (["optimize", "m.onnx", "-o", "-"], "cannot go to standard output"),
        (["optimize", "m.onnx", "-o", os.devnull], "is a device"),
        (["optimize", "m.onnx", "--report", "r.md", "--report", "r.md"], "given twice"),
        (["optimize", "m.json", "--report", "m.json"], "the report is the input"),
        (["optimize", "m.onnx", "--dim", "batch=99999999999999999999"], "at most 2147483647"),
        (["rules", "AF999"], "AF999"),
        (["soc", "Ascend000"], "Ascend000"),
    ],
)
def test_configuration_is_2_and_one_line(args: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(args) == 2
    assert says in error_line(capsys)


@pytest.mark.parametrize("command", ["diff", "optimize", "inline", "verify"])
def test_a_bad_model_is_3(command: str, tmp_path: Path, chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"this is no model")
    rest = {"diff": [chain], "verify": [chain], "inline": ["-o", tmp_path / "o.onnx"], "optimize": []}[command]
    assert app_main([command, str(bad), *map(str, rest)]) == 3
    assert str(bad) in error_line(capsys)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx", "chain.onnx"]


@pytest.mark.parametrize(
    ("command", "kind"),
    [("diff", "missing"), ("diff", "folder"), ("optimize", "missing"), ("verify", "missing"), ("verify", "folder"),
     ("explain", "missing"), ("explain", "folder")],
)  # fmt: skip
def test_a_model_that_cannot_be_read_is_3(
    command: str, kind: str, tmp_path: Path, chain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.onnx"
    if kind == "folder":  # unreadable even for root
        bad.mkdir()
    assert app_main([command, str(bad), *([str(chain)] if command in ("diff", "verify") else [])]) == 3
    assert error_line(capsys).count(str(bad)) == 1


def test_what_nobody_foresaw_is_5(tmp_path: Path, chain: Path) -> None:
    (tmp_path / "lib" / "onnx").mkdir(parents=True)
    (tmp_path / "lib" / "onnx" / "__init__.py").write_text("raise RuntimeError('broken\\ninstallation')\n")
    path = os.pathsep.join([str(tmp_path / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run("diff", chain, chain, PYTHONPATH=path)
    assert done.returncode == 5
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "internal error: RuntimeError: broken installation" in done.stderr
    assert "--debug" in done.stderr
    traced = run("diff", chain, chain, "--debug", PYTHONPATH=path)
    assert traced.returncode == 5
    assert "Traceback" in traced.stderr


def test_names_reach_a_stream_that_lacks_them(tmp_path: Path, chain: Path) -> None:
    other = tmp_path / "層.onnx"
    other.write_bytes(chain.read_bytes())
    done = run("diff", chain, other, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "\\u5c64.onnx" in done.stdout


def test_json_is_pure(chain: Path) -> None:
    done = run("diff", chain, chain, "--format", "json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["same"] is True


@pytest.mark.parametrize(
    "args",
    [["--help"], ["optimize", "--help"], ["--version"], ["optimize"], ["config", "show", "--format", "json"],
     ["explain", "no-gain", "--format", "markdown"]],
)  # fmt: skip
def test_a_start_imports_nothing_heavy(args: list[str]) -> None:
    script = (
        "import sys\nfrom ascend_fuse.cli.main import app_main\n"
        f"code = app_main({args!r})\n"
        f"heavy = {HEAVY!r} & set(sys.modules)\n"
        "print(f'heavy={sorted(heavy)}')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy=[]"
