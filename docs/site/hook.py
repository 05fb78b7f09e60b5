"""What the site has beside `docs/`: pages made of commands, rules, reasons and chips, and of files that lie elsewhere.

Nothing of it is committed. Links that lead out of `docs/` go to the page that the file has become.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# Files of the repository that are pages of the site.
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "kernels/engine/README.md": "engine.md",
}
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")  # text, target, anchor
FENCE = re.compile(r"^\s*(```|~~~)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made, and gives the navigation the pages that its patterns stand for."""
    for made, text in _made():
        files.append(File.generated(config, made, content=text))
    pages = sorted(f.src_uri for f in files.documentation_pages())
    config.nav = _expanded(config.nav, pages)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links to files outside `docs/` to their pages; to a file that is no page, the text alone is left."""
    own = page.file.src_uri
    home = next(
        (posixpath.dirname(f) for f, made in ELSEWHERE.items() if made == own), f"docs/{posixpath.dirname(own)}"
    )
    return "\n".join(_linked(line, home, own, files) for line in _outside_fences(markdown))


def _made() -> Iterator[tuple[str, str]]:
    import typer
    from typer.cli import get_docs_for_click

    from ascend_fuse import _engine
    from ascend_fuse.cli.app import app
    from ascend_fuse.engine import load_soc
    from ascend_fuse.reason import CODES
    from ascend_fuse.report.advice import reason_page
    from ascend_fuse.report.catalogue import rule_page, rules_page, socs_page
    from ascend_fuse.report.markdown import render_markdown
    from ascend_fuse.rule.load import load_rules

    for source, made in ELSEWHERE.items():
        yield made, (ROOT / source).read_text("utf-8")
    rules = load_rules(()).rules
    listed = render_markdown(rules_page(rules)).replace("# ascend-fuse: rules", "# Rules", 1)
    yield "rule/index.md", re.sub(r"^\| (AF\d+) \|", r"| [\1](\1.md) |", listed, flags=re.MULTILINE)
    for rule in rules:
        yield f"rule/{rule.code}.md", render_markdown(rule_page(rule))
    reasons = "\n".join(
        render_markdown(reason_page(code)).replace("## ", "### ").replace("# ", "## ", 1) for code in CODES
    )
    yield (
        "reason.md",
        f"# Reasons\n\nWhy a node stays as it is. `ascend-fuse explain CODE` prints each of these.\n\n{reasons}",
    )
    command = typer.main.get_command(app)
    options = get_docs_for_click(obj=command, ctx=typer.Context(command), name="ascend-fuse")
    yield "command.md", options.replace("# `ascend-fuse`", "# Commands and options", 1)
    chips = [load_soc(name) for name in _engine.soc_names()]
    yield "chip.md", render_markdown(socs_page(chips)).replace("# ascend-fuse: chips", "# Chips", 1)


def _lower(markdown: str) -> str:
    """The page one level further down."""
    return re.sub(r"^#", "##", markdown, flags=re.MULTILINE)


def _expanded(nav: Any, pages: list[str]) -> Any:
    """The navigation with patterns replaced by pages that do not stand there by name; none of a page twice."""
    named = set(_names(nav))

    def expand(item: Any) -> Any:
        if isinstance(item, list):
            return [one for i in item for one in (_matching(i, pages, named) if isinstance(i, str) else [expand(i)])]
        return {title: expand(inner) for title, inner in item.items()} if isinstance(item, dict) else item

    return expand(nav)


def _names(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for inner in nav if isinstance(nav, list) else nav.values() if isinstance(nav, dict) else ():
        yield from _names(inner)


def _matching(pattern: str, pages: list[str], named: set[str]) -> list[str]:
    if "*" not in pattern:
        return [pattern]
    own = posixpath.dirname(pattern)
    return [p for p in pages if fnmatch(p, pattern) and posixpath.dirname(p) == own and p not in named]


def _outside_fences(markdown: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is text."""
    inside = False
    for line in markdown.split("\n"):
        fence = FENCE.match(line) is not None
        yield line, not inside and not fence
        inside ^= fence


def _linked(told: tuple[str, bool], home: str, own: str, files: Files) -> str:
    line, is_text = told
    return LINK.sub(lambda link: _target(link, home, own, files), line) if is_text else line


def _target(link: re.Match[str], home: str, own: str, files: Files) -> str:
    text, target, anchor = link[1], link[2], link[3] or ""
    if "://" in target or target.startswith("mailto:"):
        return link[0]
    path = posixpath.normpath(posixpath.join(home, target))
    made = ELSEWHERE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else "")
    made = made or (own if path == own else "")
    if made and files.get_file_from_path(made) is not None:
        return f"[{text}]({posixpath.relpath(made, posixpath.dirname(own) or '.')}{anchor})"
    if (ROOT / path).exists():  # a file of the repository that the site has not
        return text
    return link[0]
