"""External weights of a model that is written into another folder: linked or copied there."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ascend_fuse.error import UsageError

Weights = Literal["keep", "copy"]


@dataclass(frozen=True, slots=True)
class Placing:
    """One data file on its way from `here` to `there`; `is_there` when nothing is left to do."""

    here: Path
    there: Path
    weights: Weights
    is_there: bool

    def note(self) -> str:
        """What becomes of it, for the report."""
        linked = self.weights == "keep" and (not self.is_there or self.there.samefile(self.here))
        return f"linked: {self.there} -> {self.here}" if linked else f"copied: {self.here} to {self.there}"


def plan_placings(names: Iterable[str], source: Path, target: Path, weights: Weights) -> tuple[Placing, ...]:
    """What has to happen for `target` to hold the data files of the folder `source`; nothing is written.

    Raises UsageError when another file of such a name is there.
    """
    if source.resolve() == target.resolve():
        return ()
    pairs = [(source / name, target / name) for name in names]
    # a folder inside may be linked as a whole
    apart = [(h, t) for h, t in pairs if h.parent.resolve() != t.parent.resolve()]
    return tuple(Placing(h, t, weights, _is_there(h, t, weights)) for h, t in apart)


def _is_there(here: Path, there: Path, weights: Weights) -> bool:
    if not os.path.lexists(there):
        return False
    if there.exists() and there.samefile(here):
        return weights == "keep"
    if there.is_file() and filecmp.cmp(here, there, shallow=False):  # an earlier copy
        return True
    do = "remove it, or choose another folder"
    raise UsageError("another data file of that name is there", where=str(there), do=do)


def link(here: Path, there: Path) -> None:
    """A hard link; a symbolic one across file systems. Raises OSError."""
    there.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(here.resolve(), there)
    except OSError:
        there.symlink_to(here.resolve())


def copy(here: Path, there: Path) -> None:
    """The bytes alone. Raises OSError."""
    shutil.copyfile(here, there)
