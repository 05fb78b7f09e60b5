"""Models on the workers of a Dask scheduler: none is lost and none half written, whoever dies."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from batch.conftest import tree

from ascend_fuse import fleet
from ascend_fuse.batch import optimize_all
from ascend_fuse.cli.main import app_main
from ascend_fuse.config import Settings
from models import BUILDERS
from models import save as save_model

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),  # of distributed
]

# In a worker: it dies when the file that `which` names is written but not yet in its place.
DYING = """
import os, signal
from pathlib import Path
from ascend_fuse.graph import save
def dying(temporary, target, move=save._move):
    if target.name == {which!r} and (not {once!r} or not os.path.exists({once!r})):
        Path({once!r} or os.devnull).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    move(temporary, target)
save._move = dying
"""


@contextmanager
def cluster(workers: int = 2, preload: str = "") -> Iterator[Any]:
    """Worker processes on this machine, each with a nanny that starts it again."""
    before = dict(os.environ)
    found = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50,
        preload=preload or None, memory_limit=0,
    )  # fmt: skip
    try:
        yield found
    finally:
        found.close()
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Eight models that take about a second each."""
    first = save_model(BUILDERS["bert-layer"](), tmp_path / "in" / "m0.onnx")
    for k in range(1, 8):
        os.link(first, tmp_path / "in" / f"m{k}.onnx")
    return tmp_path / "in"


