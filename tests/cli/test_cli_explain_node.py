"""`explain MODEL --node NAME`: what was judged with a node, from the prompt and in files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_shown import shown

from ascend_fuse.cli.main import app_main

WriteModel = Callable[[str, str], Path]
PRODUCT = "/encoder/layer.0/intermediate/dense/MatMul"
STAYS = "/encoder/layer.0/output/dense/MatMul"

ALONE = """<ir_version: 10, opset_import: ["" : 17]>
m (float[64, 512] x, float[512, 512] w) => (float[64, 512] y) { y = MatMul (x, w) }"""
# rows that do not fit on chip, and no pass over cut rows: of slices
LONG = """<ir_version: 10, opset_import: ["" : 17]>
m (float[4, 100000] x) => (float[4, 100000] y)
<int64[1] z = {0}, int64[1] h = {50000}, int64[1] e = {100000}, int64[1] ax = {1}> {
  a = Softmax (x) l = Slice (a, z, h, ax) r = Slice (a, h, e, ax) n = Neg (r) y = Concat <axis = 1> (n, l)
}"""


def test_a_fused_node_is_shown_with_its_candidates(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(shown(capsys, "explain", layer, "--node", PRODUCT, "--format", "json"))
    (region,), (judged,) = document["regions"], document["judged"]
    assert (judged["node"], document["node"], document["nodes"]) == (PRODUCT, PRODUCT, [PRODUCT])
    assert all(PRODUCT in c["names"] for c in judged["candidates"])
    chosen = judged["candidates"][judged["shown"]]
    assert (chosen["nodes"], chosen["names"], chosen["program"]) == (
        region["nodes"], region["names"], region["program"],
    )  # fmt: skip
    verdict = region["verdict"]
    for key in ("fuse", "code", "before_us", "after_us", "gain_us", "assumed_share"):
        assert chosen["verdict"][key] == verdict[key]
    assert chosen["tiling"] == region["tiling"]
    assert sum(x["total_us"] for x in chosen["launches"]) == pytest.approx(verdict["before_us"], abs=0.01)
    assert [b["name"] for b in chosen["buffers"]] == ["L1", "L0A", "L0B", "L0C", "BT", "UB"]
    text = " ".join(shown(capsys, "explain", layer, "--node", PRODUCT).split())
    for part in ("candidates", "verdict", "time", "pipes", "buffers"):
        assert f"{PRODUCT}: {part}" in text
    by_name = json.loads(shown(capsys, "explain", layer, "--node", region["name"], "--format", "json"))
    (own,) = by_name["judged"]
    assert own["candidates"][own["shown"]] == chosen


def test_a_node_that_stayed_is_shown_with_what_it_would_have_been(
    layer: Path, write_model: WriteModel, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(shown(capsys, "explain", layer, "--node", STAYS, "--format", "json"))
    (miss,), (judged,) = document["misses"], document["judged"]
    assert judged["reason"] == f"{miss['code']}: {miss['message']}"
    assert judged["candidates"][judged["shown"]]["verdict"]["fuse"]
    long = write_model("long.onnx", LONG)
    document = json.loads(shown(capsys, "explain", long, "--node", "Softmax(a)", "--format", "json"))
    (miss,), (judged,) = document["misses"], document["judged"]
    found = judged["candidates"][judged["shown"]]
    assert (found["verdict"]["code"], found["fused"], judged["reason"]) == ("ub-overflow", None, "")
    (buffer,) = found["buffers"]
    assert (buffer["used_bytes"], buffer["budget_bytes"]) == tuple(miss["figures"].values())
    assert found["names"] == ["Softmax(a)", "Slice(l)", "Slice(r)", "Neg(n)", "Concat(y)"]


def test_a_node_that_was_never_judged_is_shown_as_it_is(
    write_model: WriteModel, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "MatMul(y)"
    layer = write_model("alone.onnx", ALONE)
    document = json.loads(shown(capsys, "explain", layer, "--node", name, "--format", "json"))
    (miss,), (judged,) = document["misses"], document["judged"]
    alone = judged["alone"]
    assert (judged["candidates"], judged["shown"], alone["fused"]) == ([], -1, None)
    (launch,) = alone["launches"]
    assert (launch["label"], launch["total_us"], launch["hbm_bytes"]) == (name, miss["time_us"], miss["hbm_bytes"])
    assert [b["name"] for b in alone["buffers"]] == ["L1", "L0A", "L0B", "L0C", "BT", "UB"]
    text = " ".join(shown(capsys, "explain", layer, "--node", name).split())
    assert "Below is its launch as it is." in text and f"{name}: buffers" in text
    assert f"{name}: verdict" not in text


def test_reports_hold_the_pictures(layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"r.{ending}" for ending in ("html", "md", "json", "txt")]
    args = ["explain", layer, "--node", PRODUCT, "--node", STAYS]
    reports = [a for f in files for a in ("--report", f)]
    printed = shown(capsys, *args, *reports)
    html, markdown, document, text = (f.read_text("utf-8") for f in files)
    root = ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}svg"))) == 6
    assert markdown.count("\n█ launch  ▓ heads") == 2
    assert [j["node"] for j in json.loads(document)["judged"]] == [PRODUCT, STAYS]
    assert text == printed
    for f in files:
        f.rename(f.with_suffix(f"{f.suffix}.first"))
    shown(capsys, *args, *reports)
    for f in files:
        assert f.read_bytes() == f.with_suffix(f"{f.suffix}.first").read_bytes()
    assert shown(capsys, *args, "--format", "html") == html
    shown(capsys, "optimize", layer, "-o", tmp_path / "o.onnx", "--report", tmp_path / "o.html")
    assert "<h2>Fusions</h2>" in (tmp_path / "o.html").read_text("utf-8")


def test_a_report_writes_over_nothing(layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = layer.read_bytes()
    (tmp_path / "l.md").symlink_to(layer)
    for report in ("r.pdf", "l.md"):
        assert app_main(["explain", str(layer), "--report", str(tmp_path / report)]) == 2
        assert capsys.readouterr().out == ""
    assert app_main(["explain", "no-gain", "--report", str(tmp_path / "r.md")]) == 2
    assert layer.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["l.md", "layer.onnx"]


def test_each_unknown_node_is_2(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["explain", str(layer), "--node", PRODUCT, "--node", f"{STAYS}x"]) == 2
    assert f"the model has no node '{STAYS}x'; did you mean {STAYS}" in capsys.readouterr().err
