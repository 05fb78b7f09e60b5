"""What a report says, before it is laid out: sections of sentences and tables of plain strings.

Every string is data (names come from models): the renderers escape, the builders never do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_fuse.report.picture import Picture


class Format(StrEnum):
    """How a report is laid out."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` have one string per column; columns named in `numeric` are right-aligned."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row without {len(self.columns)} cells")


@dataclass(frozen=True, slots=True)
class Section:
    """Sentences, a picture, a table; `code` is shown verbatim. `in_text`: whether plain text has the section too.

    Plain text shows no picture: the table has its figures.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    code: str = ""
    in_text: bool = True
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report: `document` is what the JSON format prints."""

    title: str
    sections: tuple[Section, ...]
    document: Mapping[str, object]


LONGEST = 5000  # characters of a text, a little over the longest path; names in models may have millions


def printable(text: str) -> str:
    """The text with control and format characters as escapes, so that a name cannot steer a terminal.

    The middle of an endless one is left out.
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
