"""Findings for CI systems: SARIF, JUnit, GitLab and GitHub as their readers want them, whatever nodes are called."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from junitparser import JUnitXml
from report_sample import HOSTILE
from sarif_schema import sarif_schema
from test_plan_file import plans

from ascend_fuse.plan import Plan
from ascend_fuse.reason import CODES
from ascend_fuse.report.descriptor import GATES, describe
from ascend_fuse.report.finding import Case, Finding, Suite, fingerprinted, placed
from ascend_fuse.report.github import annotate, harmless
from ascend_fuse.report.gitlab import render_gitlab
from ascend_fuse.report.junit import render_junit
from ascend_fuse.report.outcome import outcome_findings, outcome_suite
from ascend_fuse.report.page import FindingFormat, Format, printable
from ascend_fuse.report.render import format_of
from ascend_fuse.report.sarif import render_sarif
from ascend_fuse.rule.load import load_rules
from ascend_fuse.worker import Failure, Outcome

SARIF = Draft7Validator(sarif_schema())
MODEL = Path("models/a.onnx")
COMMAND = re.compile(r"^\s*::|##\[")  # what the runner of GitHub Actions takes for a command


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


def of(plan: Plan, model: Path = MODEL) -> list[Finding]:
    return list(outcome_findings(Outcome(model, plan=plan)))


def checked(findings: list[Finding]) -> list[dict[str, object]]:
    """The results of the SARIF that the findings are written as, valid and each with its rule."""
    log = json.loads(render_sarif(findings))
    SARIF.validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert len(run["results"]) == len(findings)
    return run["results"]


def test_near_misses_are_notes_with_their_node(plan: Plan) -> None:
    results = checked(of(plan))
    assert [(r["ruleId"], r["level"]) for r in results] == [
        ("axis-not-trailing", "note"), ("own-kernel", "note"), ("own-kernel", "note"),
    ]  # fmt: skip
    (location,) = results[0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "models/a.onnx"}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "/layer.0/Softmax", "kind": "node"}]
    message = "Softmax /layer.0/Softmax is not fused: axis-not-trailing: axis 1 of 3 (axis=1)"
    assert results[0]["message"] == {"text": message}


def test_what_failed_is_an_error_and_the_run_no_success() -> None:
    findings = list(outcome_findings(Outcome(MODEL, error=Failure("models/a.onnx: bad; export it again", 3))))
    (result,) = checked(findings)
    assert (result["level"], result["ruleId"]) == ("error", "failed")
    assert json.loads(render_sarif(findings))["runs"][0]["invocations"] == [{"executionSuccessful": False}]
    assert json.loads(render_sarif([]))["runs"][0]["invocations"] == [{"executionSuccessful": True}]
    checked([])


def test_help_is_that_of_rules_and_reasons() -> None:
    known = [*(r.code for r in load_rules().rules), *CODES, *GATES, "MY001"]
    checked([Finding("note", about, MODEL, "x") for about in known])
    for about in known:
        described = describe(about)
        assert described.id == about and described.short and described.help
    assert describe("AF202").name == "residual-layer-norm"
    assert describe("AF202").help == load_rules().by_code("AF202").doc.strip()


def test_gitlab_reads_what_it_needs(plan: Plan) -> None:
    findings = [*of(plan), Finding("error", "min-fusions", MODEL, "2 fusions, at least 3")]
    entries = json.loads(render_gitlab(findings))
    assert [e["severity"] for e in entries] == ["info", "info", "info", "major"]
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["location"] == {"path": "models/a.onnx", "lines": {"begin": 1}}
    assert len({e["fingerprint"] for e in entries}) == len(entries)


def test_a_fingerprint_stays_while_figures_and_sentences_change(plan: Plan) -> None:
    def fingerprints(plan: Plan) -> list[str]:
        return [print for _, print in fingerprinted(of(plan))]

    told = tuple(replace(m, miss=replace(m.miss, message="other", figures={"x": 1})) for m in plan.misses)
    assert fingerprints(replace(plan, misses=told)) == fingerprints(plan)
    assert fingerprints(replace(plan, misses=plan.misses[1:])) == fingerprints(plan)[1:]
    twice = fingerprints(replace(plan, misses=plan.misses * 2))
    assert len(set(twice)) == 2 * len(plan.misses) and twice[:3] == fingerprints(plan)


def test_junit_counts_cases(plan: Plan) -> None:
    suites = [
        outcome_suite(Outcome(MODEL, plan=plan)),
        outcome_suite(Outcome(Path("bad.onnx"), error=Failure("bad.onnx: no model", 3))),
        Suite(Path("c.onnx"), (Case("min-fusions", "2 fusions, at least 3"), Case("max-launches"))),
    ]
    read = JUnitXml.fromstring(render_junit(suites).encode())
    assert (read.tests, read.failures, read.errors, read.skipped) == (6, 1, 1, 0)
    assert [(s.name, s.tests, s.failures, s.errors) for s in read] == [
        ("models/a.onnx", 3, 0, 0), ("bad.onnx", 1, 0, 1), ("c.onnx", 2, 1, 0),
    ]  # fmt: skip
    names = [case.name for case in next(iter(read))]
    assert names == ["plan", "AF101 Add+Mul: AF101_0", "AF101 Add+Mul: AF101_1"]
    (failure,) = next(iter(list(read)[2])).result
    assert (failure.message, failure.text) == ("2 fusions, at least 3",) * 2


def test_annotations_are_for_errors_alone(plan: Plan) -> None:
    findings = [*of(plan), Finding("error", "min-gain", Path("a,b:c.onnx"), "50% missed\nby far")]
    assert list(annotate(findings)) == [
        "::error file=a%2Cb%3Ac.onnx,title=ascend-fuse%3A min-gain::50%25 missed\\nby far"
    ]


def test_paths_are_those_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repo" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo" / "sub")
    assert placed(Path("m.onnx")) == Path("m.onnx")
    outside = tmp_path / "other" / "m 1.onnx"
    assert placed(outside) == outside
    for variable in ("CI_PROJECT_DIR", "GITHUB_WORKSPACE"):
        monkeypatch.setenv(variable, str(tmp_path / "repo"))
        assert placed(Path("m.onnx")) == Path("sub/m.onnx")
        assert placed(outside) == outside
        monkeypatch.delenv(variable)
    (result,) = checked([Finding("note", "no-gain", outside, "x")])
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == outside.as_uri()  # pyright: ignore


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.sarif", FindingFormat.SARIF), ("x.sarif.json", FindingFormat.SARIF), ("X.SARIF", FindingFormat.SARIF),
        ("x.xml", FindingFormat.JUNIT), ("x.junit.xml", FindingFormat.JUNIT), ("x.gitlab.json", FindingFormat.GITLAB),
        ("gl-code-quality-report.json", FindingFormat.GITLAB), ("x.json", Format.JSON), ("sarif.json", Format.JSON),
        ("x.sarif.md", Format.MARKDOWN),
    ],
)  # fmt: skip
def test_the_ending_says_the_format(name: str, form: object) -> None:
    assert format_of(Path(name), findings=True) is form


HOSTILE_TEXT = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [HOSTILE, "\n::error::x", "::stop-commands::t", "##[add-mask]x", "%0A::", "]]>", "<a b='&'>", "\x00\x07\ufffe"]
    ),
    st.sampled_from(["{0} {x} }{", "[a](http://y.example)", "a|b\\", "\u202e\u2028", "\r\n", "%", "💥", "\ud7ff"]),
)


@settings(max_examples=150, deadline=None)
@given(plans(), st.lists(HOSTILE_TEXT, min_size=3, max_size=3))
def test_names_of_any_characters_stay_data(plan: Plan, names: list[str]) -> None:
    """Every format is valid and says as many things as there are; nothing in a name begins or ends anything."""
    node, scope, words = names
    misses = tuple(replace(m, name=node, graph=scope, miss=replace(m.miss, message=words)) for m in plan.misses)
    regions = tuple(replace(r, name=node, graph=scope, label=words) for r in plan.regions)
    stem = node.replace("/", "").replace("\0", "") or "m"
    outcome = Outcome(Path(f"models/{stem}.onnx"), plan=replace(plan, misses=misses, regions=regions))
    failed = Finding("error", "expect", outcome.source, f"{words} {node}", node)
    findings = [*outcome_findings(outcome), failed]

    for result in checked(findings):
        text = result["message"]["text"]  # pyright: ignore
        assert "](" not in text  # no link
        assert not re.search(r"(?<!\{)(\{\{)*\{[0-9]+\}", text), text  # no placeholder
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]  # pyright: ignore
        assert re.fullmatch(r"[A-Za-z0-9_.~/%-]+", uri) and unquote(uri) == placed(outcome.source).as_posix()

    assert len(json.loads(render_gitlab(findings))) == len(findings)

    suite = outcome_suite(outcome)
    xml = render_junit([suite, Suite(outcome.source, (Case(node, words), Case(words, "", node)))])
    root = ElementTree.fromstring(xml)
    assert [c.get("name") for c in root[0]] == [printable(c.name) for c in suite.cases]
    assert all(printable(text or "") == text for text in root.itertext() if text and text.strip())

    (line,) = annotate(findings)
    assert len(line.splitlines()) == 1
    head, message = line.removeprefix("::error ").split("::", 1)
    assert {part.split("=")[0] for part in head.split(",")} == {"file", "title"}
    assert message.replace("%25", "%") == printable(failed.message)


@given(st.lists(HOSTILE_TEXT, max_size=5))
def test_no_line_of_a_text_is_a_command_to_the_runner(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        text = harmless("\n".join(["  ::debug::x", *names, "a ##[group]b", "x :: y"]))
        assert not any(COMMAND.search(line) for line in re.split(r"[\r\n]", text))
        assert "x :: y" in text
        patch.setenv("GITHUB_ACTIONS", "false")
        assert harmless("::debug::x") == "::debug::x"
