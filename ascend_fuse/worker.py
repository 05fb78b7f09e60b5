"""Tasks one after another or in several processes; what became of each, also when one dies or all are interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_fuse.config import Settings
from ascend_fuse.error import AscendFuseError, InternalError, VerificationError
from ascend_fuse.growth import Growth
from ascend_fuse.plan import Plan
from ascend_fuse.preparation import Preparation, prepare
from ascend_fuse.task import Task, carry_out

if TYPE_CHECKING:
    from ascend_fuse.verify.result import Verification

Group = tuple[Task, ...]  # tasks that share data files: one after another, in one process
Told = Callable[[str, int, int], None]
MASKABLE = hasattr(signal, "pthread_sigmask")  # not on Windows
SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model was not fused: the error's line and its exit code."""

    what: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one model: its plan or its failure; `path` is where it was written, if it was.

    `growth` is from its file's size to the fused model's.
    """

    source: Path
    path: Path | None = None
    plan: Plan | None = field(default=None, repr=False)
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    unchanged: bool = False
    error: Failure | None = None
    growth: Growth | None = None
    cached: bool = False


def run_all(
    groups: Sequence[Group], settings: Settings, ready: Preparation, told: Told
) -> tuple[tuple[Outcome, ...], bool]:
    """The outcomes in the order of the tasks, and whether SIGINT came: then those not begun are missing.

    `settings` are those of all tasks, and `ready` is what they give.
    """
    told = _counted(told, sum(map(len, groups)))
    if settings.scheduler and groups:
        from ascend_fuse.fleet import run_on

        found, interrupted = run_on(groups, settings, told)
    elif settings.jobs == 1 or len(groups) < 2:
        done, interrupted = _carry_out([task for group in groups for task in group], ready, told)
        return tuple(done), interrupted
    else:
        found, interrupted = _apart(groups, settings, told)
    for k, group in enumerate(groups):
        if k not in found and not interrupted:  # the pool broke: one process for each, to see which it was
            found[k], interrupted = _singly(group, settings, told)
    return tuple(o for k in sorted(found) for o in found[k]), interrupted


def _counted(told: Told, total: int) -> Told:
    """Takes (path, how many more) and tells (path, how many, of how many)."""
    done = 0

    def tell(path: str, more: int, _: int) -> None:
        nonlocal done
        done += more
        told(path, done, total)

    tell("", 0, 0)
    return tell


def run_one(task: Task, ready: Preparation) -> Outcome:
    """Carries the task out; an error is a value, so that the other models are not lost with this one."""
    source = task.delivery.source or Path()
    try:
        result = carry_out(source, task, ready=ready.renewed())
    except AscendFuseError as e:
        found = e.verification if isinstance(e, VerificationError) else None
        where = "" if str(source) in e.sentence() else f"{source}: "
        return Outcome(source, verification=found, error=Failure(where + e.sentence(), e.exit_code))
    except MemoryError:
        what = f"{source}: not enough memory; give fewer jobs, smaller sizes, or more memory"
        return Outcome(source, error=Failure(what, 2))
    except Exception as e:  # the boundary between models: what was not foreseen is our bug and says so
        if _Process.told:  # an extension that is being imported turns the interrupt into an error of its own
            raise KeyboardInterrupt from e
        what = f"{source}: internal error: {type(e).__name__}: {e}; please report it"
        return Outcome(source, error=Failure(" ".join(what.split()), InternalError.exit_code))
    return Outcome(
        source, result.path, result.plan, result.verification, result.notes, result.unchanged, None, result.growth,
        result.cached,
    )  # fmt: skip


def carry_out_group(group: Group, ready: Preparation) -> Sequence[Outcome]:
    """The outcomes of the tasks, one after another."""
    return [run_one(task, ready) for task in group]


def _carry_out(tasks: Sequence[Task], ready: Preparation, told: Told) -> tuple[list[Outcome], bool]:
    """The outcomes of the tasks, one after another; whether they were interrupted.

    The interrupt may come when a model is written and its outcome is not yet made: then the file says so.
    """
    done: list[Outcome] = []
    begun, before = -1, _mark(None)
    try:
        for k, task in enumerate(tasks):
            begun, before = k, _mark(task.delivery.target)
            done.append(run_one(task, ready))
            told(str(task.delivery.source), 1, 0)
    except KeyboardInterrupt:
        last = tasks[begun].delivery if begun == len(done) else None
        if last is not None and _mark(last.target) != before:
            notes = ("interrupted when it was written: its figures are not known",)
            done.append(Outcome(last.source or Path(), last.target, notes=notes))
        return done, True
    return done, False


def _mark(path: Path | None) -> tuple[int, int] | None:
    """What tells a file from the one that is moved in its place; None without a file."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns)


