"""The HTML report as text: it loads nothing, runs only its own scripts, and says what the plan says."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model
from report_sample import HOSTILE

import ascend_fuse
from ascend_fuse.plan import Totals
from ascend_fuse.report import html
from ascend_fuse.report.block import REST, block, blocks, shares
from ascend_fuse.report.drawing import drawing_json
from ascend_fuse.report.fusion import groups
from ascend_fuse.report.html import LIBRARIES, render_html
from ascend_fuse.report.page import Page, Section, Shown, Table, printable
from ascend_fuse.report.render import result_page
from ascend_fuse.roofline import work
from ascend_fuse.task import Result
from models import BUILDERS


@pytest.fixture(scope="module")
def result() -> Result:
    """Three BERT layers: fusions that repeat, products that stay, cleanups."""
    return ascend_fuse.optimize(BUILDERS["bert-layer"](layers=3))


class Tags(HTMLParser):
    """Every start tag with its attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and data.strip():
            self.scripts.append((self.tags[-1][1], data))


def policy(tags: Tags) -> str:
    (found,) = [a["content"] for t, a in tags.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert found is not None
    return found


def test_it_loads_nothing_and_runs_its_own_scripts_alone(result: Result) -> None:
    tags = Tags(result.report("html"))
    assert not {"link", "img", "iframe", "object", "base", "form"} & {t for t, _ in tags.tags}
    assert [a for _, a in tags.tags if {"src", "onclick", "onload", "onerror"} & a.keys()] == []
    assert all((a["href"] or "").startswith("#") for _, a in tags.tags if "href" in a)
    run = [text for a, text in tags.scripts if "type" not in a]
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in run]
    allowed = re.findall(r"'sha256-([^']*)'", policy(tags))
    assert hashes == allowed
    assert "default-src 'none'" in policy(tags)
    if all(map(html._library, LIBRARIES)):
        assert len(run) == 2


def test_a_page_without_a_drawing_runs_nothing() -> None:
    tags = Tags(render_html(Page("t", (Section("s", ("line",)),), {})))
    assert "script" not in {t for t, _ in tags.tags}
    assert "script-src 'none'" in policy(tags)


def test_without_libraries_the_tables_are_there_and_it_says_so(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "LIBRARIES", ("absent",))
    text = result.report("html")
    assert "script" not in {t for t, _ in Tags(text).tags}
    assert html.WITHOUT in text
    assert f"{len(result.plan.regions)}" in text and "<h2>Not fused</h2>" in text
    assert "<h2>Graph</h2>" not in text and "<h2>Roofline</h2>" in text


def test_data_closes_no_tag() -> None:
    table = Table((HOSTILE,), ((HOSTILE,),), shows=(Shown(HOSTILE, HOSTILE),), bars=((2.0, 1.0),))
    inner = Section(HOSTILE, (HOSTILE,), table, HOSTILE)
    text = render_html(Page(HOSTILE, (Section(HOSTILE, folded=(inner,)),), {}, {"x": HOSTILE + "</script><!--"}))
    assert "\x1b" not in text and "<script>*" not in text and "</script><!--" not in text
    found = [json.loads(text) for a, text in Tags(text).scripts if a.get("id") == "drawing"]
    assert found in ([], [{"x": printable(HOSTILE) + "</script><!--"}])


def test_bars_are_to_one_scale() -> None:
    table = Table(("a",), (("1",), ("2",), ("3",)), bars=((10.0, 5.0), (40.0, 10.0), (0.0, 0.0)))
    text = render_html(Page("t", (Section("s", table=table),), {}))
    assert re.findall(r"width:([\d.]+)%", text) == ["25.0", "50.0", "100.0", "25.0", "0.0", "0"]
    with pytest.raises(ValueError, match="one for each row"):
        Table(("a",), (("1",),), bars=((1.0, 1.0), (1.0, 1.0)))


def test_totals_are_those_of_the_plan(result: Result) -> None:
    plan, page = result.plan, result_page(result)
    total = {s.title: s.table.total for s in page.sections if s.table is not None}
    assert total["Rules"][2] == str(len(plan.regions))
    assert total["Not fused"][2] == str(len({(m.graph, m.node) for m in plan.misses}))
    launches = f"{plan.totals_before.launches} → {plan.totals_after.launches}"
    assert total["Blocks"][3] == launches
    assert launches in result.report("html") and "<tfoot>" in result.report("html")


def test_every_rule_of_a_fusion_has_its_name(result: Result) -> None:
    (rules,) = (s.table for s in result_page(result).sections if s.title == "Rules")
    assert rules is not None
    named = {row[0]: row[1] for row in rules.rows}
    assert {code for r in result.plan.regions for code in r.rules} <= named.keys()
    assert all(named.values())


def test_sentences_for_other_formats_are_not_in_it(result: Result) -> None:
    text, plain = result.report("html").split("<script", 1)[0], result.report("text")
    for sentence in ("The JSON report lists", "`ascend-fuse explain` lists"):
        assert sentence in plain and sentence not in text
    assert "`" not in text and "<code>ascend-fuse soc</code>" in str(html._prose("see `ascend-fuse soc` for <b>"))
    assert "`a` &lt;b&gt;" in str(html._prose("`a` <b>"))


def test_the_title_names_both_models(tmp_path: Path) -> None:
    onnx.save(BUILDERS["bert-layer"](), tmp_path / "in.onnx")
    done = ascend_fuse.optimize(tmp_path / "in.onnx", output=tmp_path / "out.onnx")
    assert result_page(done).title == "ascend-fuse: fusion report, in.onnx → out.onnx"
    assert result_page(ascend_fuse.optimize(tmp_path / "in.onnx")).title == "ascend-fuse: fusion report, in.onnx"


