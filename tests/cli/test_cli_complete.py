"""What a shell completes, and that it does not wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_fuse.reason import CODES

SLOW = ("numpy", "onnx", "onnxruntime", "rich.console", "distributed")


def completed(line: str, environ: dict[str, str] | None = None) -> list[str]:
    """What bash is offered for the last word of the line."""
    words = f"ascend-fuse {line}"
    given = {
        "_ASCEND_FUSE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1),
    }  # fmt: skip
    script = (
        "import sys\nfrom ascend_fuse.cli.main import app_main\ncode = app_main([])\n"
        f"found = [n for n in {SLOW!r} if n in sys.modules]\nassert not found, found\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env={**os.environ, **given}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("optimize m.onnx --select AF20", ["AF201", "AF202"]),
        ("optimize m.onnx --ignore AF40", ["AF401", "AF402", "AF403"]),
        ("explain m.onnx --rule AF10", ["AF101", "AF102", "AF103"]),
        ("rules AF30", ["AF301", "AF302"]),
        ("explain AF40", ["AF401", "AF402", "AF403"]),
        ("optimize --soc Ascend310P", ["Ascend310P1", "Ascend310P3"]),
        ("soc Ascend910B", ["Ascend910B1", "Ascend910B3"]),
        ("explain m.onnx --code limit", ["limit-inputs", "limit-instructions", "limit-outputs"]),
        ("explain own", ["own-kernel"]),
        ("opt", ["optimize"]),
    ],
)
def test_what_is_offered(line: str, expected: list[str]) -> None:
    found = completed(line)
    assert set(expected) <= set(found)
    assert all(word.startswith(line.split(" ")[-1]) for word in found)


def test_all_reasons_and_nothing_where_a_file_belongs() -> None:
    assert set(completed("explain m.onnx --code ")) == set(CODES)
    assert completed("explain ") == []
    assert completed("optimize ") == []


def test_rules_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "XY001.toml").write_text('code = "XY001"\nname = "mine"\n')
    (tmp_path / "broken.toml").write_text("code = ")
    assert completed(f"optimize m.onnx --rules {tmp_path} --select XY") == ["XY001"]
