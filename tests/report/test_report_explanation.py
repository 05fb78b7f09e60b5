"""`explain`: each candidate and near miss with its figures, filtered; what a reason code means."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_fuse.error import UsageError
from ascend_fuse.plan import Plan, miss_json, region_json
from ascend_fuse.reason import CODES
from ascend_fuse.report.advice import ADVICE, reason_page
from ascend_fuse.report.explanation import Filter, explanation_page
from ascend_fuse.report.page import Format, Page
from ascend_fuse.report.render import render_page
from ascend_fuse.report.text import render_text


def page(plan: Plan, **wanted: str) -> Page:
    node = wanted.pop("node", "")
    return explanation_page("m.onnx", plan, (), Filter((node,) if node else (), **wanted))


def found(plan: Plan, **wanted: str) -> tuple[list[str], list[str]]:
    """The names of the regions and misses that are shown."""
    document = json.loads(render_page(page(plan, **wanted), Format.JSON))
    return [r["name"] for r in document["regions"]], [m["name"] for m in document["misses"]]


def test_every_reason_has_advice() -> None:
    assert set(ADVICE) == set(CODES)
    for code in CODES:
        text = render_text(reason_page(code))
        assert text.startswith(f"{code}\n")
        assert " ".join(text.split()).endswith(ADVICE[code])
    with pytest.raises(UsageError, match="did you mean 'shape-unknown'"):
        reason_page("shape-unknwn")


def test_a_candidate_is_shown_with_all_that_was_decided(plan: Plan) -> None:
    text = render_text(page(plan))
    assert "1. Add+Mul by AF101, elementwise, 2 times" in text
    assert "2. " not in text  # the two differ in their nodes alone
    for said in (
        "Nodes: /layer.0/Add, /layer.0/Mul.", "Fused: AF101_0 (/layer.0/Add … /layer.0/Mul), AF101_1 (/layer.1/Add … /layer.1/Mul);", "Bound by MTE2; 25 % of the estimate",
        "40 cores, tiles of 8 by 768 elements", "96.00 KiB of 183.75 KiB", "Sizes: d0=768.",
        "v1: f32[d0] = mul v0, v0",
    ):  # fmt: skip
        assert said in " ".join(text.split())
    rows = {line.split("  ")[1].strip(): line.split()[-4:] for line in text.splitlines() if line.startswith("  ")}
    assert rows["launches"][-2:] == ["4", "1"]
    assert rows["HBM traffic"] == ["4.00", "KiB", "2.00", "KiB"]
    assert rows["estimated time"] == ["48.0", "µs", "13.0", "µs"]


def test_a_miss_is_shown_with_reason_figures_and_cost(plan: Plan) -> None:
    text = render_text(page(plan))
    (row,) = [line for line in text.splitlines() if "/layer.0/Softmax" in line]
    for said in ("Softmax", "axis-not-trailing", "axis=1", "11.0 µs"):
        assert said in row
    assert " ".join(ADVICE["axis-not-trailing"].split()[:4]) in " ".join(text.split())


def test_candidates_that_differ_in_more_are_apart(plan: Plan) -> None:
    other = replace(plan.regions[1], sizes={"d0": 1})
    text = render_text(page(replace(plan, regions=(plan.regions[0], other))))
    assert "1. Add+Mul" in text and "2. Add+Mul" in text


@pytest.mark.parametrize(
    ("wanted", "regions", "misses"),
    [
        ({}, ["AF101_0", "AF101_1"], ["/layer.0/Softmax", "/layer.0/MatMul", "/layer.1/MatMul"]),
        ({"node": "/layer.1/Mul"}, ["AF101_1"], []),
        ({"node": "AF101_0"}, ["AF101_0"], []),
        ({"node": "/layer.0/MatMul"}, [], ["/layer.0/MatMul"]),
        ({"code": "own-kernel"}, [], ["/layer.0/MatMul", "/layer.1/MatMul"]),
        ({"rule": "AF1*"}, ["AF101_0", "AF101_1"], []),
        ({"rule": "AF301"}, [], ["/layer.0/Softmax"]),
        ({"rule": "AF301", "code": "own-kernel"}, [], []),
        ({"node": "/layer.0/MatMul", "code": "no-gain"}, [], []),
    ],
)
def test_filters(plan: Plan, wanted: dict[str, str], regions: list[str], misses: list[str]) -> None:
    first = replace(plan.misses[0], miss=replace(plan.misses[0].miss, rule="AF301"))
    ruled = replace(plan, misses=(first, *plan.misses[1:]))
    assert found(ruled, **wanted) == (regions, misses)
    assert ("as asked for" in render_text(page(ruled, **wanted))) == (not regions and not misses)


def test_a_node_of_no_candidate_is_told_with_the_near_ones(plan: Plan) -> None:
    with pytest.raises(UsageError, match=r"--node: .*did you mean /layer\.0/MatMul"):
        page(plan, node="/layer.0/MatMull")
    with pytest.raises(UsageError, match=r"the model has no node 'zzz'; .*lists the names"):
        page(plan, node="zzz")
    others = {"Constant_7": "it is a constant"}
    known = explanation_page("m.onnx", plan, (), Filter(("Constant_7",)), lambda: others)
    assert "Constant_7: it is a constant." in render_text(known)
    with pytest.raises(UsageError, match=r"did you mean Constant_7\?"):
        explanation_page("m.onnx", plan, (), Filter(("Constant_8",)), lambda: others)


def test_every_documented_reason_is_known() -> None:
    text = (Path(__file__).parents[2] / "docs/design/0001-formats.md").read_text("utf-8")
    table = text.split("## Reason codes")[1].split("## Plan")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {code for row in rows for code in re.findall(r"`([^`]+)`", row)} == set(CODES)


def test_the_document_has_the_plans_forms(plan: Plan) -> None:
    document = json.loads(render_page(page(plan), Format.JSON))
    assert document["schema"] == "ascend-fuse/explanation/1"
    assert document["regions"] == json.loads(json.dumps([region_json(r) for r in plan.regions]))
    assert document["misses"] == json.loads(json.dumps([miss_json(m) for m in plan.misses]))
    assert (document["model"], document["soc"], document["dims"]) == ("m.onnx", plan.soc, {"batch": 1, "seq": 128})
