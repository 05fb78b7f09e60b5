"""`optimize --plan` and `apply`: a plan that goes through review."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest

import ascend_fuse
from ascend_fuse.cli.main import app_main
from models import BUILDERS
from models import save as save_model

WriteModel = Callable[[str, str], Path]


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A BERT layer: several fusions of several rules."""
    return save_model(BUILDERS["bert-layer"](), tmp_path / "layer.onnx")


def run(*args: object) -> int:
    return app_main([str(a) for a in args])


def planned(model: Path, *args: object) -> tuple[Path, Any]:
    """The plan's file, and what it holds."""
    path = model.with_suffix(".plan.json")
    assert run("optimize", model, "--plan", path, "-q", *args) == 0
    return path, json.loads(path.read_text("utf-8"))


def edited(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), "utf-8")
    return path


def fused(path: Path) -> list[str]:
    return [n.op_type for n in onnx.load(path).graph.node if n.domain == "ai.ascendfuse"]


def test_without_an_output_nothing_but_the_plan_is_written(
    layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    assert run("optimize", layer, "--plan", plan) == 0
    assert f"Written: {plan}" in capsys.readouterr().out
    assert {p.name for p in tmp_path.iterdir()} == {"layer.onnx", "plan.json"}
    document = json.loads(plan.read_text("utf-8"))
    assert document["schema"] == "ascend-fuse/plan/1"
    assert len(document["regions"]) > 2
    assert run("optimize", layer, "--plan", plan, "-o", tmp_path / "out.onnx", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert {key: report[key] for key in document} == document
    assert (tmp_path / "out.onnx").is_file()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--soc", "Ascend310P3", "--launch-us", "7", "--min-gain", "0.1", "--ub-reserve", "0.2"],
        ["--l1-reserve", "0.5", "--min-tile-k", "64", "--streams", "2", "--min-gain-us", "0.5"],
        ["--ignore", "AF3*", "--no-cleanup"],
    ],
)
def test_a_whole_plan_gives_what_optimize_gives(layer: Path, tmp_path: Path, options: list[str]) -> None:
    plan, _ = planned(layer, *options)
    once, again = tmp_path / "once.onnx", tmp_path / "again.onnx"
    assert run("optimize", layer, "-o", once, "-q", *options) == 0
    assert run("apply", layer, plan, "-o", again, "-q", "--verify") == 0
    assert again.read_bytes() == once.read_bytes()


def test_sizes_of_a_plan_are_given_and_assumed_ones(chain: Path, tmp_path: Path) -> None:
    for options in (["--dim", "batch=3"], []):
        plan, _ = planned(chain, *options)
        assert run("optimize", chain, "-o", tmp_path / "once.onnx", "-q", *options) == 0
        assert run("apply", chain, plan, "-o", tmp_path / "again.onnx", "-q") == 0
        assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "once.onnx").read_bytes()


