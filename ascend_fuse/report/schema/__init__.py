"""The JSON Schemas (2020-12) of the documents that the commands print; a test holds the documents against them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from ascend_fuse.config import nearest
from ascend_fuse.error import UsageError

FOLDER = Path(__file__).parent
URN = "urn:ascend-fuse:"  # one that a schema has for `ascend-fuse/plan/1` is urn:ascend-fuse:plan:1


def schema_names() -> tuple[str, ...]:
    """The documents that have a schema: `plan`, `check` …"""
    return tuple(sorted(p.stem for p in FOLDER.glob("*.json")))


def schema(name: str) -> dict[str, object]:
    """The schema of a document, which may refer to others. Raises UsageError for an unknown one."""
    if name not in schema_names():
        raise UsageError(f"no document is called {name!r}", where="schema", do=nearest(name, schema_names()))
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def bundled(name: str) -> str:
    """The schema as JSON with all that it refers to inside, under their own identifiers. Raises UsageError."""
    whole = schema(name)
    inside = cast("dict[str, object]", whole.setdefault("$defs", {}))
    waiting = list(_referred(whole))
    while waiting:
        other = waiting.pop()
        if other != name and other not in inside:
            inside[other] = schema(other)
            waiting += _referred(inside[other])
    return json.dumps(whole, indent=2) + "\n"


def _referred(value: object) -> Iterator[str]:
    """The names of other documents in the references of a schema."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            if key == "$ref" and isinstance(inner, str) and inner.startswith(URN):
                yield inner.removeprefix(URN).partition(":")[0]
            else:
                yield from _referred(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _referred(inner)
