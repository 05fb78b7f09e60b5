"""Reading of the rules' fixture files: one Markdown file per rule, named by its code.

A section holds a model as ONNX text, the sentence `Hit at VALUE, PATTERN: input=value, …` (`-` for an omitted operand)
and a list of edits, each with what then becomes of the section's node:

    - `old` → `new`, `old` → `new`: hit | hit PATTERN | none | a reason code

`old` occurs exactly once in the model's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx
from onnx.parser import parse_model

from ascend_fuse.graph.dim import Dim, symbol
from ascend_fuse.graph.type import DTYPE_OF_ONNX, TensorType
from ascend_fuse.graph.view import View, model_opset
from ascend_fuse.reason import Miss
from ascend_fuse.rule.load import Rule
from ascend_fuse.rule.match import Match, match_at

FOLDER = Path(__file__).parent
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_MODEL = re.compile(r"```onnx\n(.*?)```", re.S)
_HIT = re.compile(r"^Hit at (\S+), (\w+)(?:: (.*))?$", re.M)
_EDIT = re.compile(r"^- (`.*`): ([\w -]+)$", re.M)
_PAIR = re.compile(r"`([^`]*)` → `([^`]*)`")


@dataclass(frozen=True)
class Case:
    """A model, the value at whose node the rule is tried, and what is expected there."""

    title: str
    text: str
    value: str
    wanted: str  # hit | none | a reason code
    pattern: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    edited: bool = False


def cases(code: str) -> tuple[Case, ...]:
    """All cases of the rule's fixture file."""
    return tuple(_cases((FOLDER / f"{code}.md").read_text("utf-8")))


def _cases(text: str) -> Iterator[Case]:
    for section in _SECTION.finditer(text):
        title, body = section[1], section[2]
        model, hit = _MODEL.search(body), _HIT.search(body)
        assert model and hit, f"{title} lacks a model or its `Hit at`"
        pairs = tuple(tuple(p.strip().split("=")) for p in (hit[3] or "").split(",") if p.strip())
        yield Case(title, model[1], hit[1], "hit", hit[2], pairs)  # type: ignore[arg-type]
        listed = [line for line in body.splitlines() if line.startswith("- ")]
        edits = list(_EDIT.finditer(body))
        assert len(edits) == len(listed), f"{title}: an edit is not of the form `old` → `new`: what"
        for edit in edits:
            changed = model[1]
            for old, new in _PAIR.findall(edit[1]):
                assert changed.count(old) == 1, f"{title}: {old!r} occurs {changed.count(old)} times"
                changed = changed.replace(old, new)
            wanted, _, pattern = edit[2].partition(" ")
            yield Case(f"{title}: {edit[1]}", changed, hit[1], wanted, pattern, edited=True)


def view_of(model: onnx.ModelProto) -> View:
    """The model's view, its types by onnx's own inference."""
    inferred = onnx.shape_inference.infer_shapes(model)
    types: dict[str, TensorType] = {}
    for v in (*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output):
        tensor = v.type.tensor_type
        dims: tuple[Dim, ...] = tuple(
            d.dim_value if d.HasField("dim_value") else symbol(d.dim_param or f"?{v.name}{i}")
            for i, d in enumerate(tensor.shape.dim)
        )
        shape = dims if tensor.HasField("shape") else None
        types[v.name] = TensorType(DTYPE_OF_ONNX.get(tensor.elem_type, ""), shape)
    for t in model.graph.initializer:
        types[t.name] = TensorType(DTYPE_OF_ONNX.get(t.data_type, ""), tuple(t.dims))
    return View(model.graph, model_opset(model), types)


@cache
def view(text: str) -> View:
    """The view of a model in ONNX text."""
    return view_of(parse_model(text))


def found(rule: Rule, case: Case) -> Match | Miss | None:
    """What the rule says at the case's node."""
    at = view(case.text).producers[case.value]
    return match_at(rule, view(case.text), at)


def complaint(rule: Rule, case: Case) -> str:
    """What differs from the expectation, "" when nothing does."""
    got = found(rule, case)
    kind = "none" if got is None else "hit" if isinstance(got, Match) else got.code
    if kind != case.wanted:
        return f"{case.title}: wanted {case.wanted}, got {got}"
    if not isinstance(got, Match):
        return ""
    if case.pattern and got.pattern.name != case.pattern:
        return f"{case.title}: wanted the pattern {case.pattern}, got {got.pattern.name}"
    wrong = [f"{k}={got.inputs.get(k, '-')}" for k, v in case.inputs if got.inputs.get(k, "-") != v]
    return f"{case.title}: bound {', '.join(wrong)}" if wrong else ""
