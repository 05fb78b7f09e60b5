"""Several models and folders in one call: what is read and written, in which processes, what became of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.config import Settings, check_settings, nearest
from ascend_fuse.delivery import Delivery
from ascend_fuse.error import ModelError, UsageError
from ascend_fuse.graph.load import external_files, read_model
from ascend_fuse.graph.save import write_texts
from ascend_fuse.graph.target import check_apart, check_file
from ascend_fuse.leftover import leftovers, remove
from ascend_fuse.preparation import prepare
from ascend_fuse.shard import Shard, Share, file_bytes, part, share
from ascend_fuse.task import Task, check
from ascend_fuse.worker import Outcome, run_all

Told = Callable[[str, int, int], None]  # path of the last model, models done, models in all
Files = tuple[tuple[Path, Path], ...]  # where each goes, where it comes from
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of each model, in the order of the inputs; `interrupted` when those that lack were not begun.

    `share`: of how many models these are one shard, None when they are all.
    """

    outcomes: tuple[Outcome, ...]
    interrupted: bool = False
    absent_sizes: tuple[str, ...] = ()  # sizes that were given and that none of the models has
    share: Share | None = None

    @property
    def errors(self) -> tuple[str, ...]:
        """A line for each model that failed, and for each size that none has."""
        failed = tuple(o.error.what for o in self.outcomes if o.error is not None)
        known = {name for o in self.outcomes if o.plan is not None for name in o.plan.dims}
        return failed + tuple(
            f"--dim: none of the models has a size {name!r}; {nearest(name, known)}" for name in self.absent_sizes
        )

    @property
    def exit_code(self) -> int:
        """130 when interrupted, else the highest code of any model, 2 for a size that no model has."""
        if self.interrupted:
            return INTERRUPTED
        return max([0, *(o.error.exit_code for o in self.outcomes if o.error), *([2] if self.absent_sizes else [])])


def optimize_all(
    inputs: Sequence[str | os.PathLike[str]],
    settings: Settings | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    in_place: bool = False,
    reports: Sequence[str | os.PathLike[str]] = (),
    shard: Shard | None = None,
    progress: Told | None = None,
) -> Batch:
    """Fuse models, and every *.onnx under folders, into the folder `output`, or each in its place.

    A folder's models keep their relative paths. One bad model does not stop the others: its error is in its outcome.
    `settings.jobs` processes share the work (a script that asks for several needs the usual
    `if __name__ == "__main__"`), or the workers of `settings.scheduler`. With `shard` it is that part of the models.
    `reports` are written at the end, for all models together.
    Raises UsageError for what can be refused before anything runs, such as two inputs with one output.
    """
    settings = settings or Settings()
    check_settings(settings, "settings")
    if settings.profile:
        raise UsageError("a profile is of one model", where="--profile", do="give the models one by one")
    folder = None if output is None else Path(output)
    if (folder is None) != in_place:
        several = "several models, or a folder, need a folder to go to"
        what = "both a folder and --in-place are given" if in_place else several
        raise UsageError(what, where="-o", do="give -o OUTDIR or --in-place")
    if folder is not None and not folder.is_dir() and (folder.exists() or folder.suffix == ".onnx"):
        raise UsageError("several models need a folder to go to", where=str(folder), do="name one, or a new one")
    files = tuple(map(Path, reports))
    tasks = _tasks([Path(i) for i in inputs], folder, settings)
    ready = prepare(settings)  # before any process starts: a wrong option is told once
    made = _make_folders(_ends(task)[0] for task in tasks)
    try:
        moved = {k: _moved(task) for k, task in enumerate(tasks)}
        _check(tasks, moved, files)
        groups, whole = _shared(_groups(tasks, moved), folder, shard)
        touched = [p for k, task in enumerate(tasks) for p in (*_ends(task), *(there for there, _ in moved[k]))]
        before = leftovers(touched)
        outcomes, interrupted = run_all(groups, settings, ready, progress or _silent)
        if not interrupted:  # else a worker of a scheduler may still be writing
            remove(leftovers(touched) - before)
        order = {_ends(task)[1]: k for k, task in enumerate(tasks)}
        outcomes = tuple(sorted(outcomes, key=lambda o: order[o.source]))
        lacking = () if interrupted or whole else absent(settings, outcomes)
        batch = Batch(outcomes, interrupted, lacking, whole)
        if not interrupted:
            _report(batch, files)
        return batch
    finally:
        _remove_empty(made)


def _silent(path: str, done: int, total: int) -> None:
    """No progress wanted."""


def find_models(folder: Path, output: Path | None) -> list[Path]:
    """Every *.onnx under the folder, hidden ones and those under `output` left out. Raises UsageError without one."""
    outside = None if output is None else output.resolve()
    found = [
        p
        for p in sorted(folder.rglob("*.onnx"))
        if p.is_file()
        and not any(part.startswith(".") for part in p.relative_to(folder).parts)
        and (outside is None or outside == folder.resolve() or outside not in p.resolve().parents)
    ]
    if not found:
        raise UsageError("no *.onnx is under the folder", where=str(folder), do="give a folder with models")
    return found


