"""A task in a process that was told to end."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch.conftest import write_chain

from ascend_fuse import worker
from ascend_fuse.config import Settings
from ascend_fuse.error import InternalError
from ascend_fuse.pipeline import deliver_to
from ascend_fuse.preparation import prepare
from ascend_fuse.task import Task


def _turned(*_: object, **__: object) -> None:
    raise ImportError("initialization failed")


def test_an_interrupt_that_an_import_turned_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extension modules make an error of their own of it (`test_cli_stream` has the same for one process)."""
    model, settings = write_chain(tmp_path / "m.onnx", 64), Settings()
    task = Task(settings, deliver_to(model, settings, tmp_path / "o.onnx"))
    monkeypatch.setattr(worker, "carry_out", _turned)
    failed = worker.run_one(task, prepare(settings))
    assert failed.error is not None and failed.error.exit_code == InternalError.exit_code
    monkeypatch.setattr(worker._Process, "told", True)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(KeyboardInterrupt):
        worker.run_one(task, prepare(settings))
