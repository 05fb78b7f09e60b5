"""A page as one HTML file that loads nothing: tables and pictures, and with a drawing also what a script makes of it.

Without a drawing the page runs nothing and is well-formed XML too. With one, a content security policy names the
hashes of our own scripts; no other runs, and nothing is fetched.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ascend_fuse.report.page import Page, Section, Table, printable
from ascend_fuse.report.svg import draw_svg

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ASSETS = Path(__file__).parent / "asset"
SCRIPTS = ("data.js", "layout-client.js", "canvas.js", "pane.js", "panel.js", "graph.js", "roofline.js", "page.js")
LIBRARIES = ("d3", "dagre")  # as cmake/WebLibraries.cmake names them
WITHOUT = (
    "This installation has no libraries for graph and charts: it was built without a network. The tables are complete."
)
CODE = re.compile(r"`(ascend-fuse [^`]+|--[^`]+)`")  # of our own sentences: a command, an option
LONG = 24  # rows: a longer table scrolls within its section


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")


@cache
def _library(name: str) -> str:
    """The library's text, "" where this installation has none."""
    import ascend_fuse

    # Of an editable installation the package lies in two folders.
    for folder in ascend_fuse.__path__:
        path = Path(folder) / "report" / "vendor" / f"{name}.js"
        if path.is_file():
            text = re.sub(r"//# sourceMappingURL=\S*", "", path.read_text("utf-8"))  # nothing is beside the page
            licence = path.with_suffix(".LICENSE.txt").read_text("utf-8").replace("*/", "* /")
            return f"/*\n{licence}*/\n{text}"
    return ""


def _readable(value: object) -> object:
    """The value with each string as the tables show it: rows point at nodes by their names."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(k)): _readable(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_readable(v) for v in cast("Sequence[object]", value)]
    return value


def _json(value: object) -> str:
    """JSON that is text wherever it stands in HTML: nothing in it opens or closes a tag or a comment."""
    text = json.dumps(_readable(value), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # every string is data: `finalize` sees it before it is escaped
    return Environment(
        loader=FileSystemLoader(ASSETS), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_final,
    )  # fmt: skip


def _final(value: object) -> object:
    return printable(value) if type(value) is str else value


def _prose(text: str) -> Markup:
    """The text with commands and options set as code."""
    from markupsafe import Markup, escape

    parts = enumerate(CODE.split(printable(text)))
    return Markup("").join(Markup("<code>{}</code>").format(part) if k % 2 else escape(part) for k, part in parts)


def _marked(table: Table) -> list[dict[str, object]]:
    """The rows with what HTML adds to them: lengths of bars in percent of the longest, what they show."""
    longest = max((before for before, _ in table.bars), default=0.0) or 1.0
    rows: list[dict[str, object]] = []
    for k, row in enumerate(table.rows):
        bar = table.bars[k] if table.bars else None
        rows.append(
            {
                "cells": [(cell, c in table.numeric) for cell, c in zip(row, table.columns, strict=True)],
                "shows": table.shows[k] if table.shows else None,
                "bar": None if bar is None else tuple(round(100 * x / longest, 2) for x in bar),
            }
        )
    return rows


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def _policy(scripts: Mapping[str, str]) -> str:
    """Our scripts, a worker that is made of the page's own text, inline styles; nothing from anywhere."""
    allowed = " ".join(map(_hash, scripts.values())) or "'none'"
    return f"default-src 'none'; script-src {allowed}; worker-src blob:; style-src 'unsafe-inline'; img-src data:"


def render_html(page: Page) -> str:
    """The page as HTML, ending in a newline."""
    from markupsafe import Markup

    drawable = page.drawing is not None and all(map(_library, LIBRARIES))
    scripts: dict[str, str] = {}
    if drawable:
        scripts = {"d3": _library("d3"), "own": "\n".join(map(_asset, SCRIPTS))}
    sections = [s for s in page.sections if drawable or not s.drawn or s.folded]
    return _environment().get_template("page.html").render(
        page=page, sections=sections, drawable=drawable, policy=_policy(scripts), long=LONG,
        without=WITHOUT if page.drawing is not None and not drawable else "",
        style=Markup(_asset("page.css") + (_asset("graph.css") if drawable else "")),
        scripts={name: Markup(text) for name, text in scripts.items()},
        worker=Markup(_library("dagre") + _asset("layout.js")) if drawable else "",
        drawing=Markup(_json(page.drawing)) if drawable else "",
        pictures=list(_pictures(sections)), marked=_marked, prose=_prose,
    ) + "\n"  # fmt: skip


def _pictures(sections: Sequence[Section]) -> Iterator[str]:
    """The picture of each section, "" of one without."""
    from markupsafe import Markup

    for k, s in enumerate(sections, start=1):
        yield Markup(draw_svg(s.picture, f"picture-{k}")) if s.picture is not None else ""
