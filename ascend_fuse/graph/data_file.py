"""External weights of a model that is written into another folder: linked or copied there."""

from __future__ import annotations

import errno
import fcntl
import filecmp
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ascend_fuse.error import UsageError

Weights = Literal["copy", "link"]
FICLONE = 0x40049409  # linux/fs.h: share the extents of another file


@dataclass(frozen=True, slots=True)
class Placing:
    """One data file on its way from `here` to `there`; `is_there` when nothing is left to do."""

    here: Path
    there: Path
    weights: Weights
    is_there: bool

    @property
    def is_linkable(self) -> bool:
        """Whether both are on one file system. A symbolic link out of the model's folder is no way out: ONNX Runtime
        refuses to follow it.
        """
        folder = self.there.parent
        while not folder.exists():
            folder = folder.parent
        return self.here.exists() and self.here.stat().st_dev == folder.stat().st_dev

    def note(self) -> str:
        """What becomes of it, for the report."""
        linked = self.there.samefile(self.here) if self.is_there else self.weights == "link" and self.is_linkable
        linked = linked and self.weights == "link"
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
        return weights == "link"
    if there.is_file() and filecmp.cmp(here, there, shallow=False):  # an earlier copy
        return True
    do = "remove it, or choose another folder"
    raise UsageError("another data file of that name is there", where=str(there), do=do)


def link(here: Path, there: Path) -> bool:
    """Make a hard link; False where the file system has none. Raises OSError."""
    there.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(here.resolve(), there)
    except OSError as e:
        if e.errno in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            return False
        raise
    return True


def copy(here: Path, there: Path) -> None:
    """The bytes alone: shared where the file system can (reflink), holes left as holes. Raises OSError."""
    with here.open("rb") as source, there.open("wb") as target:
        try:
            fcntl.ioctl(target.fileno(), FICLONE, source.fileno())
        except OSError:
            _copy_extents(source.fileno(), target.fileno(), here.stat().st_size)


def _copy_extents(source: int, target: int, size: int) -> None:
    os.truncate(target, size)
    at = 0
    while at < size:
        try:
            start = os.lseek(source, at, os.SEEK_DATA)
        except OSError:  # a hole to the end
            return
        at = os.lseek(source, start, os.SEEK_HOLE)
        os.lseek(target, start, os.SEEK_SET)
        while start < at:  # the target's offset moves on by itself
            start += os.sendfile(target, source, start, at - start)
