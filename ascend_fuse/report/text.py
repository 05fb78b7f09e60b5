"""A page for a terminal or a plain text file."""

from __future__ import annotations

import io
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from ascend_fuse.report.page import Page, Section, Table, printable

FILE_WIDTH = 120  # columns, where no terminal says how wide it is


def _table(table: Table) -> RichTable:
    laid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        # fold, not crop: a name that is cut cannot be searched for
        laid.add_column(
            Text(column, style="bold"),
            justify="right" if column in table.numeric else "left",
            overflow="fold",
        )
    for row in table.rows:
        laid.add_row(*(Text(printable(cell)) for cell in row))
    return laid


def _print_section(console: Console, section: Section) -> None:
    if section.title:
        console.print()
        console.print(Text(printable(section.title), style="bold"))
    for line in section.lines:
        console.print(Text(printable(line)))
    if section.table is not None:
        console.print(Padding(_table(section.table), (0, 0, 0, 2)))
    for line in section.code.splitlines():
        console.print(Text(f"  {printable(line)}"), no_wrap=True, overflow="ignore", crop=False)


def print_text(page: Page, stream: TextIO, width: int | None = None) -> None:
    """Writes the page, as wide as the terminal unless `width` (in columns) is given."""
    console = Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
    console.print(Text(printable(page.title), style="bold"))
    for section in page.sections:
        if section.in_text:
            _print_section(console, section)


def render_text(page: Page) -> str:
    """The page as plain text, `FILE_WIDTH` wide, without trailing blanks."""
    stream = io.StringIO()
    print_text(page, stream, FILE_WIDTH)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())
