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
from ascend_fuse.report.page import Format, Page

if TYPE_CHECKING:
    from ascend_fuse.task import Result

FORMAT_OF_SUFFIX = {".json": Format.JSON, ".md": Format.MARKDOWN, ".html": Format.HTML, ".txt": Format.TEXT}


def format_of(path: Path) -> Format:
    """The format that the file's ending stands for. Raises UsageError for another ending."""
    try:
        return FORMAT_OF_SUFFIX[path.suffix.lower()]
    except KeyError:
        raise UsageError(
            f"no report format has the ending {path.suffix!r}",
            where=str(path),
            do=f"end it in {', '.join(FORMAT_OF_SUFFIX)}",
        ) from None


def _plain(value: object) -> object:
    """The value with infinities and NaN, for which JSON has no number, as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in cast("Sequence[object]", value)]
    return value


def render_page(page: Page, form: Format) -> str:
    """The page as one string that ends in a newline."""
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


def result_page(result: Result) -> Page:
    """The report of what `optimize` did."""
    from ascend_fuse.report.fusion import fusion_page
    from ascend_fuse.report.verification import summary, verification_json

    found, name = result.verification, result.path.name if result.path is not None else ""
    if found is None:
        return fusion_page(result.plan, result.notes, name=name)
    page = fusion_page(result.plan, result.notes, verification_json(found), name)
    return replace(page, sections=(*page.sections, summary(found)))


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
        out.write(render_page(page, form))
