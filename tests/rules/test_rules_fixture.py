"""Every rule file has a fixture file, and every case in it comes out as written."""

from __future__ import annotations

import pytest
import rule_case
from onnx import checker
from onnx.parser import parse_model

from ascend_fuse.rule.load import load_rules
from ascend_fuse.rule.match import Match, match_at

RULES = [r for r in load_rules().rules if r.role in ("idiom", "anchor")]  # tests/cleanup has the others
CASES = [(r.code, c) for r in RULES for c in rule_case.cases(r.code)]


@pytest.mark.parametrize(("code", "case"), CASES, ids=[f"{code} {c.title}" for code, c in CASES])
def test_case(code: str, case: rule_case.Case) -> None:
    assert not rule_case.complaint(load_rules().by_code(code), case)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_each_pattern_has_a_hit(rule) -> None:
    hit = {c.pattern for c in rule_case.cases(rule.code) if c.wanted == "hit"}
    assert {p.name for p in rule.patterns} <= hit


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_conditions_that_can_be_named_are(rule) -> None:
    """Each condition is the reason of at least one miss; dropping any is caught by the mutation test."""
    said = {c.wanted for c in rule_case.cases(rule.code)}
    kinds = {c.kind for p in rule.patterns for c in p.conditions}
    assert "opset-out-of-range" in said
    assert "value" not in kinds or {"constant-mismatch", "input-overridable"} <= said
    assert "trailing" not in kinds or "axis-not-trailing" in said
    several = any(len(p.nodes) > 1 for p in rule.patterns)
    assert rule.role != "idiom" or not several or "value-escapes" in said


@pytest.mark.parametrize("rule", load_rules().rules, ids=lambda r: r.code)
def test_example(rule) -> None:
    """The documented example is a valid model and, where there is a pattern, a hit."""
    model = parse_model(rule.example)
    checker.check_model(model, full_check=True)
    view = rule_case.view_of(model)
    at = range(len(view.nodes)) if rule.family == "matmul" else (len(view.nodes) - 1,)  # an epilogue follows
    assert rule.builtin or any(isinstance(match_at(rule, view, k), Match) for k in at)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_hits_are_valid_models(rule) -> None:
    """Where the installed onnx and the model's opset know the operators."""
    for case in rule_case.cases(rule.code):
        if case.wanted == "hit":
            checker.check_model(parse_model(case.text))
