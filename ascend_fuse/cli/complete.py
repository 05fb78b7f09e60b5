"""What a shell completes: rules, chips, reasons. Nothing that is slow to import is needed; typer keeps what fits."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ascend_fuse.reason import CODES

Words = list[tuple[str, str]]  # each with what it means


def rules(context: typer.Context) -> Words:
    """Codes of rules with their names, those of `--rules DIR` too."""
    from ascend_fuse.resource import rules_dir

    given: Any = context.params.get("rules") or ()
    return sorted(pair for folder in (rules_dir(), *map(Path, given)) for pair in _named(folder))


def _named(folder: Path) -> Iterator[tuple[str, str]]:
    """Code and name of each rule in the folder that can be read; one that is broken is told when it is used."""
    for path in folder.glob("*.toml"):
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        yield str(table.get("code", "")), str(table.get("name", ""))


def chips() -> list[str]:
    """Names of chips."""
    from ascend_fuse import _engine

    return list(_engine.soc_names())


def reasons() -> Words:
    """Reason codes with their meanings."""
    return list(CODES.items())


def codes(context: typer.Context, incomplete: str) -> Words:
    """Rules and reasons, once something is written: before that a shell offers files, which are models."""
    return [*rules(context), *reasons()] if incomplete else []
