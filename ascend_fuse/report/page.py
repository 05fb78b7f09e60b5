"""What a report says, before it is laid out: sections of sentences and tables of plain strings.

Every string is data (names come from models): the renderers escape, the builders never do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_fuse.report.finding import Finding, Suite
    from ascend_fuse.report.picture import Picture


class Format(StrEnum):
    """How a report is laid out."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class FindingFormat(StrEnum):
    """How the findings of a report are written for a CI system; files alone have these formats."""

    SARIF = "sarif"
    JUNIT = "junit"
    GITLAB = "gitlab"


class Kind(StrEnum):
    """What the name of a `Shown` names."""

    NODE = "node"
    ALIKE = "alike"  # a node that is left, with those of the same operator, reason and cost
    RULE = "rule"
    ROW = "row"  # of Fusions
    BLOCK = "block"
    REASON = "reason"
    CLEANUP = "cleanup"  # the code of one


@dataclass(frozen=True, slots=True)
class Shown:
    """What a row of a table is about: a click on it marks all of that in the drawing."""

    name: str
    graph: str = ""  # of a node or block
    kind: Kind = Kind.NODE


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` have one string per column; columns named in `numeric` are right-aligned.

    For HTML alone, one for each row: `shows`, what a click marks in the drawing, None for nothing; `bars`, a length
    before and after, drawn to one scale beside the figures that say the same. `total`, HTML alone too: a last row.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    shows: tuple[Shown | None, ...] = ()
    bars: tuple[tuple[float, float], ...] = ()
    total: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in (*self.rows, *([self.total] if self.total else []))):
            raise ValueError(f"a row without {len(self.columns)} cells")
        if any(extra and len(extra) != len(self.rows) for extra in (self.shows, self.bars)):
            raise ValueError("not one for each row")


@dataclass(frozen=True, slots=True)
class Section:
    """Sentences, a picture, a table; `code` is shown verbatim. `in_text`: whether plain text has the section too.
    `elsewhere`: sentences of where to find what is left out; HTML leaves it in.

    Plain text shows no picture: the table has its figures. For HTML alone: `folded`, sections that open on a click,
    and `drawn`, what the page's script draws there ("graph", "roofline"); a section with it is in HTML alone.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    code: str = ""
    in_text: bool = True
    picture: Picture | None = None
    folded: tuple[Section, ...] = ()
    drawn: str = ""
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report: `document` is what the JSON format prints, `findings` and `suites` what formats of CI do,
    `drawing` what the script of an HTML page draws.
    """

    title: str
    sections: tuple[Section, ...]
    document: Mapping[str, object]
    findings: tuple[Finding, ...] = ()
    suites: tuple[Suite, ...] = ()
    drawing: Mapping[str, object] | None = None


def located(graph: str, name: str) -> str:
    """A name with the subgraph or function that it is in: `If_3.then_branch: Add_7`."""
    return f"{graph}: {name}" if graph else name


LONGEST = 5000  # characters of a text, a little over the longest path; names in models may have millions


def printable(text: str) -> str:
    """The text with control and format characters as escapes, so that a name cannot steer a terminal.

    The middle of an endless one is left out.
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
