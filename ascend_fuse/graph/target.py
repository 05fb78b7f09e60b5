"""Where a run may write: asked before the work, so that a typing error costs neither the run nor a file."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ascend_fuse.error import UsageError

PART = ".part"  # how temporary files end
NAME_KEPT = 40  # characters of a file's name in that of its temporary: the longest allowed name stays allowed


def temporary_prefix(target: Path) -> str:
    """How the temporary file beside `target` begins."""
    return f".{target.name[:NAME_KEPT]}."


def check_file(path: Path, role: str, *, in_place: bool = False) -> None:
    """`path` is, or can become, a regular file; `role` names it in errors. Raises UsageError."""
    where = str(path)
    if where == "-":
        raise UsageError(f"the {role} cannot go to standard output", where=where, do="name a file")
    if path.is_dir():
        raise UsageError(f"the {role} is a folder", where=where, do="name a file")
    if path.exists() and not path.is_file():
        raise UsageError(f"the {role} is a device, pipe or socket", where=where, do="name a regular file")
    try:
        folder = path.resolve().parent  # of the file behind a symbolic link: that is what is replaced
    except (OSError, RuntimeError) as e:
        raise UsageError(f"the {role} is a link to itself", where=where, do="name a file") from e
    if not folder.is_dir():
        raise UsageError(f"the {role}'s folder does not exist", where=where, do="create it first")
    if is_read_only(folder, path):
        do = "make it writable, or give -o instead of --in-place" if in_place else "name a file in another folder"
        raise UsageError(f"the {role}'s folder cannot be written", where=where, do=do)


@contextmanager
def uninterrupted() -> Generator[None]:
    """SIGINT and SIGTERM wait meanwhile, so that no file exists that nobody has noted down.

    Their handlers are put off: a mask would be the main thread's alone and a runtime's own threads take signals too.
    Elsewhere than in the main thread no handler runs, and nothing has to wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda n, _: came.append(n))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        for number in came[:1]:
            signal.raise_signal(number)


def is_read_only(folder: Path, path: Path) -> bool:
    """Whether creating a file fails; root passes access checks on read-only media."""
    try:
        with uninterrupted(), tempfile.NamedTemporaryFile(prefix=temporary_prefix(path), dir=folder):
            return False
    except OSError:
        return True


def check_target(source: Path | None, target: Path, in_place: bool) -> None:
    """The target is not the input and can be written. Raises UsageError."""
    if source is not None and not in_place and is_same(source, target):
        raise UsageError("the output is the input", where=str(target), do="give another -o, or --in-place")
    check_file(target, "output", in_place=in_place)


def is_same(a: Path, b: Path) -> bool:
    """Whether both name one file, through links or not, existing or not."""
    if a.exists() and b.exists():
        return a.samefile(b)
    return os.path.realpath(a) == os.path.realpath(b)  # which takes links to themselves


def check_apart(written: Sequence[tuple[str, Path]], read: Sequence[tuple[str, Path]]) -> None:
    """No file that is to be written is one that is read, or is written twice. Raises UsageError.

    Each is (what it is, path), as in `("the report", Path("r.md"))`.
    """
    for k, (role, path) in enumerate(written):
        for other, taken in (*read, *written[:k]):
            if is_same(path, taken):
                what = f"{role} is given twice" if role == other else f"{role} is {other}"
                raise UsageError(what, where=str(path), do="name another file")
