"""The blocks of code in README and docs, with what the comment before each says about running it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
RUN = ("console", "python")
MARK = re.compile(r"<!-- (not run|needs|exit|file): (.+?) -->")


@dataclass(frozen=True)
class Block:
    """One fenced block; `marks` are what the comment right before it says: `<!-- not run: why -->`."""

    page: Path
    line: int
    language: str
    content: str
    marks: tuple[tuple[str, str], ...]

    def mark(self, name: str) -> str:
        return dict(self.marks).get(name, "")

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Each command of a console block with the lines that it is said to print; … stands for any."""
        for text in re.split(r"^\$ ", self.content, flags=re.MULTILINE)[1:]:
            lines = text.splitlines()
            count = next((k for k, line in enumerate(lines) if not line.endswith("\\")), len(lines) - 1) + 1
            yield "\n".join(lines[:count]), [line for line in lines[count:] if line.strip()]


def blocks(page: Path) -> list[Block]:
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    return [_block(page, t, tokens[k - 1] if k else None) for k, t in enumerate(tokens) if t.type == "fence"]


def _block(page: Path, token: Token, before: Token | None) -> Block:
    said = before.content if before is not None and before.type == "html_block" else ""
    line = (token.map or [0])[0] + 1
    return Block(page, line, token.info.strip(), token.content, tuple(MARK.findall(said)))
