"""Each spelling that a fixture holds becomes one launch under its rule's name, its program proved equal to its body."""

from __future__ import annotations

import pytest
import rule_case
from onnx.parser import parse_model

import ascend_fuse
from ascend_fuse.rule.load import load_rules
from ascend_fuse.rule.match import Match

RULES = [r for r in load_rules().rules if r.role in ("idiom", "anchor")]
# Hits that no region holds whole: why.
PARTIAL = {
    ("AF102", "bounds that the graph computes"): "the row is cut where only the run knows",
    ("AF221", "instance"): "views stay outside",
}


def spellings() -> list[tuple[str, rule_case.Case]]:
    """Of several nodes and in types that chips have: a node alone has nothing to fuse with."""
    found: list[tuple[str, rule_case.Case]] = []
    for rule in RULES:
        for case in rule_case.cases(rule.code):
            if case.edited or "double" in case.text or (rule.code, case.title) in PARTIAL:
                continue
            match = rule_case.found(rule, case)
            if isinstance(match, Match) and len(match.nodes) > 1:
                found.append((rule.code, case))
    return found


@pytest.mark.parametrize(("code", "case"), spellings(), ids=lambda v: v if isinstance(v, str) else v.title)
def test_a_spelling_fuses(code: str, case: rule_case.Case) -> None:
    result = ascend_fuse.optimize(parse_model(case.text), min_gain=0.0)
    assert [code in region.rules for region in result.plan.regions].count(True) == 1


def test_idioms_are_one_instruction() -> None:
    for rule in (r for r in RULES if r.role == "idiom"):
        name = rule.instruction.split()[0]
        for case in (c for code, c in spellings() if code == rule.code):
            (region,) = ascend_fuse.optimize(parse_model(case.text), min_gain=0.0).plan.regions
            assert [line.split(" = ")[1].split()[0] for line in region.program.splitlines()[1:-1]] == ["in", name]