def test_deleted_regions_are_not_fused(layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, document = planned(layer)
    kept = document["regions"][1::2]
    edited(path, {**document, "regions": kept})
    out = tmp_path / "out.onnx"
    assert run("apply", layer, path, "-o", out, "--format", "json", "--verify") == 0
    done = json.loads(capsys.readouterr().out)
    assert [r["nodes"] for r in done["regions"]] == [r["nodes"] for r in kept]
    assert fused(out) == [r["op_type"] for r in kept]
    assert done["verification"]["ok"] is True


def test_deleted_cleanups_are_not_done(write_model: WriteModel, tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (float[8, 64] x) => (float[8, 64] y, float[8, 64] z) {
      i = Identity (x) a = Relu (i) y = Tanh (a) j = Identity (a) b = Exp (j) z = Neg (b)
    }"""
    model = write_model("m.onnx", text)
    path, document = planned(model)
    assert len(document["cleanups"]) == 2
    out = tmp_path / "out.onnx"
    for cleanups in (document["cleanups"], document["cleanups"][:1], []):
        edited(path, {**document, "regions": [], "cleanups": cleanups})
        assert run("apply", model, path, "-o", out, "-q", "--verify") == 0
        left = sum(n.op_type == "Identity" for n in onnx.load(out).graph.node)
        assert left == 2 - len(cleanups)


RESTING = """<ir_version: 10, opset_import: ["" : 17]>
m (float[8, 64] x, float[8, 64] u, float[8, 64] v) => (float[512] y, float[8, 64] z, float[8, 64] w) {
  o = Identity (u) z = Neg (o)
  a = Relu (x) j = Identity (a) b = Tanh (j)
  s = Shape (b) n = ReduceProd <keepdims = 1> (s) c = Exp (b) y = Reshape (c, n)
  d = Abs (v) w = Exp (d)
}"""


def test_what_rests_on_a_deleted_cleanup_is_left_out(
    write_model: WriteModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = write_model("m.onnx", RESTING), tmp_path / "out.onnx"
    path, document = planned(model)
    assert [r["names"][0] for r in document["regions"]] == ["Relu(a)", "Abs(d)"]
    assert [(c["rule"], c["node"]) for c in document["cleanups"]] == [
        ("AF002", "Identity(o)"), ("AF002", "Identity(j)"), ("AF009", "ReduceProd(n)"),
    ]  # fmt: skip
    resting = document["regions"][0]["name"]
    for k, left_out in enumerate((False, True, True)):
        edited(path, {**document, "cleanups": [c for i, c in enumerate(document["cleanups"]) if i != k]})
        assert run("apply", model, path, "-o", out, "--format", "json", "--verify") == 0
        done = json.loads(capsys.readouterr().out)
        kept = document["regions"][left_out:]
        assert [r["nodes"] for r in done["regions"]] == [r["nodes"] for r in kept]
        assert fused(out) == [r["op_type"] for r in kept]
        gone = document["cleanups"][k]
        note = f"{resting} is left out: it rests on a deleted cleanup, {gone['rule']} of {gone['node']}"
        assert (note in done["notes"]) == left_out
        assert done["verification"]["ok"] is True
    edited(path, {**document, "cleanups": []})
    assert run("apply", model, path, "-o", out) == 0
    assert f"{resting} is left out: it rests on one of 3 deleted cleanups" in " ".join(capsys.readouterr().out.split())
    edited(path, {**document, "regions": [{**document["regions"][0], "nodes": [2, 4]}]})
    assert run("apply", model, path, "-o", out) == 2  # nothing was deleted that it could rest on
    assert "is not what planning finds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d["regions"][0]["tiling"].update(tile_rows=1), "`tiling` of"),
        (lambda d: d["regions"][0].update(program=d["regions"][0]["program"].replace("add", "sub")), "`program` of"),
        (lambda d: d["regions"][0].update(rules=["AF101", "AF999"]), "`rules` of"),
        (lambda d: d["regions"][0]["nodes"].pop(), "is not what planning finds"),
        (lambda d: d["regions"][0]["nodes"].append(0), "planning does not find the region"),
        (lambda d: d["regions"][0].update(graph="If_0.then_branch"), "planning does not find the region"),
        (lambda d: d["cleanups"].append({"graph": "", "rule": "AF002", "node": "n", "what": "w"}), "does not find the cleanup"),
        (lambda d: d["model"].update(digest="0" * 64), "it was made for another model"),
        (lambda d: d["rules"].update(digest="0" * 12), "it was made with other rules"),
        (lambda d: d["bounds"].update(min_tile_k=99), "were changed after planning"),
        (lambda d: d["bounds"].update(streams=3), "$.bounds: streams cannot be 3; give an integer from 1 to 2"),
        (lambda d: d["bounds"].update(launch_us=3), "were changed after planning"),
        (lambda d: d.update(soc="Ascend310P3"), "were changed after planning"),
        (lambda d: d["rules"].update(ignore=["AF3*"]), "were changed after planning"),
        (lambda d: d.update(cleanup=False), "were changed after planning"),
        (lambda d: d["regions"][0].update(name="mine"), "`name` of mine"),
        (lambda d: d["bounds"].pop("min_gain"), "its bounds lack min_gain"),
        (lambda d: d.update(tool="0.0.1"), "it was made by ascend-fuse 0.0.1"),
        (lambda d: d.update(already_fused=True, totals={"before": {"launches": 1}, "after": {"launches": 1}}), "already fused"),
        (lambda d: d.update(soc="Ascend000"), "Ascend000"),
        (lambda d: d.update(platform_digest="0" * 12), "it was made for the platform file"),
        (lambda d: d.update(extra=1), "$.extra: the key is unknown"),
    ],
)  # fmt: skip
def test_what_a_plan_may_not_say(
    layer: Path, tmp_path: Path, change: Callable[[Any], None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, document = planned(layer)
    change(document)
    edited(path, document)
    assert run("apply", layer, path, "-o", tmp_path / "out.onnx") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert "; " in err  # what to do
    assert not (tmp_path / "out.onnx").exists()


def test_a_plan_of_another_model_is_refused(
    layer: Path, chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = planned(layer)
    assert run("apply", chain, path, "-o", tmp_path / "out.onnx") == 2
    assert "layer.plan.json: it was made for another model; give that model, or plan again" in capsys.readouterr().err
    sized, _ = planned(chain, "--dim", "batch=3")
    assert run("apply", layer, sized, "-o", tmp_path / "out.onnx") == 2  # whatever its sizes are called
    assert "it was made for another model" in capsys.readouterr().err
    assert run("apply", layer, path, "-o", path) == 2
    assert "the output is the plan to apply" in capsys.readouterr().err
    assert run("apply", layer, path, "-q", "--soc", "Ascend310P3") == 2
    assert "it was made for Ascend910B3, not for Ascend310P3" in capsys.readouterr().err


def test_a_plan_with_rules_of_ones_own_needs_them(
    layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (rule,) = (Path(__file__).parents[2] / "rules").glob("AF010*.toml")
    (mine / "my.toml").write_text(rule.read_text("utf-8").replace("AF010", "MY001"))
    path, _ = planned(layer, "--rules", mine)
    out = tmp_path / "out.onnx"
    assert run("apply", layer, path, "-o", out, "-q") == 2
    assert "it was made with other rules; give the same --rules folders" in capsys.readouterr().err
    assert run("apply", layer, path, "-o", out, "-q", "--rules", mine) == 0


def test_the_plan_of_a_result_can_be_applied(layer: Path) -> None:
    result = ascend_fuse.optimize(layer)
    again = ascend_fuse.apply(layer, result.plan)
    assert again.model == result.model
    assert replace(again.plan, misses=result.plan.misses) == result.plan
    assert "the plan itself has the reasons why others stay" in again.report()


SCOPED = """<ir_version: 10, opset_import: ["" : 17, "com.example" : 1]>
m (bool c, float[64, 64] x) => (float[64, 64] y) {
  s = com.example.Act (x)
  y = If (c) <
    then_branch = t () => (float[64, 64] p) { a = Abs (s) b = Exp (a) p = Neg (b) },
    else_branch = e () => (float[64, 64] q) { i = Identity (s) q = MatMul (i, i) }
  >
}
<domain: "com.example", opset_import: ["" : 17]>
Act (v) => (r) { u = Sigmoid (v) w = Mul (u, v) r = Tanh (w) }
"""


def test_regions_of_every_scope_can_be_chosen(write_model: WriteModel, tmp_path: Path) -> None:
    model = write_model("scoped.onnx", SCOPED)
    path, document = planned(model)
    assert {r["graph"] for r in document["regions"]} == {"If#0.then_branch", "function com.example::Act"}
    out = tmp_path / "out.onnx"
    for kept in document["regions"]:
        edited(path, {**document, "regions": [kept]})
        assert run("apply", model, path, "-o", out, "-q", "--verify") == 0
        assert sum(f.domain == "ai.ascendfuse" for f in onnx.load(out).functions) == 1


def test_functions_are_expanded_and_cleanups_left_out_when_asked(write_model: WriteModel, tmp_path: Path) -> None:
    model = write_model("scoped.onnx", SCOPED)
    for options, inlined, cleaned in (
        ([], False, True),
        (["--inline-functions"], True, True),
        (["--no-cleanup"], False, False),
    ):
        path, document = planned(model, *options)
        assert (document["inline_functions"], document["cleanup"]) == (inlined, cleaned)
        assert ("" in {r["graph"] for r in document["regions"]}) == inlined
        assert ("AF002" in {c["rule"] for c in document["cleanups"]}) == cleaned
        once, again = tmp_path / "once.onnx", tmp_path / "again.onnx"
        assert run("optimize", model, "-o", once, "-q", "--verify", *options) == 0
        assert run("apply", model, path, "-o", again, "-q") == 0
        assert again.read_bytes() == once.read_bytes()
