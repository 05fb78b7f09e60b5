"""A rule's fixtures notice each change of the rule: no condition, constant or operator is there untested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import rule_case

from ascend_fuse.rule.load import Rule, load_rules
from ascend_fuse.rule.pattern import COMMUTATIVE

RULES = [r for r in load_rules().rules if r.role in ("idiom", "anchor")]  # tests/cleanup has the others
# Another operator of the same arity; what is not listed becomes Identity or, with several operands, Sum.
OTHER = {
    "Add": "Mul", "Mul": "Add", "Sub": "Add", "Div": "Mul", "Pow": "Div", "Erf": "Tanh", "Tanh": "Erf",
    "Sigmoid": "Tanh", "Exp": "Log", "Sqrt": "Exp", "Neg": "Abs", "Reciprocal": "Neg", "ReduceMax": "ReduceMin",
    "ReduceMin": "ReduceMax", "ReduceMean": "ReduceSum", "ReduceSum": "ReduceMean", "Softmax": "LogSoftmax",
    "LogSoftmax": "Softmax", "Gelu": "Elu", "Swish": "Elu", "Sum": "Max",
}  # fmt: skip
_NODE = re.compile(r"= (\w+) (<[^>]*> )?\(([^)]*)\)")

Mutant = tuple[str, Rule]


def _conditions(rule: Rule) -> Iterator[Mutant]:
    def changed(conditions):
        for i, c in enumerate(conditions):
            yield f"without {c.label}", (*conditions[:i], *conditions[i + 1 :])
            if c.kind in ("value", "keepdims"):
                other = not c.equals if isinstance(c.equals, bool) else c.equals * 1.01 or 0.01
                yield f"{c.label} is {other}", (*conditions[:i], replace(c, equals=other), *conditions[i + 1 :])
            if len(c.of) == 2 and c.kind == "halves":
                swapped = replace(c, of=c.of[::-1])
                yield f"{c.label} swapped", (*conditions[:i], swapped, *conditions[i + 1 :])

    for what, where in changed(rule.where):
        yield what, replace(rule, where=where)
    for k, text in enumerate(rule.texts):
        for what, where in changed(text.where):
            texts = (*rule.texts[:k], replace(text, where=where), *rule.texts[k + 1 :])
            yield f"{what} in pattern {k}", replace(rule, texts=texts)


def _texts(rule: Rule) -> Iterator[Mutant]:
    for k, text in enumerate(rule.texts):
        for node in _NODE.finditer(text.text):
            op, attributes, operands = node[1], node[2] or "", [o.strip() for o in node[3].split(",")]
            other = OTHER.get(op, "Identity" if len(operands) == 1 else "Sum")
            forms = {f"{op} is {other}": f"= {other} ({node[3]})"}
            if len(operands) > 1 and op not in COMMUTATIVE and operands[0] != operands[1]:
                swapped = ", ".join((operands[1], operands[0], *operands[2:]))
                forms[f"{op} swapped"] = f"= {op} {attributes}({swapped})"
            if attributes:
                forms[f"{op} without attributes"] = f"= {op} ({node[3]})"
            for what, form in forms.items():
                changed = text.text[: node.start()] + form + text.text[node.end() :]
                texts = (*rule.texts[:k], replace(text, text=changed), *rule.texts[k + 1 :])
                yield f"{what} in {text.text.split()[0]}", replace(rule, texts=texts)


def _keys(rule: Rule) -> Iterator[Mutant]:
    first, last = rule.opset
    yield "any opset", replace(rule, opset=(1, last))
    yield "a later opset", replace(rule, opset=(first + 1, last))
    for name in rule.optional:
        yield f"{name} not optional", replace(rule, optional=tuple(o for o in rule.optional if o != name))
    # Where all operands are free inputs, swapping them changes names alone.
    inner = {n.op for p in rule.patterns for n in p.nodes if not set(n.inputs) <= set(p.inputs) - set(p.constants)}
    for op in sorted(inner & COMMUTATIVE):
        yield f"{op} ordered", replace(rule, ordered=(op,))
    if rule.role == "idiom":
        yield "inner values may escape", replace(rule, role="anchor", instruction="")


def _mutants(rule: Rule) -> Iterator[Mutant]:
    yield from _conditions(rule)
    yield from _texts(rule)
    yield from _keys(rule)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_every_mutant_is_noticed(rule: Rule) -> None:
    cases = rule_case.cases(rule.code)
    assert not any(rule_case.complaint(rule, c) for c in cases)
    mutants = list(_mutants(rule))

    def told(what: str, mutant: Rule) -> bool:
        near_first = sorted(cases, key=lambda c: not (c.pattern and what.endswith(c.pattern)))
        return any(rule_case.complaint(mutant, c) for c in near_first)

    survivors = [what for what, m in mutants if not told(what, m)]
    assert not survivors, f"{len(survivors)} of {len(mutants)} changes of {rule.code} go unnoticed"
    assert len(mutants) > len(rule.texts)
