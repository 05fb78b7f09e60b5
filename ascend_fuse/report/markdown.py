"""A page as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ascend_fuse.report.page import Page, Section, Table, printable
from ascend_fuse.report.picture import draw

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#!|~$])")
_LEADING = re.compile(r"^(\s*)([-+=]|\d+[.)])")


def escape(text: str) -> str:
    """Markdown inside a line that shows exactly the text: no emphasis, links, HTML or table borders."""
    out = _SPECIAL.sub(r"\\\1", printable(text))
    out = out.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return out.replace("://", ":\\//").replace("www.", "www\\.").replace("@", "&#64;")


def escape_line(text: str) -> str:
    """The same for a whole line: no list, rule or heading either."""
    out = escape(text)
    return _LEADING.sub(lambda m: f"{m[1]}{m[2][:-1]}\\{m[2][-1]}", out)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(table: Table) -> list[str]:
    rules = tuple("---:" if c in table.numeric else "---" for c in table.columns)
    lines = [_row(tuple(escape(c) for c in table.columns)), _row(rules)]
    return lines + [_row(tuple(escape(c) for c in row)) for row in table.rows]


def _section(section: Section) -> list[str]:
    lines = ["", f"## {escape(section.title)}"] if section.title else []
    for line in (*section.lines, *section.elsewhere):
        lines += ["", escape_line(line)]
    if section.picture is not None and (drawn := draw(section.picture)):
        lines += ["", escape_line(section.picture.description), "", *_verbatim(drawn)]
    if section.table is not None:
        lines += ["", *_table(section.table)]
    if section.code:
        lines += ["", *_verbatim(section.code.splitlines())]
    return lines


def _verbatim(lines: Sequence[str]) -> list[str]:
    """A block in a fence that is longer than any run of backquotes inside, so that nothing closes it from within."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *map(printable, lines), fence]


def render_markdown(page: Page) -> str:
    """The page as Markdown, ending in a newline."""
    lines = [f"# {escape(page.title)}"]
    for section in page.sections:
        if not section.drawn:
            lines += _section(section)
    return "\n".join(lines) + "\n"
