"""Progress on standard error, when a terminal is there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

Report = Callable[[str, int, int], None]


@contextmanager
def progress(quiet: bool) -> Generator[Report | None]:
    """A callback (stage, done, total) that draws one line, or None when nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total or None)

        yield report
