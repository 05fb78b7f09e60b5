"""The report of `diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_fuse.report import quantity
from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.graph.difference import Change, Difference

SHOWN = 40  # rows per table; the JSON format has them all
COUNTS = ("", "a", "b", "change")


def _counts(d: Difference) -> Section:
    pairs = (
        ("nodes", d.a.nodes, d.b.nodes),
        ("launches", d.a.launches, d.b.launches),
        ("functions", d.a.functions, d.b.functions),
        ("initializers", d.a.initializers, d.b.initializers),
    )
    rows = tuple((name, quantity.count(a), quantity.count(b), f"{b - a:+,d}") for name, a, b in pairs)
    return Section("", (f"a: {d.a.path}", f"b: {d.b.path}"), Table(COUNTS, rows, frozenset(COUNTS[1:])))


def _operators(changes: tuple[Change, ...]) -> Section:
    def number(text: str) -> int:
        return int(text) if text else 0

    rows = tuple(
        (c.name, c.before or "0", c.after or "0", f"{number(c.after) - number(c.before):+,d}") for c in changes[:SHOWN]
    )
    table = Table(("operator", *COUNTS[1:]), rows, frozenset(COUNTS[1:]))
    return Section("Operators", _more(changes), table)


def _more(changes: tuple[Change, ...]) -> tuple[str, ...]:
    left = len(changes) - SHOWN
    return (f"{quantity.count(left)} more in the JSON format.",) if left > 0 else ()


def _changes(title: str, changes: tuple[Change, ...], line: str = "") -> Section:
    rows = tuple((c.kind, c.name, c.before or "absent", c.after or "absent") for c in changes[:SHOWN])
    lines = ((line,) if line else ()) + _more(changes)
    return Section(title, lines, Table(("what", "name", "a", "b"), rows))


def difference_page(d: Difference, document: dict[str, object]) -> Page:
    """The report of a difference; `document` is its JSON."""
    if d.is_same:
        line = "No difference in operators, interface, opsets, functions, weights or computation."
        return Page("ascend-fuse: difference", (_counts(d), Section("", (line,))), document)
    sections = [_counts(d)]
    if not d.interface:
        sections.append(Section("Interface", ("Inputs and outputs are the same in name, order and type.",)))
    titled = (
        ("Interface", d.interface, ""),
        ("Opsets", d.opsets, ""),
        ("Functions", d.functions, ""),
        ("Initializers", d.initializers, ""),
        ("Outputs computed by other nodes", d.computation,
         "Structure only: whether the values agree is for `ascend-fuse verify` to say."),
    )  # fmt: skip
    sections += [_changes(title, found, line) for title, found, line in titled if found]
    if d.operators:
        sections.insert(2, _operators(d.operators))
    return Page("ascend-fuse: difference", tuple(sections), document)