def test_the_drawing_is_the_plan_in_the_graphs(result: Result) -> None:
    plan, drawing = result.plan, result.drawing
    assert drawing is not None
    document = json.loads(json.dumps(drawing_json(plan, drawing, groups(plan.regions))))
    (main,) = document["scopes"]
    before, after = main["graphs"]
    assert len(before["nodes"]) == plan.nodes
    assert len(after["nodes"]) == len(result.model.graph.node)
    labels = {node[0] for node in after["nodes"]}
    for region, r in zip(document["regions"], plan.regions, strict=True):
        assert region["name"] in labels
        assert [before["nodes"][k][0] for k in region["nodes"]] == list(r.names)
        assert "\n".join(document["programs"][region["program"]][0]) == r.program
        assert region["before"][2] - region["after"][2] == pytest.approx(
            r.figures.before.time_us - r.figures.after.time_us, abs=0.01
        )
    for miss, m in zip(document["misses"], plan.misses, strict=True):
        assert before["nodes"][miss["node"]][0] == m.name
        assert miss["code"] in document["reasons"]
    assert all(k < len(main["values"]) for graph in (before, after) for n in graph["nodes"] for k in (*n[3], *n[4]))
    shapes = dict(zip(main["values"], main["types"], strict=True))
    assert {shapes[main["values"][k]] for k in before["inputs"]} == {"f32[1, 128, 768]", "i64[1, 128]"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("/encoder/layer.3/attention/MatMul", "encoder/layer.3"),
        ("/h.11/Add", "h.11"),
        ("/blocks.2/mlp/block.0/Conv", "blocks.2"),
        ("/layer/attention_1/Add", "layer 1"),
        ("/layer_1/Mul_7", "layer 1"),
        ("/layer/attention/Mul_7", "layer"),
        ("model/layer_3/dense_1/MatMul", "model 3"),
        ("/Add_3", ""),
        ("Conv_12", ""),
        ("", ""),
    ],
)
def test_blocks_are_read_off_names(name: str, wanted: str) -> None:
    assert block(name) == wanted


def test_weights_tell_blocks_where_names_do_not(tmp_path: Path) -> None:
    model = parse_model("""
<ir_version: 10, opset_import: ["" : 17]>
g (float[4, 4] x) => (float[4, 4] y)
<float[4, 4] "enc.layers.0.w" = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float[4, 4] "enc.layers.1.w" = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}> {
  n = Abs (x)
  a = MatMul (n, "enc.layers.0.w")
  b = Relu (a)
  c = MatMul (b, "enc.layers.1.w")
  y = Relu (c)
}
""")
    drawing = ascend_fuse.optimize(model).drawing
    assert drawing is not None
    layers = ["enc.layers.0"] * 2 + ["enc.layers.1"] * 2
    assert list(blocks(drawing.before.scopes[0])) == [REST, *layers]


def test_blocks_add_up(result: Result) -> None:
    plan, drawing = result.plan, result.drawing
    assert drawing is not None
    found = shares(plan, drawing.before)
    assert {name: s.fusions for name, s in found.items() if "layer." in name}.keys() == {
        f"encoder/layer.{k}" for k in range(3)
    }
    assert sum(s.fusions for s in found.values()) == len(plan.regions)
    after = sum((s.after for s in found.values()), Totals())
    assert after.launches == plan.totals_after.launches
    assert after.hbm_bytes == plan.totals_after.hbm_bytes
    assert after.time_us == pytest.approx(plan.totals_after.time_us)


PRODUCT = (
    "matmul 1 [d0 | 8]\nx0: f16[d0 | 4] = left\nx1: f16[4 | 8] = right\nv0: f16[d0 | 8] = matmul x0, x1\n"
    "v1: f16[d0 | 8] = sigmoid v0\nout v1"
)
SUM = (
    "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_sum x0\nv1: f32[d0 | d1] = div x0, v0\nout v1"
)


def test_work_is_counted() -> None:
    product = work(PRODUCT, {"d0": 10})
    assert (product.operations, product.unit, product.dtype) == (2 * 10 * 8 * 4 + 10 * 8, "cube", "f16")
    rows = work(SUM, {"d0": 3, "d1": 5})
    assert (rows.operations, rows.unit, rows.dtype) == (15 + 15, "vector", "f32")


def test_roofs_are_those_that_the_engine_divides_by(result: Result) -> None:
    drawing = result.drawing
    assert drawing is not None
    # 910B3: 20 cubes of 16x16x16 at 1800 MHz, 40 vector cores of 128 bytes; fp32 at a quarter
    assert drawing.roofs.cube["f16"] == pytest.approx(2 * 20 * 4096 * 1.8e9)
    assert drawing.roofs.cube["f32"] == pytest.approx(drawing.roofs.cube["f16"] / 4)
    assert drawing.roofs.vector["f32"] == pytest.approx(40 * 32 * 1.8e9)


def test_a_fused_model_has_no_drawing(result: Result, tmp_path: Path) -> None:
    onnx.save(result.model, tmp_path / "f.onnx")
    again = ascend_fuse.optimize(tmp_path / "f.onnx")
    assert again.plan.already_fused and again.drawing is None
    assert "script" not in {t for t, _ in Tags(again.report("html")).tags}
