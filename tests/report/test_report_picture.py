"""Bars: lengths to one scale, as characters and as SVG that needs neither colour nor anything beside it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from report_sample import HOSTILE

from ascend_fuse.report.html import render_html
from ascend_fuse.report.markdown import render_markdown
from ascend_fuse.report.page import Page, Section, Table
from ascend_fuse.report.picture import CHARACTERS, COLUMNS, Bar, Picture, Segment, draw
from ascend_fuse.report.svg import BARS, LABEL, MARK, draw_svg
from ascend_fuse.report.text import render_text

SVG = "{http://www.w3.org/2000/svg}"
TIMES = Picture(
    "Time", "What it is.",
    (
        Bar("/layer/Add", (Segment("launch", 10.0), Segment("heads", 2.0), Segment("pipes", 4.0)), "16.00 µs"),
        Bar("/layer/Mul", (Segment("launch", 10.0), Segment("heads", 0.0), Segment("pipes", 6.0)), "16.00 µs", 16.0),
        Bar("fused", (Segment("launch", 10.0), Segment("pipes", 3.0)), "13.00 µs"),
    ), "µs",
)  # fmt: skip


def drawn(picture: Picture) -> list[str]:
    """What stands between the borders of each bar."""
    return [line.split("|")[1] for line in draw(picture)[1:]]


def test_characters_are_proportional() -> None:
    whole = TIMES.whole
    assert whole == 32.0
    for bar, line in zip(TIMES.bars, drawn(TIMES), strict=True):
        assert len(line) == COLUMNS
        assert len(line) - len(line.lstrip()) == round(bar.start / whole * COLUMNS)
        for segment in bar.segments:
            assert abs(line.count(CHARACTERS[segment.kind]) - segment.length / whole * COLUMNS) < 1
        assert len(line.rstrip()) == round(bar.end / whole * COLUMNS)
    assert draw(TIMES)[0] == "█ launch  ▓ heads  ░ pipes   0.667 µs a character"


def test_rounding_does_not_add_up() -> None:
    """Many segments that are each shorter than a character take what they take together."""
    bar = Bar("a", tuple(Segment("launch" if k % 2 else "pipes", 1.0) for k in range(1000)), "")
    (line,) = drawn(Picture("t", "d", (bar,)))
    assert len(line.rstrip()) == COLUMNS
    assert drawn(Picture("t", "d", (Bar("a", (Segment("used", 0.0),), ""),))) == []


def rects(picture: Picture) -> list[tuple[str, float, float]]:
    """Title, left end and width of each rectangle behind the legend, in the picture's unit."""
    root = ElementTree.fromstring(draw_svg(picture, "p"))
    found = list(root.findall(f"{SVG}rect"))[len(picture.kinds) :]
    unit = picture.whole / BARS
    titles = [(r.findtext(f"{SVG}title") or "", r) for r in found]
    return [(t, (float(r.attrib["x"]) - LABEL) * unit, float(r.attrib["width"]) * unit) for t, r in titles]


def test_svg_is_proportional() -> None:
    wanted = []
    for bar in TIMES.bars:
        at = bar.start
        for s in bar.segments:
            if s.length:
                wanted.append((f"{bar.label}, {s.kind}: {s.length:.2f} µs", at, s.length))
            at += s.length
    found = rects(TIMES)
    assert [t for t, _, _ in found] == [t for t, _, _ in wanted]
    for (_, x, width), (_, start, length) in zip(found, wanted, strict=True):
        assert (x, width) == pytest.approx((start, length), abs=0.001)


def test_svg_is_told_in_words_and_patterns() -> None:
    root = ElementTree.fromstring(draw_svg(TIMES, "p"))
    names = root.attrib["aria-labelledby"].split()
    texts = {e.attrib["id"]: e.text for e in root.iter() if "id" in e.attrib}
    assert root.attrib["role"] == "img"
    assert [texts[n] for n in names] == [
        "Time", "What it is. /layer/Add: 16.00 µs. /layer/Mul: 16.00 µs. fused: 13.00 µs.",
    ]  # fmt: skip
    shown = [t.text for t in root.findall(f"{SVG}text")]
    assert shown[:4] == ["launch", "heads", "pipes", "width of all: 32.00 µs"]
    assert shown[4:] == ["/layer/Add", "16.00 µs", "/layer/Mul", "16.00 µs", "fused", "13.00 µs"]
    assert set(CHARACTERS) == set(MARK)


@pytest.mark.parametrize(
    "kinds",
    [("launch", "heads", "product", "epilogue"), ("launch", "heads", "pipes"), ("before", "after"),
     ("used", "too much", "free", "reserve")],
)  # fmt: skip
def test_kinds_of_one_picture_are_told_apart(kinds: tuple[str, ...]) -> None:
    for table in (CHARACTERS, MARK):
        assert len({table[k] for k in kinds}) == len(kinds)
    marked = [MARK[k][1] for k in kinds if k != "free"]  # that is white
    assert len(set(marked)) == len(marked)


PAGE = Page(
    "t", (Section("s", ("line",), Table(("a", "b"), (("1", "2"),), frozenset({"b"})), "x\ny", picture=TIMES),), {}
)


def test_html_holds_all_and_loads_nothing() -> None:
    html = render_html(PAGE)
    root = ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    assert [e.text for e in root.iter("h2")] == ["s"]
    assert [e.text for e in root.iter("td")] == ["1", "2"]
    assert [e.attrib for e in root.iter("th")] == [{"scope": "col"}, {"scope": "col", "class": "number"}]
    assert [e.text for e in root.iter("pre")] == ["x\ny"]
    assert [e.text for e in root.iter("figcaption")] == ["What it is."]
    assert len(list(root.iter(f"{SVG}svg"))) == 1
    assert not {"script", "link", "img", "iframe"} & {e.tag for e in root.iter()}
    assert not [e.attrib for e in root.iter() if "href" in e.attrib or "src" in e.attrib]
    assert re.findall(r"https?://[^\"]*", html) == ["http://www.w3.org/2000/svg"]


def test_names_from_models_have_no_effect() -> None:
    bars = (Bar(HOSTILE, (Segment("used", 1.0),), HOSTILE),)
    picture = Picture(HOSTILE, HOSTILE, bars)
    page = Page(
        HOSTILE, (Section(HOSTILE, (HOSTILE,), Table((HOSTILE,), ((HOSTILE,),)), HOSTILE, picture=picture),), {}
    )
    html = render_html(page)
    assert "<script" not in html
    assert "\x1b" not in html
    ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    fence = Picture("t", "d", (Bar("```", (Segment("used", 1.0),), ""),))
    assert "\n````\n" in render_markdown(Page("t", (Section("s", picture=fence),), {}))


def test_markdown_draws_and_text_does_not() -> None:
    markdown = render_markdown(PAGE)
    assert "\n```\n" + "\n".join(draw(TIMES)) + "\n```\n" in markdown
    assert "█" not in render_text(PAGE)
    ids = re.findall(r'id="([^"]*)"', render_html(Page("t", PAGE.sections * 3, {})))
    assert len(ids) == len(set(ids)) == 3 * 6  # of the section, and in its picture
