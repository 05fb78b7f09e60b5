"""What people type who have not read the documentation, and what they are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ascend_fuse
from ascend_fuse.cli.main import app_main


def told(capsys: pytest.CaptureFixture[str], code: int, *args: object) -> str:
    """What the command says on standard error, with that exit code."""
    assert app_main([str(a) for a in args]) == code
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["frobnicate"], "no such command 'frobnicate'; see `ascend-fuse --help`"),
        (["diff"], "missing argument 'A'; see `ascend-fuse diff --help`"),
        (["optimize", "m", "--jobs", "x"], "invalid value for '--jobs'"),
        (["optimize", "m", "--selct", "A"], "--selct"),
        (["optimize", "m", "--launch-us", "-3"], "error: --launch-us: cannot be -3.0; give a number from 0 to 1000"),
        (["optimize", "m", "--select", "AF101,AF302"], "give the option once for each rule: --select AF101 --select"),
        (["optimize", "m", "--select", "MatMul"], "--select: no rule 'MatMul'"),
        (
            ["optimize", "m", "--select", "AF101", "--ignore", "AF1*"],
            "--ignore: every rule that is selected is ignored",
        ),
        (["config", "show", "--soc", "Ascend000"], "--soc: unknown SoC 'Ascend000'"),
        (["config", "show", "--ignore", "AF999"], "--ignore: no rule 'AF999'"),
        (["config", "show", "--rules", "absent"], "absent: not a directory of rules"),
        (["config", "show", "--select", "layernorm"], "no rule 'layernorm'; did you mean layer-norm,"),
        (["rules", "MatMul-epilog"], "no rule 'MatMul-epilog'; did you mean matmul-epilogue,"),
        (["rules", "zz*"], "rules: no rule 'zz*'"),
        (["explain", "AF40"], "AF40: no file, rule or reason is called so; did you mean AF40"),
        (["explain", "layernorm"], "layernorm: no file, rule or reason is called so; did you mean layer-norm,"),
        (["explain", "m.onnx", "--rule", "layernorm"], "--rule: no rule 'layernorm'; did you mean layer-norm,"),
        (["optimize", "m", "--verify=kernel"], "'--verify': 'kernel' is not one of 'no', 'cpu', 'kernels'; see"),
        (["config", "show", "--min-gain", "x%"], "cannot be 'x%'; give a number from 0 to 1, or percents such as 5%"),
        (["config", "show", "--min-gain", "1.5"], "--min-gain: cannot be 1.5; give a number from 0 to 1"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    args: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    err = told(capsys, 2, *args)
    assert err.startswith("ascend-fuse: error: ")
    assert err.count("\n") == 1
    assert says in err


def test_a_share_is_a_number_or_percents(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("0.05", "5%"):
        assert app_main(["config", "show", "--min-gain", text, "--format", "json"]) == 0
        shown = {o["option"]: o["value"] for o in json.loads(capsys.readouterr().out)["options"]}
        assert shown["min_gain"] == 0.05


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"soc": "Ascend000"}, "soc: unknown SoC"),
        ({"select": "AF999"}, "select: no rule 'AF999'"),
        ({"ignore": "AF999"}, "ignore: no rule 'AF999'"),
    ],
)
def test_python_is_told_parameters_not_flags(chain: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ascend_fuse.UsageError, match=f"^{says}"):
        ascend_fuse.optimize(chain, **more)


def test_a_rule_is_selected_by_its_name(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["optimize", str(chain), "--select", "elementwise-chain", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["regions"][0]["rules"] == ["AF101"]


@pytest.mark.parametrize("command", ["rules", "explain"])
def test_a_rule_is_printed_by_its_name(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main([command, "MatMul-Epilogue"]) == 0
    assert capsys.readouterr().out.startswith("AF401 matmul-epilogue\n")


def test_a_model_is_explained_by_the_name_of_a_rule(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rule in ("AF101", "Elementwise-Chain"):
        assert app_main(["explain", str(chain), "--rule", rule, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["rule"], [r["rules"] for r in document["regions"]]) == ("AF101", [["AF101"]])


def test_a_file_is_explained_before_a_rule_of_its_name(
    chain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(chain.parent)
    chain.rename("softmax")
    assert app_main(["explain", "softmax"]) == 0
    assert capsys.readouterr().out.startswith("ascend-fuse: explanation\nsoftmax: 3 nodes")


@pytest.mark.parametrize(("what", "says"), [("AF3*", "AF301"), ("af30?", "AF305"), ("OWN-KERNEL", "own-kernel")])
def test_what_is_explained_is_read_as_elsewhere(what: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["explain", what]) == 0
    assert says in capsys.readouterr().out


def test_a_name_with_a_slash_is_a_folder(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, 0, "optimize", chain, "-o", f"{tmp_path}/new/") == ""
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["chain.onnx"]
    assert "the output is a folder" in told(capsys, 2, "apply", chain, "p.json", "-o", f"{tmp_path}/other/")


def test_no_folder_is_called_as_a_model_is(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.onnx"
    assert f"{out}: several models need a folder" in told(capsys, 2, "optimize", chain, chain, "-o", out)
    assert not out.exists()
    out.mkdir()
    assert told(capsys, 0, "optimize", chain, chain, "-o", out) == ""


def test_a_misspelt_size_of_a_variable(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCEND_FUSE_DIMS", "batc=3")
    err = told(capsys, 0, "optimize", chain)
    assert err == "ascend-fuse: note: ASCEND_FUSE_DIMS: no size is called 'batc'; did you mean 'batch'?\n"
    err = told(capsys, 2, "optimize", chain, chain, "-o", tmp_path / "o")
    assert "none of the models has a size 'batc'; did you mean 'batch'?\n" in err
    assert err.endswith("note: the size 'batc' is given by ASCEND_FUSE_DIMS\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_named_and_the_model_stays(unbuffered: str, chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.onnx"
    command = [sys.executable, "-m", "ascend_fuse", "optimize", str(chain), "-o", str(out)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("ascend-fuse: error: standard output: No space left on device; ")
    assert out.is_file()


def test_python_takes_names_of_files_and_shows_results_in_a_line(chain: Path, tmp_path: Path) -> None:
    result = ascend_fuse.optimize(str(chain), plan=str(tmp_path / "p.json"))
    assert ascend_fuse.read_plan(str(tmp_path / "p.json")).digest == result.plan.digest
    assert len(repr(result)) < 300
    assert len(repr(ascend_fuse.optimize_all([chain], output=tmp_path / "o"))) < 600
    with pytest.raises(ascend_fuse.UsageError, match=r"optimize\(\): launch_us cannot be 'x'"):
        ascend_fuse.optimize(chain, launch_us="x")  # pyright: ignore[reportArgumentType]
