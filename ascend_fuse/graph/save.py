"""Writing files: whole or not at all, a model with its external weights linked or copied beside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from onnx import ModelProto

from ascend_fuse.error import ModelError, UsageError
from ascend_fuse.graph.data_file import Placing, copy, link
from ascend_fuse.graph.target import PART, temporary_prefix, uninterrupted


@contextmanager
def _named(target: Path) -> Generator[None]:
    """Failures are told by the file that was asked for, not by its temporary. Raises UsageError."""
    try:
        yield
    except OSError as e:
        raise UsageError(f"cannot write: {e.strerror}", where=str(target), do="check space and rights") from e


@contextmanager
def _staged(target: Path) -> Generator[Path]:
    """An empty temporary file beside `target`, gone at the end unless it was moved. Raises OSError."""
    name = ""
    try:
        with uninterrupted():
            handle, name = tempfile.mkstemp(prefix=temporary_prefix(target), suffix=PART, dir=target.parent)
            os.close(handle)
        yield Path(name)
    finally:
        with uninterrupted():
            if name:
                Path(name).unlink(missing_ok=True)


def _move(temporary: Path, target: Path) -> None:
    """Put the whole file in its place, with the mode of the file that it replaces. Raises OSError."""
    mode = target.stat().st_mode & 0o7777 if target.is_file() else 0o666 & ~_umask()
    with temporary.open("rb") as stream:
        os.fsync(stream.fileno())
    temporary.chmod(mode)
    temporary.replace(target)


def write_atomically(target: Path, write: Callable[[Path], None], *, follow: bool = True) -> None:
    """Let `write` fill a temporary file and move it to `target`, or, with `follow`, to where that links.

    Raises UsageError, leaves nothing half.
    """
    with _named(target):
        real = target.resolve() if follow else target
        with _staged(real) as temporary:
            write(temporary)
            _move(temporary, real)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_texts(texts: Sequence[tuple[Path, str]], then: Callable[[], None]) -> None:
    """Write all texts aside, do `then`, and move them in place: no text appears unless `then` succeeds.

    Raises UsageError for a text that cannot be written, and whatever `then` raises.
    """
    with ExitStack() as stack:
        staged: list[tuple[Path, Path]] = []
        for path, text in texts:
            with _named(path):
                with uninterrupted():  # until the stack knows of the file
                    temporary = stack.enter_context(_staged(path.resolve()))
                temporary.write_text(text, "utf-8", newline="\n")
            staged.append((temporary, path))
        then()
        for temporary, path in staged:
            with _named(path):
                _move(temporary, path.resolve())


def save_model(model: ModelProto, target: Path, placings: Sequence[Placing] = ()) -> None:
    """The model at `target`, deterministic bytes; its data files first. Raises UsageError, ModelError."""
    try:
        data = model.SerializeToString(deterministic=True)
    except ValueError as e:
        do = "store the weights as external data first"
        raise ModelError("the model has over 2 GB of inline weights", where=str(target), do=do) from e
    save_bytes(data, target, placings)


def save_bytes(data: bytes, target: Path, placings: Sequence[Placing] = ()) -> None:
    """A serialised model at `target`; data files that are new go again when it cannot be written."""
    new: list[Path] = []
    try:
        for placing in placings:
            if not placing.is_there:
                if not os.path.lexists(placing.there):
                    new.append(placing.there)
                _place(placing)
        write_atomically(target, lambda path: _write(path, data))
    except BaseException:
        for path in new:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _place(placing: Placing) -> None:
    here, there = placing.here, placing.there
    with _named(there):
        there.parent.mkdir(parents=True, exist_ok=True)
        linked = placing.weights == "link" and link(here, there)
    if not linked:  # in place of an earlier link, never through it
        write_atomically(there, lambda path: copy(here, path), follow=False)
