"""What was tested as JUnit XML, in the elements that Jenkins, GitLab and GitHub's actions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from ascend_fuse.report.finding import Case, Suite, placed
from ascend_fuse.report.page import printable


def render_junit(suites: Sequence[Suite]) -> str:
    """A suite for each model, a case for each gate and each fusion; no times: none is measured."""
    root = ElementTree.Element("testsuites", {"name": "ascend-fuse", **_counts([c for s in suites for c in s.cases])})
    for suite in suites:
        name = printable(placed(suite.model).as_posix())
        element = ElementTree.SubElement(root, "testsuite", {"name": name, **_counts(suite.cases)})
        for case in suite.cases:
            _add(element, case, name)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    failures, errors = sum(bool(c.failure) for c in cases), sum(bool(c.error) for c in cases)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors), "skipped": "0"}


def _add(suite: ElementTree.Element, case: Case, model: str) -> None:
    element = ElementTree.SubElement(suite, "testcase", {"classname": model, "name": printable(case.name)})
    for kind, text in (("failure", case.failure), ("error", case.error)):
        if text:  # XML has no control characters, not even as references
            message = printable(text)
            ElementTree.SubElement(element, kind, {"message": message, "type": kind}).text = message
