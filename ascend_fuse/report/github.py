"""Findings as annotations: commands to the runner of GitHub Actions, one a line.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from ascend_fuse.report.finding import Finding, placed
from ascend_fuse.report.page import printable

# The runner takes `::command` at the start of a line, behind blanks, and `##[command` anywhere in one.
_COMMAND = re.compile(r"^(\s*)::|##(?=\[)", re.MULTILINE)


def annotate(findings: Iterable[Finding]) -> Iterator[str]:
    """A line for each error; near misses are for the report, of annotations the runner shows ten a step."""
    for f in findings:
        if f.level == "error":
            path, title = (_property(text) for text in (placed(f.model).as_posix(), f"ascend-fuse: {f.about}"))
            yield f"::error file={path},title={title}::{_data(f.message)}"


def _data(text: str) -> str:
    """The text as a command's message, without what would end it."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def is_runner() -> bool:
    """Whether the runner reads what we print."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def harmless(text: str) -> str:
    """The text without what the runner, if it reads, would take for commands: names from models are data."""
    if not is_runner():
        return text
    return _COMMAND.sub(lambda m: f"{m[1]}\\:\\:" if m[1] is not None else "#\\#", text)
