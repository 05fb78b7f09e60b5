"""Files that ship beside the code: at the top of a source checkout, inside the package once installed."""

from __future__ import annotations

from pathlib import Path

import ascend_fuse
from ascend_fuse.error import InternalError


def rules_dir() -> Path:
    """The directory of the built-in rules."""
    return _directory("rules")


def _directory(name: str) -> Path:
    for entry in ascend_fuse.__path__:
        package = Path(entry)
        checkout = package.parent / name
        if (package.parent / "pyproject.toml").is_file() and checkout.is_dir():
            return checkout
    for entry in ascend_fuse.__path__:
        inside = Path(entry) / name
        if inside.is_dir():
            return inside
    raise InternalError(f"the package lacks its directory {name!r}", do="install ascend-fuse again")
