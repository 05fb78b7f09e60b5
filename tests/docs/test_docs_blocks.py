"""Every command and every piece of Python in README and docs runs, page by page, in the order of the page."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from docs.docs_block import PAGES, ROOT, RUN, Block, blocks

from models import BUILDERS
from models import save as save_model

FOUND = [b for page in PAGES for b in blocks(page)]
# Why a block does not run here, and how many do not: a new one is to be seen in a review.
NOT_RUN = {
    "a server": 1,
    "builds and tests all of it": 2,
    "downloads from PyPI": 2,
    "downloads from the Hugging Face Hub": 1,
    "needs PaddlePaddle, which this project does not install": 1,
    "needs TensorFlow, which this project does not install": 1,
    "starts servers; tests/batch/test_fleet.py does": 1,
    "takes hours": 1,
}
COMMAND = re.compile(r"^\s*(\$ |(python|pip|make|ascend-fuse) )", re.MULTILINE)


def runs(block: Block) -> bool:
    return block.language in RUN and not block.mark("not run")


def test_what_does_not_run_is_counted() -> None:
    assert dict(Counter(b.mark("not run") for b in FOUND if b.mark("not run"))) == NOT_RUN
    assert sum(map(runs, FOUND)) > 15


def test_no_command_hides_in_a_block_of_another_language() -> None:
    hidden = [b.where for b in FOUND if b.language not in (*RUN, "yaml", "toml") and COMMAND.search(b.content)]
    assert hidden == []
    assert {b.language for b in FOUND} <= {"", *RUN, "toml", "yaml", "onnx"}


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `ascend-fuse` and `python` of this environment, and the models that pages speak of."""
    folder = tmp_path_factory.mktemp("tools")
    for name, command in (("ascend-fuse", f'"{sys.executable}" -m ascend_fuse'), ("python", f'"{sys.executable}"')):
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    save_model(BUILDERS["bert-layer"](), folder / "readme.onnx")
    small = BUILDERS["bert-layer"](batch="batch", seq="seq", hidden=128, heads=4)
    save_model(small, folder / "model.onnx")
    return folder


def run(command: list[str], folder: Path, tools: Path) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def run_block(block: Block, folder: Path, tools: Path) -> None:
    if name := block.mark("file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(block.content, "utf-8")
        return
    expected = [int(code) for code in (block.mark("exit") or "0").split(" or ")]
    if block.language == "python":
        (folder / "block.py").write_text(block.content, "utf-8")
        done = run([sys.executable, "block.py"], folder, tools)
        assert done.returncode in expected, f"{block.where}: {done.stderr}"
        return
    for command, printed in block.commands():
        done = run(["bash", "-euo", "pipefail", "-c", command], folder, tools)
        assert done.returncode in expected, f"{block.where}: {command}: {done.stdout}{done.stderr}"
        lacking = [line for line in printed if line != "…" and line not in done.stdout + done.stderr]
        assert lacking == [], f"{block.where}: {command}: printed {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(map(runs, blocks(p)))], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_blocks_of_a_page_run(page: Path, tools: Path, tmp_path: Path) -> None:
    shutil.copy(tools / ("readme.onnx" if page.name == "README.md" else "model.onnx"), tmp_path / "model.onnx")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for block in blocks(page):
        needed = [n.strip() for n in block.mark("needs").split(",") if n.strip()]
        absent = [n for n in needed if importlib.util.find_spec(n) is None]
        if (runs(block) or block.mark("file")) and not absent:
            run_block(block, tmp_path, tools)
