"""Cleanups, and what is inside subgraphs and functions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ascend_fuse.plan import Cleanup, Plan, to_json
from ascend_fuse.report.explanation import Filter, explanation_page
from ascend_fuse.report.fusion import fused_nodes, fusion_page, fusions
from ascend_fuse.report.markdown import render_markdown
from ascend_fuse.report.miss import costliest, misses
from ascend_fuse.report.text import render_text

SCOPES = ("If_3.then_branch", "Loop_0.body/If_1.else_branch", "function com.example::Gelu")


@pytest.mark.parametrize("scope", SCOPES)
def test_regions_and_misses_are_shown_with_their_scope(plan: Plan, scope: str) -> None:
    inner = replace(
        plan,
        regions=(plan.regions[0], replace(plan.regions[1], graph=scope)),
        misses=tuple(replace(m, graph=scope) for m in plan.misses),
    )
    rows = fusions(inner).table.rows
    assert [row[2] for row in rows] == ["Add+Mul", f"{scope}: Add+Mul"]
    assert [row[1] for row in fused_nodes(inner).table.rows] == ["AF101_0", f"{scope}: AF101_1"]
    assert misses(inner).table.rows[0][5].startswith(f"{scope}: /layer.0/MatMul")
    assert costliest(inner).table.rows[0][0] == f"{scope}: /layer.1/MatMul"
    explained = render_text(explanation_page("m.onnx", inner, (), Filter()))
    assert f"in {scope}" in explained
    document = json.loads(json.dumps(to_json(inner)))
    assert [r["graph"] for r in document["regions"]] == ["", scope]
    assert {m["graph"] for m in document["misses"]} == {scope}


def test_cleanups_are_counted_by_rule_and_listed_where_there_is_room(plan: Plan) -> None:
    many = tuple(Cleanup("", "AF002", f"/Identity_{k}", "removed") for k in range(30))
    inside = Cleanup("If_3.then_branch", "AF003", "/Cast", "removed: casts float to float")
    cleaned = replace(
        plan, cleanups=(*plan.cleanups, *many, inside), rule_names={**plan.rule_names, "AF002": "identity"}
    )
    text = render_text(fusion_page(cleaned))
    (counted,) = [line for line in text.splitlines() if line.split()[:2] == ["AF002", "identity"]]
    assert counted.split()[2:] == ["30", "/Identity_0:", "removed"]
    assert "If_3.then_branch: /Cast: removed: casts float to float" in text
    assert "/Identity_29" not in text
    assert "/Identity\\_29" in render_markdown(fusion_page(cleaned))
    assert len(json.loads(json.dumps(to_json(cleaned)))["cleanups"]) == 32


def test_a_plan_without_cleanups_speaks_of_none(plan: Plan) -> None:
    for text in (render_text, render_markdown):
        assert "leanup" not in text(fusion_page(replace(plan, cleanups=())))
