"""A page for a terminal or a plain text file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from ascend_fuse.report.page import Page, Section, Table, printable

FILE_WIDTH = 120  # columns, where no terminal says how wide it is and no word is longer
SHORT = 24  # columns that a cell of a few words may take, however wide the others are
GAP = 2  # blanks before the first column of a table and between columns


def _widths(table: Table, available: int) -> list[int]:
    """Of each column: no word up to `FILE_WIDTH` is broken; the widest columns give way first, down to their words."""
    columns = list(zip(*([printable(c) for c in row] for row in (table.columns, *table.rows)), strict=True))
    wanted = [min(max(map(cell_len, column)), FILE_WIDTH) for column in columns]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    least = [min(high, max(word, SHORT)) for word, high in zip(words, wanted, strict=True)]
    widths = [max(low, min(high, available)) for low, high in zip(least, wanted, strict=True)]
    while sum(widths) > available and widths != least:
        widths[max((w, k) for k, w in enumerate(widths) if w > least[k])[1]] -= 1
    return widths


def _table(table: Table, widths: Sequence[int] = ()) -> RichTable:
    """Laid out with the columns' widths, or as rich finds best."""
    laid = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for k, column in enumerate(table.columns):
        # fold, not crop: a name that is cut cannot be searched for
        laid.add_column(
            Text(column, style="bold"),
            justify="right" if column in table.numeric else "left",
            overflow="fold",
            width=widths[k] if widths else None,
        )
    for row in table.rows:
        laid.add_row(*(Text(printable(cell)) for cell in row))
    return laid


def _console(stream: IO[str], width: int | None) -> Console:
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _print_table(console: Console, table: Table) -> None:
    """As wide as the console; where that is no terminal, wider if a word needs it: a broken name is not found."""
    around = GAP * len(table.columns)  # before the first column, and between them
    if console.is_terminal:
        console.print(Padding(_table(table), (0, 0, 0, GAP)))
        return
    widths = _widths(table, console.width - around)
    wide = _console(console.file, max(console.width, sum(widths) + around))
    wide.print(Padding(_table(table, widths), (0, 0, 0, GAP)))


def _print_section(console: Console, section: Section) -> None:
    if section.title:
        console.print()
        console.print(Text(printable(section.title), style="bold"))
    for line in (*section.lines, *section.elsewhere):
        console.print(Text(printable(line)))
    if section.table is not None:
        _print_table(console, section.table)
    for line in section.code.splitlines():
        console.print(Text(f"  {printable(line)}"), no_wrap=True, overflow="ignore", crop=False)


def print_text(page: Page, stream: TextIO, width: int | None = None) -> None:
    """Writes the page, as wide as the terminal unless `width` (in columns) is given."""
    console = _console(stream, width)
    console.print(Text(printable(page.title), style="bold"))
    for section in page.sections:
        if section.in_text and not section.drawn:
            _print_section(console, section)


def render_text(page: Page) -> str:
    """The page as plain text, `FILE_WIDTH` wide, without trailing blanks."""
    stream = io.StringIO()
    print_text(page, stream, FILE_WIDTH)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())
