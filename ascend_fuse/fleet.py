"""Groups of tasks on the workers of a Dask scheduler, which see the same files under the same paths (0013)."""

from __future__ import annotations

import gc
import logging
import threading
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ascend_fuse.cache import tool_digest
from ascend_fuse.config import Settings
from ascend_fuse.engine import is_file
from ascend_fuse.error import AscendFuseError, InternalError, UsageError
from ascend_fuse.preparation import Preparation, prepare
from ascend_fuse.task import Task
from ascend_fuse.worker import Failure, Group, Outcome, Told, carry_out_group

CONNECT_SECONDS = 10
WORKER_SECONDS = 120  # until the first worker is there: clusters that grow with their work need a while
UNSEEN = "is not seen here as the worker wrote it"
SHARED = "the models' folders have to be shared under the same paths"


def run_on(groups: Sequence[Group], settings: Settings, told: Told) -> tuple[dict[int, Sequence[Outcome]], bool]:
    """The outcomes by group, without those whose workers died again and again; whether SIGINT came.

    Raises UsageError when the scheduler cannot be used.
    """
    found: dict[int, Sequence[Outcome]] = {}
    with _client(settings.scheduler) as (client, completed):
        run, shipped, tool = uuid.uuid4().hex, _absolute(settings), tool_digest()
        try:
            futures = {
                client.submit(_carry_out, tuple(map(_placed, group)), shipped, tool, run, key=f"{run}-{k}"): k
                for k, group in enumerate(groups)
            }
            _await_worker(client, settings.scheduler)
            for future in completed(futures):
                group = groups[futures[future]]
                outcomes = _outcomes(future, group)
                if outcomes is not None:
                    found[futures[future]] = outcomes
                    told(str(group[-1].delivery.source), len(group), 0)
        except KeyboardInterrupt:  # what a worker is at it brings to its end
            return found, True
    return found, False


@contextmanager
def _client(address: str) -> Generator[tuple[Any, Callable[..., Any]]]:
    """A client of the scheduler and what waits for its futures. Raises UsageError."""
    where = f"--scheduler {address}"
    try:
        import distributed  # pyright: ignore[reportMissingImports]
    except ImportError as e:
        raise UsageError("Dask is not installed", where=where, do="pip install 'ascend-fuse[dask]'") from e
    library: Any = distributed
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what matters of it is told as an error of ours
    try:
        client = _connected(library, address)
        if client is None:
            # The one that did not connect is closed as it is collected. Were that while another is made, both would
            # want the same lock.
            gc.collect()
            do = "start one with `dask scheduler`, and give its address, as tcp://host:8786"
            raise UsageError("no scheduler answers", where=where, do=do)
        try:
            yield client, partial(library.as_completed, loop=client.loop)
        finally:
            client.close()  # which forgets what was not begun
    finally:
        logger.setLevel(level)


def _connected(library: Any, address: str) -> Any:
    """A client; None where nobody answers."""
    try:
        return library.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError):
        return None


def _await_worker(client: Any, address: str) -> None:
    """Raises UsageError when none comes: without one the tasks would wait for ever."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as e:
        what = f"no worker has come within {WORKER_SECONDS} seconds"
        raise UsageError(what, where=f"--scheduler {address}", do="start some with `dask worker`") from e


def _outcomes(future: Any, group: Group) -> Sequence[Outcome] | None:
    """What became of the group; None when its workers died: that is tried again, alone and here."""
    try:
        error = future.exception()
        if error is None:
            return [_seen(outcome, task) for outcome, task in zip(future.result(), group, strict=True)]
    except CancelledError as e:  # what was finished may be lost on its way here
        error = e
    if isinstance(error, CancelledError):
        what = "the scheduler has gone; what is there is whole; run it again"
        return [_failed(task, what, UsageError.exit_code) for task in group]
    if type(error).__name__ == "KilledWorker":
        return None
    what = f"the worker failed: {type(error).__name__}: {error}; it needs this version of ascend-fuse"
    return [_failed(task, " ".join(what.split()), InternalError.exit_code) for task in group]


def _failed(task: Task, what: str, code: int) -> Outcome:
    source = task.delivery.source or Path()
    return Outcome(source, error=Failure(f"{source}: {what}", code))


def _seen(outcome: Outcome, task: Task) -> Outcome:
    """The outcome with the paths of this side. A file that is not here went to a disk that nobody shares."""
    source, target = task.delivery.source or Path(), task.delivery.target
    if outcome.path is None or target is None:
        return replace(outcome, source=source)
    if not target.is_file():
        return _failed(task, f"{target} {UNSEEN}; {SHARED}", UsageError.exit_code)
    return replace(outcome, source=source, path=target)


def _placed(task: Task) -> Task:
    """The task with paths that do not depend on where a process runs."""
    d = task.delivery
    assert d.source is not None  # as `batch` makes them
    delivery = replace(d, source=d.source.absolute(), target=None if d.target is None else d.target.absolute())
    return replace(task, settings=_absolute(task.settings), delivery=delivery)


def _absolute(settings: Settings) -> Settings:
    def path(text: str) -> str:
        return str(Path(text).absolute()) if text else ""

    return replace(
        settings, rules=tuple(map(path, settings.rules)), profile=path(settings.profile),
        cache_dir=path(settings.cache_dir), soc=path(settings.soc) if is_file(settings.soc) else settings.soc,
    )  # fmt: skip


class _Worker:
    """Of a worker's process: one group at a time whatever its threads, and what the groups of a run share."""

    lock = threading.Lock()
    prepared: Mapping[str, Preparation] = {}

    @classmethod
    def prepare(cls, run: str, settings: Settings) -> Preparation:
        """Once for each run, since rules may change between two. Raises UsageError, RuleError, SocError."""
        if run not in cls.prepared:
            cls.prepared = {run: prepare(settings)}
        return cls.prepared[run]


def _carry_out(group: Group, settings: Settings, tool: str, run: str) -> Sequence[Outcome]:
    """On a worker: the outcomes of the tasks, one after another."""
    with _Worker.lock:
        try:
            if tool != tool_digest():
                do = "install the same ascend-fuse, onnx and protobuf on all machines"
                raise UsageError("the worker has another version", where=settings.scheduler, do=do)
            ready = _Worker.prepare(run, settings)
        except AscendFuseError as e:
            return [_failed(task, e.sentence(), e.exit_code) for task in group]
        return carry_out_group(group, ready)