def _apart(groups: Sequence[Group], settings: Settings, told: Told) -> tuple[dict[int, Sequence[Outcome]], bool]:
    """The outcomes by group, without those whose process died; whether SIGINT came."""
    earlier = set(multiprocessing.active_children())
    count, context = min(settings.jobs, len(groups)), multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, _begin, (settings,))
    futures: dict[Future[Sequence[Outcome]], int] = {}
    interrupted = False
    try:
        with _held():
            futures = {pool.submit(_run_group, group): k for k, group in enumerate(groups)}
        for future in as_completed(futures):
            k = futures[future]
            if future.exception() is None:
                told(str(groups[k][-1].delivery.source), len(groups[k]), 0)
    except KeyboardInterrupt:
        interrupted = True
        for process in set(multiprocessing.active_children()) - earlier:
            process.terminate()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return dict(_results(futures)), interrupted


def _results(futures: Mapping[Future[Sequence[Outcome]], int]) -> Generator[tuple[int, Sequence[Outcome]]]:
    for future, k in futures.items():
        if future.cancelled():
            continue
        error = future.exception()
        if error is None:
            yield k, future.result()
        elif not isinstance(error, (BrokenProcessPool, KeyboardInterrupt)):
            raise error


def _singly(group: Group, settings: Settings, told: Told) -> tuple[Sequence[Outcome], bool]:
    outcomes: list[Outcome] = []
    for task in group:
        found, interrupted = _apart([(task,)], settings, told)
        outcomes += found.get(0, ())
        if interrupted:
            return outcomes, True
        if 0 not in found:
            source = task.delivery.source or Path()
            what = f"{source}: the process ended; memory ran out, or a library crashed: run it alone, with --debug"
            outcomes.append(Outcome(source, error=Failure(what, InternalError.exit_code)))
    return outcomes, False


@contextmanager
def _held() -> Generator[None]:
    """Signals wait meanwhile: processes that start are born with them blocked, and so never die of one half begun."""
    if not MASKABLE:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Process:
    """Of a worker: what its tasks share, whether it was told to end, whether it is amid a task."""

    ready: Preparation
    told = False
    running = False

    @classmethod
    def take(cls, number: int, frame: object) -> None:
        """Ends the task by an exception, so that it takes its temporary files with it."""
        cls.told = True
        if cls.running:
            raise KeyboardInterrupt


def _begin(settings: Settings) -> None:
    """In a new process: the parent alone answers the keyboard, and ends us by SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _Process.take)
    threading.Thread(target=_follow, daemon=True).start()
    _Process.ready = prepare(settings)
    if MASKABLE:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _follow() -> None:
    """Ends the process when its parent has died: nobody else would."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
        os._exit(InternalError.exit_code)


def _run_group(group: Group) -> Sequence[Outcome]:
    """The outcomes of the tasks that were carried out before the process was told to end."""
    try:
        _Process.running = True
        return () if _Process.told else _carry_out(group, _Process.ready, _silent)[0]
    finally:
        _Process.running = False


def _silent(path: str, done: int, total: int) -> None:
    """The parent tells the progress."""