def _tasks(inputs: Sequence[Path], output: Path | None, settings: Settings) -> tuple[Task, ...]:
    """One task per model; the same model for the same output is done once."""
    found: dict[tuple[Path, Path], Task] = {}
    for given in inputs:
        folder = given.is_dir()
        for source in find_models(given, output) if folder else [given]:
            inside = source.relative_to(given) if folder else Path(source.name)
            target = source if output is None else output / inside
            delivery = Delivery(source, target, output is None, settings.weights)
            task = Task(settings, delivery, strict=frozenset(), skip_unchanged=output is None)
            found.setdefault((source.resolve(), target.resolve()), task)
    return tuple(found.values())


def _check(tasks: Sequence[Task], moved: Mapping[int, Files], reports: Sequence[Path]) -> None:
    """Every path can be written, and no file is written twice or read and written. Raises UsageError."""
    from ascend_fuse.report.render import format_of

    for path in reports:
        format_of(path, findings=True)
        check_file(path, "report")
    written: dict[Path, Path] = {}
    for k, task in enumerate(tasks):
        check(task)
        for path, origin in (_ends(task), *moved[k]):
            real, here = path.resolve(), origin.resolve()
            if (other := written.setdefault(real, here)) != here:
                do = "give them to two calls, with a folder each"
                raise UsageError(f"{other} and {here} would both be written there", where=str(path), do=do)
    sources = {origin.resolve() for task in tasks for _, origin in [_ends(task)]}
    for real, here in written.items():
        if real in sources and real != here:
            raise UsageError("an output is an input", where=str(real), do="give another -o")
    taken = [("an input", s) for s in sources] + [("an output", p) for p in written]
    check_apart([("the report", path) for path in reports], taken)


def _moved(task: Task) -> Files:
    """The data files that the task writes, each with where it comes from."""
    target, source = _ends(task)
    if task.delivery.in_place or source.parent.resolve() == target.parent.resolve():
        return ()
    try:
        return tuple((target.parent / name, source.parent / name) for name in external_files(read_model(source)))
    except ModelError:  # told when its turn comes
        return ()


def _ends(task: Task) -> tuple[Path, Path]:
    """Where the model goes, and where it comes from."""
    source, target = task.delivery.source, task.delivery.target
    assert source is not None and target is not None  # as `_tasks` makes them
    return target, source


def _groups(tasks: Sequence[Task], moved: Mapping[int, Files]) -> list[tuple[Task, ...]]:
    """Tasks that write a data file in common stay together: one must not remove what another has just linked."""
    groups: list[list[int]] = []
    home: dict[Path, list[int]] = {}
    for k in range(len(tasks)):
        joined = [k]
        groups.append(joined)
        for path, _ in moved[k]:
            other = home.setdefault(path.resolve(), joined)
            if other is not joined:  # all of one become all of the other
                groups.remove(joined)
                other += joined
                home |= dict.fromkeys([p for p, group in home.items() if group is joined], other)
                joined = other
    return [tuple(tasks[k] for k in sorted(group)) for group in groups]


def _shared(
    groups: list[tuple[Task, ...]], output: Path | None, shard: Shard | None
) -> tuple[list[tuple[Task, ...]], Share | None]:
    """The groups of the shard, and what that is of the whole; all of them without one."""
    if shard is None:
        return groups, None
    sized = [[_sized(task, output) for task in group] for group in groups]
    mine = part(sized, shard)
    return [group for k, group in enumerate(groups) if k in mine], share(sized, shard)


def _sized(task: Task, output: Path | None) -> tuple[str, int]:
    """The model by a name that does not depend on where the output is, and its bytes."""
    target, source = _ends(task)
    name = source if output is None else target.relative_to(output)
    return name.as_posix(), file_bytes(source)


def _make_folders(targets: Iterable[Path]) -> list[Path]:
    """Creates the folders that lack, outermost first; which they were. Raises UsageError."""
    made: list[Path] = []
    for target in targets:
        for folder in reversed((target.parent, *target.parent.parents)):
            if not folder.exists():
                try:
                    folder.mkdir()
                except OSError as e:
                    _remove_empty(made)
                    do = "name a folder that can be written"
                    raise UsageError(f"cannot create the folder: {e.strerror}", where=str(folder), do=do) from e
                made.append(folder)
    return made


def _remove_empty(folders: Sequence[Path]) -> None:
    """The folders that hold nothing go again."""
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def absent(settings: Settings, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The sizes that none of the models has, as far as any could be read."""
    plans = [o.plan for o in outcomes if o.plan is not None]
    return tuple(name for name in settings.dims if plans and not any(name in p.dims for p in plans))


def _report(batch: Batch, reports: Sequence[Path]) -> None:
    from ascend_fuse.report.batch import batch_page
    from ascend_fuse.report.render import format_of, render_page

    page = batch_page(batch, in_full=True)
    write_texts([(path, render_page(page, format_of(path, findings=True))) for path in reports], lambda: None)