def test_a_fleet_gives_what_one_machine_gives(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    optimize_all([folder], output=tmp_path / "here")
    (folder / "bad.onnx").write_bytes(b"no model")
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere: relative paths are made absolute
    with cluster() as found:
        args = ["optimize", "in", "-o", "there", "--scheduler", found.scheduler_address, "--format", "json"]
        assert app_main([*args, "--cache-dir", "kept", "--report", "r.md"]) == 3
        out, err = capsys.readouterr()
        told = {Path(m["model"]).name: m for m in json.loads(out)["models"]}
        assert list(told) == ["bad.onnx", "m4.onnx", "m5.onnx", "m0.onnx", "m1.onnx", "m2.onnx", "m3.onnx"]
        assert all(m["model"].startswith("in/") for m in told.values())
        assert all(m["output"].startswith("there/") for name, m in told.items() if name != "bad.onnx")
        assert told["bad.onnx"]["error"]["exit_code"] == 3
        assert err.count("\n") == 1
        assert tree(tmp_path / "there") == tree(tmp_path / "here")
        assert app_main([*args, "--cache-dir", "kept"]) == 3
        assert sum(m["cached"] for m in json.loads(capsys.readouterr().out)["models"]) == 6


def test_a_worker_that_dies_as_it_writes_costs_nothing(folder: Path, tmp_path: Path) -> None:
    """The model is fused again elsewhere, and the file half written goes."""
    optimize_all([folder], output=tmp_path / "here")
    once = tmp_path / "once"
    with cluster(preload=DYING.format(which="m2.onnx", once=str(once))) as found:
        batch = optimize_all([folder], Settings(scheduler=found.scheduler_address), output=tmp_path / "there")
    assert once.exists()
    assert (batch.exit_code, len(batch.outcomes)) == (0, 6), batch.errors
    assert tree(tmp_path / "there") == tree(tmp_path / "here")


def test_a_model_that_kills_every_worker_is_tried_here(folder: Path, tmp_path: Path) -> None:
    optimize_all([folder], output=tmp_path / "here")
    with cluster(preload=DYING.format(which="m2.onnx", once="")) as found:
        batch = optimize_all([folder], Settings(scheduler=found.scheduler_address), output=tmp_path / "there")
    assert (batch.exit_code, len(batch.outcomes)) == (0, 6), batch.errors
    assert tree(tmp_path / "there") == tree(tmp_path / "here")


def amid(folder: Path, count: int, then: Callable[[], None]) -> threading.Thread:
    """Does something in another thread once so many models are written."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while len(list(folder.glob("m*.onnx"))) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_worker_killed_midway(models: Path, tmp_path: Path) -> None:
    killed: list[int] = []
    with cluster() as found:
        with distributed.Client(found, set_as_default=False) as client:
            pids = list(client.run(os.getpid).values())

        def kill() -> None:
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])

        thread = amid(tmp_path / "out", 2, kill)
        batch = optimize_all([models], Settings(scheduler=found.scheduler_address), output=tmp_path / "out")
        thread.join()
    assert killed
    assert (batch.exit_code, len(batch.outcomes)) == (0, 8), batch.errors
    written = tree(tmp_path / "out")
    assert set(written) == {f"m{k}.onnx" for k in range(8)}
    assert len(set(written.values())) == 1


COMMAND = [sys.executable, "-m", "ascend_fuse", "optimize"]


def test_interrupting_a_fleet(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with cluster() as found:
        args = [*COMMAND, str(models), "-o", str(out), "--scheduler", found.scheduler_address, "--format", "json"]
        process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        amid(out, 1, lambda: process.send_signal(signal.SIGINT)).join()
        text, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert err == "ascend-fuse: interrupted; nothing is half-written\n"
        assert json.loads(text)["interrupted"]
        time.sleep(3)  # what the workers were at comes to its end, and nothing else is begun
        names = set(tree(out))
        time.sleep(2)
        assert names == set(tree(out))
    assert 0 < len(names) < 8
    assert all(name.startswith("m") for name in names)
    assert len(set(tree(out).values())) == 1


def test_a_scheduler_that_goes_away(models: Path, tmp_path: Path) -> None:
    """What was told is whole; the others are failures that say so, not models that are missing."""
    with cluster() as found:
        args = [*COMMAND, str(models), "-o", str(tmp_path / "out"), "--scheduler", found.scheduler_address]
        process = subprocess.Popen(
            [*args, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        amid(tmp_path / "out", 1, lambda: None).join()
    text, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    told = json.loads(text)["models"]
    assert len(told) == 8
    lost = [m for m in told if m["error"]]
    assert lost
    assert all("the scheduler has gone" in m["error"]["what"] for m in lost)
    assert err.count("the scheduler has gone") == len(lost)


@pytest.mark.parametrize(
    ("address", "says"),
    [("tcp://127.0.0.1:1", "no scheduler answers; start one with"), ("nonsense://x", "no scheduler answers")],
)
def test_no_scheduler_is_there(
    address: str, says: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(fleet, "CONNECT_SECONDS", 1)
    assert app_main(["optimize", str(folder), "-o", str(tmp_path / "o"), "--scheduler", address]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"error: --scheduler {address}: {says}" in err
    assert not (tmp_path / "o").exists()
    assert not [o for o in gc.get_objects() if isinstance(o, distributed.Client) and o.status != "closed"]


def test_no_worker_comes(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "WORKER_SECONDS", 1)
    with cluster(workers=0) as found, pytest.raises(fleet.UsageError, match="no worker has come within 1 seconds"):
        optimize_all([folder], Settings(scheduler=found.scheduler_address), output=tmp_path / "o")


def test_another_version_on_the_workers(folder: Path, tmp_path: Path) -> None:
    preload = "from ascend_fuse import cache, fleet\nfleet.tool_digest = lambda: 'other'"
    with cluster(preload=preload) as found:
        batch = optimize_all([folder], Settings(scheduler=found.scheduler_address), output=tmp_path / "o")
    assert batch.exit_code == 2
    assert all("the worker has another version; install the same" in e for e in batch.errors)
    assert len(batch.errors) == 6


def test_dask_is_optional(folder: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nsys.modules['distributed'] = None\n"
        "from ascend_fuse.cli.main import app_main\nsys.exit(app_main(sys.argv[1:]))"
    )
    args = ["optimize", str(folder), "-o", str(tmp_path / "o"), "--scheduler", "tcp://h:1"]
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--scheduler tcp://h:1: Dask is not installed; pip install 'ascend-fuse[dask]'" in done.stderr
