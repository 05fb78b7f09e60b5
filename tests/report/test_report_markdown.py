"""Markdown shows names exactly and lets none of them mark anything up."""

from __future__ import annotations

from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_sample import HOSTILE

from ascend_fuse.plan import Plan
from ascend_fuse.report.fusion import fusion_page
from ascend_fuse.report.markdown import escape, render_markdown
from ascend_fuse.report.page import Page, Section, Table, printable

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def flat(tokens: list[Token]) -> list[Token]:
    return [t for token in tokens for t in (token, *flat(token.children or []))]


def inline_text(token: Token) -> str:
    return "".join(child.content for child in token.children or [])


def cells(markdown: str) -> list[str]:
    """What a reader sees in the cells of the tables, row by row."""
    tokens = MARKDOWN.parse(markdown)
    return [inline_text(tokens[k + 1]) for k, token in enumerate(tokens) if token.type in ("td_open", "th_open")]


@given(st.text(min_size=1))
def test_a_cell_shows_the_name_itself(name: str) -> None:
    page = Page("t", (Section("", (), Table(("a", "b"), ((name, "end"),))),), {})
    shown = cells(render_markdown(page))
    assert len(shown) == 4
    assert shown[3] == "end"
    # blanks at the edges of a cell are layout
    assert unescape(shown[2]) == unescape(printable(name).strip(" "))


@given(st.text(alphabet="\\`*_{}[]()#+-.!|~<>&@:/=1a \n", min_size=1))
def test_a_sentence_marks_nothing_up(text: str) -> None:
    tokens = flat(MARKDOWN.parse(render_markdown(Page("t", (Section("", (text,)),), {}))))
    kinds = {t.type for t in tokens}
    allowed = {"heading_open", "heading_close", "inline", "text", "text_special"}
    assert kinds <= allowed | {"paragraph_open", "paragraph_close"}
    assert sum(t.type == "heading_open" for t in tokens) == 1


def test_urls_and_mentions_are_not_linked_by_github() -> None:
    assert "://" not in escape("https://a.example")
    assert "@" not in escape("@someone")
    assert "www." not in escape("www.example.com")


def test_code_cannot_close_its_block() -> None:
    code = "a\n````\n# not a heading"
    tokens = MARKDOWN.parse(render_markdown(Page("t", (Section("s", (), None, code),), {})))
    assert [t.content for t in tokens if t.type == "fence"] == [code + "\n"]


def test_the_fusion_report_has_its_tables(plan: Plan) -> None:
    text = render_markdown(fusion_page(plan, ("IR version raised from 3 to 8",)))
    shown = cells(text)
    for expected in ("10", "4", "-60 %", "200.0 µs", "130.0 µs", "AF101", "elementwise chain", "Add+Mul"):
        assert expected in shown
    assert "Times are estimates" in text
    assert "seq=128 \\(assumed\\)" in text
    assert "IR version raised from 3 to 8" in text


def test_a_hostile_name_stays_text(hostile: Plan) -> None:
    text = render_markdown(fusion_page(hostile))
    assert "\x1b" not in text
    assert "<script>" not in text
    kinds = {t.type for t in flat(MARKDOWN.parse(text))}
    assert not kinds & {"html_inline", "html_block", "link_open", "em_open", "strong_open", "code_inline"}
    shown = [unescape(cell) for cell in cells(text)]
    assert (
        shown.count(printable(HOSTILE)) == 1 + 2 + 2 + 1 + 3
    )  # label; fused and first source nodes; an example; costliest nodes
