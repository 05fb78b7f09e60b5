"""What a command leaves with the CI system that runs it; nothing elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_fuse.cli.stream import say, silence

if TYPE_CHECKING:
    from ascend_fuse.report.page import Page

SUMMARY = "GITHUB_STEP_SUMMARY"  # the file to append Markdown to
SUMMARY_BYTES = 1024 * 1024  # of one step; GitHub shows nothing of a longer one
LEFT_OUT = "The rest is too long for this summary: see the report's file (--report)."


def tell_ci(make: Callable[[], Page]) -> None:
    """The page that is made in the step's summary, its errors as annotations on standard error."""
    from ascend_fuse.report.github import annotate, is_runner

    path = os.environ.get(SUMMARY)
    if not path and not is_runner():
        return
    page = make()
    if is_runner():
        try:
            for line in annotate(page.findings):
                print(line, file=sys.stderr, flush=True)
        except OSError:
            silence(sys.stderr)
    if path:
        _summarise(page, Path(path))


def _summarise(page: Page, path: Path) -> None:
    """Appends as many sections as the summary takes. A file that cannot be written is a note, no error."""
    try:
        room = SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0)
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(_fitting(page, room))
    except OSError as e:
        say(f"note: {SUMMARY} cannot be written: {e.strerror}")


def _fitting(page: Page, room: int) -> str:
    """The page as Markdown of at most that many bytes, without its last sections if need be."""
    from ascend_fuse.report.markdown import render_markdown
    from ascend_fuse.report.page import Section

    text, count = render_markdown(page), len(page.sections)
    while len(text.encode()) + 1 > room and count:
        count -= 1
        text = render_markdown(replace(page, sections=(*page.sections[:count], Section("", (LEFT_OUT,)))))
    return f"{text}\n" if len(text.encode()) < room else ""
