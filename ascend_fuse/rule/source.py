"""Where in a rule file a key, an item or a line of ONNX text stands, as TOML readers do not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.error import RuleError

_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=\s*(.*)")
_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.-]+)\s*\]?\]")
_AT_LINE = re.compile(r"at line (\d+)")
_QUOTES = ('"""', "'''")

Place = tuple[str, int, str]  # table, its ordinal, key; ("", 0, key) for the keys before the first table


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed rule file; `lines` holds each key's line, `items` those of the tables in a key's array."""

    path: Path
    table: Mapping[str, object]
    lines: Mapping[Place, int]
    items: Mapping[Place, tuple[int, ...]]
    text: str

    def error(self, what: str, line: int = 1, do: str = "") -> RuleError:
        """The error that says `what` about the line of this file."""
        return RuleError(what, where=f"{self.path}:{line}", do=do)

    def line(self, key: str, table: str = "", ordinal: int = 0) -> int:
        """The line of a key (of the `ordinal`-th table of that name), of the table when it is not there."""
        return self.lines.get((table, ordinal, key)) or self.lines.get((table, ordinal, ""), 1)

    def item(self, key: str, index: int, table: str = "", ordinal: int = 0) -> int:
        """The line of the `index`-th table of an array, whether inline or under its own header."""
        header = self.lines.get((key, index, "")) if not table else None
        inline = self.items.get((table, ordinal, key), ())
        return header or (inline[index] if index < len(inline) else self.line(key, table, ordinal))

    def first_text_line(self, key: str, table: str = "", ordinal: int = 0) -> int:
        """The line on which a string value begins: the next one where the quotes end their line."""
        line = self.line(key, table, ordinal)
        written = self.text.splitlines()[line - 1].rstrip() if self.text else ""
        return line + 1 if written.endswith(_QUOTES) and sum(written.count(q) for q in _QUOTES) == 1 else line


def _scan(text: str) -> tuple[dict[Place, int], dict[Place, tuple[int, ...]]]:
    lines: dict[Place, int] = {}
    items: dict[Place, tuple[int, ...]] = {}
    seen: dict[str, int] = {}
    table, ordinal, quote, place = "", 0, "", ("", 0, "")
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if header := _HEADER.match(line):
            table = header[1]
            ordinal = seen.get(table, -1) + 1
            seen[table] = ordinal
            lines[table, ordinal, ""] = number
            continue
        if line.lstrip().startswith("{"):
            items[place] = (*items.get(place, ()), number)
        elif key := _KEY.match(line):
            place = (table, ordinal, key[1])
            lines.setdefault(place, number)
        quote = next((q for q in _QUOTES if line.count(q) == 1), "")
    return lines, items


def read(path: Path) -> Source:
    """The file's content with its lines. Raises RuleError when it is missing, not UTF-8 or not TOML."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise RuleError(f"cannot read the rule: {e}", where=str(path)) from e
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        at = _AT_LINE.search(str(e))
        line = int(at[1]) if at else text.count("\n") + 1
        raise RuleError(f"not TOML: {e}", where=f"{path}:{line}") from e
    lines, items = _scan(text)
    return Source(path, table, lines, items, text)
