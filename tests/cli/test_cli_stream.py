"""Interrupts, and streams that are closed, full or left by their reader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-m", "ascend_fuse")


def wait_until_asleep(pid: int) -> None:
    """Until the process waits in the kernel: a signal between Python's last look and a read that blocks is lost."""
    seen, deadline = 0, time.monotonic() + 60
    while seen < 5 and time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        seen = seen + 1 if state == "S" else 0
        time.sleep(0.02)
    assert seen == 5


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux, to see the command wait")
def test_interrupting_is_130(tmp_path: Path, chain: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    command = [*COMMAND, "diff", str(pipe), str(chain)]
    # opening for writing returns once the command has opened the pipe to read the model
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, pipe.open("wb"):
        wait_until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "ascend-fuse: interrupted; nothing is half-written\n"


def test_a_reader_that_leaves_is_no_internal_error(chain: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "diff", str(chain), str(chain)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert err == b""


@pytest.mark.parametrize("turned", ["raise", "raise ImportError('numpy failed') from None"])
def test_interrupting_an_import_is_130(turned: str, tmp_path: Path, chain: Path) -> None:
    """An extension module may turn the interrupt into an error of its own; it stays an interrupt."""
    (tmp_path / "lib" / "onnx").mkdir(parents=True)
    (tmp_path / "lib" / "onnx" / "__init__.py").write_text(
        f"import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n    {turned}\n"
    )
    path = os.pathsep.join([str(tmp_path / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*COMMAND, "diff", str(chain), str(chain)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr == "ascend-fuse: interrupted; nothing is half-written\n"


def test_interrupting_the_commands_own_import_is_130(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*COMMAND, "--help"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert (done.returncode, done.stderr) == (130, "ascend-fuse: interrupted; nothing is half-written\n")


@pytest.mark.parametrize(
    ("redirection", "args", "code"),
    [
        (">&-", ["rules"], 0),
        (">&- 2>&- <&-", ["rules"], 0),
        ("2>&-", ["optimize", "absent.onnx"], 3),
        (">/dev/full", ["rules"], 2),
        ("2>/dev/full", ["optimize", "absent.onnx"], 3),
    ],
)
def test_closed_and_full_streams(redirection: str, args: list[str], code: int) -> None:
    command = f'exec "$0" -m ascend_fuse {" ".join(args)} {redirection}'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("more", "code"), [("", 0), ("absent.onnx", 3)])
def test_a_reader_that_leaves_is_no_error(more: str, code: int, chain: Path, tmp_path: Path) -> None:
    """As in `| head`: what was asked for is done, and what failed beside it is told."""
    (tmp_path / "other.onnx").write_bytes(chain.read_bytes())
    command = f'exec "$0" -m ascend_fuse optimize "$1" "$2/other.onnx" {more} -o "$2/out"'
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, str(chain), str(tmp_path)],
        stdout=writer, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert len(list((tmp_path / "out").iterdir())) == 2
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr


def test_a_model_is_written_whole_without_streams(chain: Path, tmp_path: Path) -> None:
    """With the streams closed, the first file opened has the number of standard output."""
    command = 'exec "$0" -m ascend_fuse optimize "$1" >&- 2>&- <&-'
    subprocess.run(["sh", "-c", command, sys.executable, str(chain)], check=True)
    assert (tmp_path / "chain.fused.onnx").read_bytes().count(b"Fused")
    assert b"fusion report" not in (tmp_path / "chain.fused.onnx").read_bytes()
