"""A page in the format that was asked for."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from ascend_fuse.error import UsageError
from ascend_fuse.report.page import FindingFormat, Format, Page

if TYPE_CHECKING:
    from ascend_fuse.task import Result

FORMAT_OF_SUFFIX = {".json": Format.JSON, ".md": Format.MARKDOWN, ".html": Format.HTML, ".txt": Format.TEXT}
# The longest ending that fits decides; GitLab's own name for its report is one.
FINDING_FORMATS = {
    ".sarif": FindingFormat.SARIF, ".sarif.json": FindingFormat.SARIF, ".xml": FindingFormat.JUNIT,
    ".gitlab.json": FindingFormat.GITLAB, "gl-code-quality-report.json": FindingFormat.GITLAB,
}  # fmt: skip


def format_of(path: Path, *, findings: bool = False) -> Format | FindingFormat:
    """The format that the file's ending stands for; `findings`: the report has some, so the formats of CI do too.

    Raises UsageError for another ending.
    """
    known: Mapping[str, Format | FindingFormat] = {**FORMAT_OF_SUFFIX, **FINDING_FORMATS}
    fitting = [ending for ending in known if path.name.lower().endswith(ending)]
    form = known[max(fitting, key=len)] if fitting else None
    if form is None or (isinstance(form, FindingFormat) and not findings):
        what = f"no report format has the ending {path.suffix!r}" if form is None else f"this report has no {form} form"
        endings = known if findings else FORMAT_OF_SUFFIX
        raise UsageError(what, where=str(path), do=f"end it in {', '.join(endings)}")
    return form


def _plain(value: object) -> object:
    """The value with infinities and NaN, for which JSON has no number, as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in cast("Sequence[object]", value)]
    return value


def render_page(page: Page, form: Format | FindingFormat) -> str:
    """The page as one string that ends in a newline."""
    if isinstance(form, FindingFormat):
        return _findings(page, form)
    if form is Format.JSON:
        return json.dumps(_plain(page.document), indent=2, allow_nan=False) + "\n"
    if form is Format.MARKDOWN:
        from ascend_fuse.report.markdown import render_markdown

        return render_markdown(page)
    if form is Format.HTML:
        from ascend_fuse.report.html import render_html

        return render_html(page)
    from ascend_fuse.report.text import render_text

    return render_text(page)


def _findings(page: Page, form: FindingFormat) -> str:
    if form is FindingFormat.SARIF:
        from ascend_fuse.report.sarif import render_sarif

        return render_sarif(page.findings)
    if form is FindingFormat.GITLAB:
        from ascend_fuse.report.gitlab import render_gitlab

        return render_gitlab(page.findings)
    from ascend_fuse.report.junit import render_junit

    return render_junit(page.suites)


def result_page(result: Result) -> Page:
    """The report of what `optimize` did."""
    from ascend_fuse.report.fusion import fusion_page
    from ascend_fuse.report.outcome import outcome_findings, outcome_suite
    from ascend_fuse.report.verification import summary, verification_json
    from ascend_fuse.worker import Outcome

    found, name = result.verification, result.path.name if result.path is not None else ""
    if result.source is not None and result.source.name != name:
        name = f"{result.source.name}{name and f' → {name}'}"
    document = None if found is None else verification_json(found)
    page = fusion_page(result.plan, result.notes, document, name, result.drawing)
    outcome = Outcome(result.source or result.path or Path("model.onnx"), result.path, result.plan, found)
    page = replace(page, findings=outcome_findings(outcome), suites=(outcome_suite(outcome),))
    return page if found is None else replace(page, sections=(*page.sections, summary(found)))


def render(result: Result, form: str = "text") -> str:
    """The report of what `optimize` did as text, markdown, html or json. Raises UsageError for another form."""
    try:
        chosen = Format(form)
    except ValueError:
        raise UsageError(f"no report format {form!r}", do=f"one of {', '.join(Format)}") from None
    return render_page(result_page(result), chosen)


def show(page: Page, form: Format, stream: TextIO | None = None) -> None:
    """Writes the page to the stream (standard output); on a terminal, text is as wide as that."""
    out = sys.stdout if stream is None else stream
    if form is Format.TEXT and out.isatty():
        from ascend_fuse.report.text import print_text

        print_text(page, out)
    else:
        from ascend_fuse.report.github import harmless

        text = render_page(page, form)
        out.write(harmless(text) if form in (Format.TEXT, Format.MARKDOWN) else text)
