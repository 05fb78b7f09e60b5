"""A page as one HTML file: its pictures are in it, it loads nothing and runs nothing."""

from __future__ import annotations

from html import escape

from ascend_fuse.report.page import Page, Section, Table, printable
from ascend_fuse.report.svg import draw_svg

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: .25rem .6rem; text-align: left; vertical-align: top; overflow-wrap: normal; }
th { background: #f2f2f2; }
.number { text-align: right; white-space: nowrap; }
pre { background: #f6f6f6; padding: .75rem; overflow-x: auto; }
figure { margin: 1rem 0; }
svg { width: 100%; max-width: 60rem; height: auto; }
"""


def _text(text: str) -> str:
    return escape(printable(text))


def _cell(tag: str, text: str, numeric: bool, scope: str = "") -> str:
    kind = ' class="number"' if numeric else ""
    return f"<{tag}{scope}{kind}>{_text(text)}</{tag}>"


def _table(table: Table) -> list[str]:
    numeric = [c in table.numeric for c in table.columns]
    head = "".join(_cell("th", c, n, ' scope="col"') for c, n in zip(table.columns, numeric, strict=True))
    rows = ("".join(_cell("td", c, n) for c, n in zip(row, numeric, strict=True)) for row in table.rows)
    body = [f"<tr>{row}</tr>" for row in rows]
    return ["<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>", *body, "</tbody>", "</table>"]


def _section(section: Section, number: int) -> list[str]:
    lines = ["<section>"]
    if section.title:
        lines.append(f"<h2>{_text(section.title)}</h2>")
    lines += [f"<p>{_text(line)}</p>" for line in section.lines]
    if section.picture is not None and (drawn := draw_svg(section.picture, f"picture-{number}")):
        lines += ["<figure>", drawn, f"<figcaption>{_text(section.picture.description)}</figcaption>", "</figure>"]
    if section.table is not None:
        lines += _table(section.table)
    if section.code:
        lines += ["<pre>" + "\n".join(_text(line) for line in section.code.splitlines()) + "</pre>"]
    return [*lines, "</section>"]


def render_html(page: Page) -> str:
    """The page as HTML that is well-formed XML as well, ending in a newline."""
    title = _text(page.title)
    lines = [
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>', f"<title>{title}</title>",
        f"<style>{STYLE}</style>", "</head>", "<body>", "<main>", f"<h1>{title}</h1>",
    ]  # fmt: skip
    for number, section in enumerate(page.sections, start=1):
        lines += _section(section, number)
    return "\n".join([*lines, "</main>", "</body>", "</html>"]) + "\n"
