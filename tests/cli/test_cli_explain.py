"""`explain` and `config show` from the prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_shown import shown

from ascend_fuse.cli.main import app_main

WriteModel = Callable[[str, str], Path]


def test_a_rule_is_explained_as_rules_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json", "markdown"):
        explained = shown(capsys, "explain", "af302", "--format", form)
        assert explained == shown(capsys, "rules", "AF302", "--format", form)


def test_a_reason_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "explain", "shape-unknown")
    assert text.startswith("shape-unknown\nA size is needed and not known.\n")
    assert "--dim" in text
    (reason,) = json.loads(shown(capsys, "explain", "no-gain", "--format", "json"))["reasons"]
    assert reason["code"] == "no-gain"
    assert reason["advice"]


def test_a_model_is_explained_as_it_is_optimized(
    layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--soc", "Ascend310P3", "--ignore", "AF302")
    explained = json.loads(shown(capsys, "explain", layer, "--format", "json", *options))
    assert [p.name for p in tmp_path.iterdir()] == ["layer.onnx"]
    planned = json.loads(shown(capsys, "optimize", layer, "--format", "json", *options))
    for key in ("regions", "misses", "cleanups", "soc", "dims", "bounds", "rules"):
        assert explained[key] == planned[key]
    assert explained["regions"] and explained["misses"]
    text = shown(capsys, "explain", layer, *options)
    words = " ".join(text.split())
    for region in planned["regions"]:
        assert region["name"] in words
        assert region["names"][0] in words
        assert region["program"].splitlines()[0] in text
    for miss in planned["misses"]:
        assert miss["code"] in text


def test_one_node_one_rule_one_reason(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(shown(capsys, "explain", layer, "--format", "json"))
    region, miss = whole["regions"][0], whole["misses"][0]
    for name in (region["names"][0], region["name"]):
        found = json.loads(shown(capsys, "explain", layer, "--node", name, "--format", "json"))
        assert (found["regions"], found["misses"]) == ([region], [])
    found = json.loads(shown(capsys, "explain", layer, "--code", miss["code"], "--format", "json"))
    assert found["regions"] == []
    assert found["misses"] == [m for m in whole["misses"] if m["code"] == miss["code"]]
    rule = region["rules"][0]
    found = json.loads(shown(capsys, "explain", layer, "--rule", rule.lower(), "--format", "json"))
    assert found["regions"] == [r for r in whole["regions"] if rule in r["rules"]]
    assert f"| {miss['code']} |" in shown(capsys, "explain", layer, "--code", miss["code"], "--format", "markdown")


def test_a_node_that_is_nowhere_is_2(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["explain", str(layer), "--node", "/encoder/layer.0/attention/output/Ad"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean /encoder/layer.0/attention/output/Add" in err


CLEANED = """<ir_version: 10, opset_import: ["" : 17]>
m (float[8, 64] x) => (float[512] y) {
  a = Relu (x) j = Identity (a) b = Tanh (j)
  s = Shape (b) n = ReduceProd <keepdims = 1> (s) c = Exp (b) y = Reshape (c, n)
}"""


def test_what_became_of_a_node(write_model: WriteModel, capsys: pytest.CaptureFixture[str]) -> None:
    """Fused, cleaned, gone with a cleanup, not launched, or not there."""
    model = write_model("m.onnx", CLEANED)
    whole = json.loads(shown(capsys, "explain", model, "--format", "json"))
    identity, folded = whole["cleanups"]
    assert (identity["rule"], identity["node"], folded["node"]) == ("AF002", "Identity(j)", "ReduceProd(n)")
    assert folded["node"] in shown(capsys, "explain", model)
    found = json.loads(shown(capsys, "explain", model, "--node", "Identity(j)", "--format", "json"))
    assert (found["regions"], found["misses"], found["cleanups"]) == ([], [], [identity])
    found = json.loads(shown(capsys, "explain", model, "--rule", "af002", "--format", "json"))
    assert found["cleanups"] == [identity]
    assert "Shape(s): it went with a cleanup" in shown(capsys, "explain", model, "--node", "Shape(s)")
    assert "Reshape(y): nothing is launched for it alone" in shown(capsys, "explain", model, "--node", "Reshape(y)")
    assert app_main(["explain", str(model), "--node", "Reshape(z)"]) == 2
    assert "the model has no node 'Reshape(z)'; did you mean Reshape(y)" in capsys.readouterr().err


def test_a_fused_model_is_explained_as_its_original(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app_main(["optimize", str(chain), "-q"]) == 0
    fused = tmp_path / "chain.fused.onnx"
    before = fused.read_bytes()
    once = json.loads(shown(capsys, "explain", chain, "--format", "json"))
    again = json.loads(shown(capsys, "explain", fused, "--format", "json"))
    assert once["regions"]
    assert (again["regions"], again["misses"]) == (once["regions"], once["misses"])
    (note,) = again["notes"]
    assert "fused already" in note
    assert note in " ".join(shown(capsys, "explain", fused).split())
    assert fused.read_bytes() == before


def test_a_rule_is_shown_with_what_it_matches(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "rules", "AF010")
    for said in (
        "Pattern 1 of 9\n",
        "  div_last (x, sqrt2, one, half) => (y)\n",
        "Conditions\n",
        "Instruction\n  gelu x\n",
    ):
        assert said in text
    (row,) = [line.split() for line in text.splitlines() if "value half " in line]
    assert row[:5] == ["every", "pattern", "value", "half", "0.5"]
    (rule,) = json.loads(shown(capsys, "rules", "AF010", "--format", "json"))["rules"]
    assert rule["instruction"] == "gelu x"
    assert {"is": "value", "of": ["half"], "equals": 0.5} in rule["where"]
    assert len(rule["patterns"]) == 9
    assert rule["patterns"][0]["text"].startswith("div_last")
    assert "the planner finds it by itself" in shown(capsys, "rules", "AF013")


def test_a_file_with_the_name_of_a_code_is_a_file(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "no-gain").write_bytes(chain.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert "AF101" in shown(capsys, "explain", "no-gain")


def test_the_configuration_is_shown_with_its_origins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ascend-fuse.toml").write_text(
        'soc = "Ascend310P3"\nlaunch_us = 8\n\n[dims]\nbatch = 4\nseq = 9\n[check]\nmin_gain = 5\n'
    )
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.setenv("ASCEND_FUSE_MIN_GAIN", "0.1")
    monkeypatch.setenv("ASCEND_FUSE_LAUNCH_US", "9")
    args = ("config", "show", "--dim", "batch=2", "--no-cleanup")
    document = json.loads(shown(capsys, *args, "--format", "json"))
    assert document["schema"] == "ascend-fuse/config/1"
    told = {o["option"]: (o["value"], o["from"]) for o in document["options"]}
    file = tmp_path / "ascend-fuse.toml"
    assert told == {
        "soc": ("Ascend310P3", f"{file}:1"), "dims.batch": (2, "--dim"), "dims.seq": (9, f"{file}:6"),
        "select": ([], "default"), "ignore": ([], "default"), "rules": ([], "default"),
        "launch_us": (9.0, "ASCEND_FUSE_LAUNCH_US"), "min_gain": (0.1, "ASCEND_FUSE_MIN_GAIN"),
        "min_gain_us": (1.0, "default"), "ub_reserve": (0.0, "default"), "l1_reserve": (0.0, "default"),
        "min_tile_k": (16, "default"), "streams": (1, "default"), "profile": ("", "default"), "weights": ("copy", "default"), "cleanup": (False, "--no-cleanup"),
        "inline_functions": (False, "default"), "verify": (False, "default"), "jobs": (1, "default"),
        "scheduler": ("", "default"), "cache": (True, "default"), "cache_dir": ("", "default"),
        "check.min_fusions": (None, "default"), "check.max_launches": (None, "default"),
        "check.max_unfused": (None, "default"), "check.max_growth": (None, "default"),
        "check.min_gain": (5.0, f"{file}:8"), "check.expect": ("", "default"),
    }  # fmt: skip
    text = shown(capsys, *args)
    assert [line.split()[:2] for line in text.splitlines() if "cleanup" in line] == [["cleanup", "false"]]


def test_what_is_configured_decides(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ascend-fuse]\nsoc = "Ascend310P3"\nignore = ["AF*"]\ndims = { batch = 4, seq = 9 }\n'
    )
    monkeypatch.chdir(tmp_path)
    document = json.loads(shown(capsys, "optimize", chain, "--format", "json"))
    assert (document["soc"], document["regions"], document["dims"]) == ("Ascend310P3", [], {"batch": 4})
    assert document["notes"] == ["no size of this model is called 'seq': known are batch"]
    monkeypatch.setenv("ASCEND_FUSE_SOC", "Ascend910B3")
    document = json.loads(shown(capsys, "optimize", chain, "--format", "json", "--ignore", "AF3*"))
    assert (document["soc"], len(document["regions"])) == ("Ascend910B3", 1)
    assert app_main(["optimize", str(chain), "--dim", "seq=9"]) == 2
    assert "no size is called 'seq'" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[tool.ascend-fuse]\nsok = 1\n")
    for command in (["optimize", str(chain)], ["explain", str(chain)], ["config", "show"]):
        assert app_main(command) == 2
        assert "pyproject.toml:2: no option is called 'sok'; did you mean 'soc'?" in capsys.readouterr().err
