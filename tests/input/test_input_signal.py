"""Interrupted at any moment: the target is the old file or the new one, and no other file stays."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import external_case
import pytest

# Runs the command in a child for each n, which gets the signal at its n-th file operation, until a child ends by itself.
PROGRAM = """
import json, os, sys
from pathlib import Path
from ascend_fuse.cli.main import app_main
import ascend_fuse.cli.app, ascend_fuse.task, ascend_fuse.report.render, ascend_fuse.proof.program
number, out = int(sys.argv[1]), Path("parcel/out")
EVENTS = {"open", "os.rename", "os.remove", "os.link", "os.chmod", "shutil.copyfile", "tempfile.mkstemp"}
seen, limit = 0, -1
def count(event, args):
    global seen
    if event in EVENTS and args and "parcel" in str(args[0]):
        seen += 1
        if seen == limit:
            os.kill(os.getpid(), number)
sys.addaudithook(count)
found = []
for n in (0, *range(2, 400, 9)):
    for p in out.iterdir():
        p.unlink()
    (out / "o.onnx").write_bytes(b"old")
    seen, limit = 0, -1
    child = os.fork()
    if not child:
        limit = n
        args = ["optimize", "parcel/e.onnx", "-o", "parcel/out/o.onnx", "--weights", "copy", "--report", "parcel/out/r.md", "-q"]
        os._exit(app_main(args))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found.append([status, {p.name: p.read_bytes().hex() for p in out.iterdir()}])
    if n and not status:
        break
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_signal_at_each_file_operation(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "parcel" / "out").mkdir(parents=True)
    (tmp_path / "parcel" / "e.onnx").write_bytes(external_case.beside().SerializeToString())
    (tmp_path / "parcel" / "w.bin").write_bytes(bytes(range(64)))
    command = [sys.executable, "-c", PROGRAM, str(int(number))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    (whole, new), *cut, last = json.loads(done.stdout)
    assert whole == last[0] == 0 and set(new) == {"o.onnx", "r.md", "w.bin"}
    assert len(cut) > 2
    for n, (status, left) in enumerate(cut):
        assert status == code, n
        assert left["o.onnx"] in (b"old".hex(), new["o.onnx"]), n
        assert all(left[name] == new[name] for name in ("w.bin", "r.md") if name in left), n
        if number != signal.SIGKILL:
            assert set(left) <= set(new), n
