"""The configuration file: `ascend-fuse.toml`, or the table `[tool.ascend-fuse]` of a pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ascend_fuse.config import CHECK, GATES, OPTIONS, Given, checked, nearest
from ascend_fuse.error import UsageError

OWN = "ascend-fuse.toml"
PROJECT = "pyproject.toml"
TABLE = ("tool", "ascend-fuse")
PATHS = ("profile", "cache_dir", f"{CHECK}.expect")
EXAMPLES = {"dims": "batch = 8", CHECK: "min_fusions = 8"}  # of the options that are tables


def find_file(folder: Path) -> Path | None:
    """The nearest file going up from the folder; `ascend-fuse.toml` before the pyproject.toml beside it.

    Raises UsageError for a pyproject.toml on the way that cannot be read.
    """
    start = folder.absolute()
    for place in (start, *start.parents):
        if (own := place / OWN).is_file():
            return own
        if (project := place / PROJECT).is_file() and _table(project, _parsed(project)) is not None:
            return project
    return None


def from_file(path: Path) -> Mapping[str, Given]:
    """What the file gives, its paths relative to it. Raises UsageError with file and line."""
    document = _parsed(path)
    table = _table(path, document)
    if table is None:
        raise UsageError("there is no table [tool.ascend-fuse]", where=str(path), do="add it, or name another file")
    found: dict[str, Given] = {}
    lines = _Lines(path)
    for key, value in table.items():
        where = lines.where(key)
        if key == TABLE[0] and path.name != PROJECT:
            do = "leave the header out here: the options stand at the top of this file"
            raise UsageError("[tool.ascend-fuse] belongs in a pyproject.toml", where=where, do=do)
        if key not in (*OPTIONS, CHECK):
            raise UsageError(f"no option is called {key!r}", where=where, do=nearest(key, (*OPTIONS, CHECK)))
        if key not in EXAMPLES:
            found[key] = Given(_placed(key, checked(key, value, where), path.parent), where)
            continue
        if not isinstance(value, dict):
            do = f"give a table: {key} = {{ {EXAMPLES[key]} }}"
            raise UsageError(f"{key} cannot be {value!r}", where=where, do=do)
        for name, inner in cast("dict[str, object]", value).items():
            where = lines.where(name, key)
            if key == CHECK and name not in GATES:
                raise UsageError(f"no gate is called {name!r}", where=where, do=nearest(name, GATES))
            option = f"{key}.{name}"
            found[option] = Given(_placed(option, checked(option, inner, where), path.parent), where)
    return found


def _parsed(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as e:
        raise UsageError(f"cannot read the configuration: {e.strerror}", where=str(path), do="name a file") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        at = re.search(r"\(at line (\d+)", str(e))
        where = f"{path}:{at[1]}" if at else str(path)
        raise UsageError(f"this is no TOML: {e}", where=where, do="correct it") from e


def _table(path: Path, document: Mapping[str, object]) -> Mapping[str, object] | None:
    """The options in the document, None for a pyproject.toml without our table."""
    if path.name != PROJECT:
        return document
    tool = document.get(TABLE[0])
    tables = cast("dict[str, object]", tool) if isinstance(tool, dict) else {}
    if (misspelt := TABLE[1].replace("-", "_")) in tables:
        raise UsageError(f"[tool.{misspelt}] is read by nobody", where=str(path), do="write [tool.ascend-fuse]")
    own = tables.get(TABLE[1])
    if own is not None and not isinstance(own, dict):
        raise UsageError("tool.ascend-fuse is no table", where=str(path), do="write [tool.ascend-fuse]")
    return cast("dict[str, object] | None", own)


def _placed(key: str, value: object, folder: Path) -> str | int | float | bool | tuple[str, ...]:
    """The value with its paths relative to the file, as the working directory sees them."""
    if key == "rules":
        return tuple(str(folder / part) for part in cast("tuple[str, ...]", value))
    is_path = key in PATHS or (key == "soc" and str(value).lower().endswith(".ini"))
    if isinstance(value, str) and value and is_path:
        return str(folder / value)
    return cast("str | int | float | bool | tuple[str, ...]", value)


class _Lines:
    """Where the keys of the file stand: tomllib does not say."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prefix = ".".join(TABLE) if path.name == PROJECT else ""
        self.lines = path.read_text("utf-8").splitlines()

    def where(self, key: str, table: str = "") -> str:
        """`file:line` of the key, of the table around it, or the file alone."""
        wanted = ".".join(filter(None, (self.prefix, table, key)))
        number = self._line(wanted) or (self._line(wanted.rpartition(".")[0]) if table else 0)
        return f"{self.path}:{number}" if number else str(self.path)

    def _line(self, wanted: str) -> int:
        """The first line that makes the dotted name: a header of it or below it, or an assignment to it."""
        header = ""
        for number, line in enumerate(self.lines, start=1):
            if found := re.match(r"\s*\[+([^\[\]]+)\]", line):
                header = _dotted(found[1])
                if header == wanted or header.startswith(f"{wanted}."):
                    return number
            elif found := re.match(r"\s*([^=#]+?)\s*=", line):
                name = ".".join(filter(None, (header, _dotted(found[1]))))
                if name == wanted or name.startswith(f"{wanted}."):
                    return number
        return 0


def _dotted(text: str) -> str:
    """A key as TOML writes it, without quotes and blanks."""
    return ".".join(part.strip().strip("\"'") for part in text.split("."))
