"""`--sweep` of `ascend-fuse explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_fuse.cli.progress import progress
from ascend_fuse.config import MAX_SIZE, Config
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format

if TYPE_CHECKING:
    from ascend_fuse.report.explanation import Filter

DO = f"write name=1..64 or name=1,16,128 with positive integers, at most {MAX_SIZE}"


def parse_sweep(text: str) -> tuple[str, range | tuple[int, ...]]:
    """The size and its values: `batch=1..64` or `seq=1,16,128`. Raises UsageError."""
    where = f"--sweep {text}"
    name, _, given = text.rpartition("=")
    numbers = given.split("..") if ".." in given else given.split(",")
    sizes = [int(n) if n.strip().isdecimal() and len(n) < 12 else 0 for n in numbers]
    if not name or not all(1 <= n <= MAX_SIZE for n in sizes) or (".." in given and len(sizes) != 2):
        raise UsageError("no size and its values", where=where, do=DO)
    if ".." not in given:
        return name, tuple(dict.fromkeys(sizes))
    if sizes[0] > sizes[1]:
        raise UsageError("the range ends before it begins", where=where, do="give the smaller value first")
    return name, range(sizes[0], sizes[1] + 1)


def sweep_model(
    model: Path, texts: list[str], wanted: Filter, reports: Sequence[Path], form: Format, config: Config
) -> None:
    """One sweep after another, the other sizes as they are given or assumed."""
    from ascend_fuse.graph.save import write_texts
    from ascend_fuse.pipeline import deliver_to
    from ascend_fuse.report.render import format_of, render_page, show
    from ascend_fuse.report.sweep import sweep_page
    from ascend_fuse.survey import sweep
    from ascend_fuse.task import Task, check

    parsed = [parse_sweep(text) for text in texts]
    strict = config.strict_sizes()
    for name, _ in parsed:
        if name in strict:
            raise UsageError("the size is given and swept", where=f"--dim {name}", do="leave one of them out")
    check(Task(config.settings, replace(deliver_to(model, config.settings, None), reports=tuple(reports))))
    with progress(quiet=False) as tell:
        sweeps = [sweep(model, n, values, config.settings, strict=strict, progress=tell) for n, values in parsed]
    page = sweep_page(str(model), sweeps, wanted.swept)
    write_texts([(path, render_page(page, format_of(path))) for path in reports], lambda: None)
    show(page, form)
