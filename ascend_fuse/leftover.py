"""Temporary files of processes that were killed: they could not remove them, and nobody else would."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ascend_fuse.delivery import PROBE
from ascend_fuse.graph.target import PART, temporary_prefix


def leftovers(paths: Iterable[Path]) -> frozenset[Path]:
    """The temporary files that are there beside these files, which a run reads or writes."""
    prefixes: dict[Path, set[str]] = {}
    for path in paths:
        prefixes.setdefault(path.resolve().parent, set()).add(temporary_prefix(path))
    found: set[Path] = set()
    for folder, own in prefixes.items():
        with suppress(OSError):
            found |= {folder / name for name in os.listdir(folder) if _begin(name) in own}
    return frozenset(found)


def _begin(name: str) -> str:
    """What stands before the part of a temporary name that was drawn; "" for another file."""
    ending = next((e for e in (PART, PROBE) if name.endswith(e)), "")
    return name.removesuffix(ending).rpartition(".")[0] + "." if ending else ""


def remove(files: Iterable[Path]) -> None:
    """Each of them that is still there."""
    for file in files:
        with suppress(OSError):
            file.unlink(missing_ok=True)
