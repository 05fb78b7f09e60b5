"""The site builds without a network, strictly, and holds what it is made of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.docs_block import ROOT

from ascend_fuse.reason import CODES

pytest.importorskip("mkdocs")
LOADS = re.compile(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=[\"']?((?:https?:)?//[^\"'> ]+)")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        environ[name] = "http://127.0.0.1:9"  # what reaches for a network finds none
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def test_every_rule_and_reason_has_its_place(site: Path) -> None:
    for path in (ROOT / "rules").glob("*.toml"):
        assert (site / "rule" / path.stem / "index.html").is_file()
    index = (site / "rule" / "index.html").read_text("utf-8")
    assert 'href="AF201/"' in index
    reasons = (site / "reason" / "index.html").read_text("utf-8")
    assert [code for code in CODES if f'id="{code}"' not in reasons] == []


def test_every_command_has_its_options(site: Path) -> None:
    from ascend_fuse.cli.app import app

    page = (site / "command" / "index.html").read_text("utf-8")
    commands = [info.name for info in app.registered_commands]
    assert len(commands) > 8
    assert [name for name in commands if f'id="ascend-fuse-{name}"' not in page] == []
    assert "--min-gain-us" in page


def test_every_page_and_design_note_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    pages = [p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    assert [str(p) for p in pages if f'href="{p.as_posix()}/"' not in home] == []


def test_the_public_names_are_documented(site: Path) -> None:
    import ascend_fuse

    api = (site / "api" / "index.html").read_text("utf-8")
    public = [name for name in ascend_fuse.__all__ if not name.startswith("__")]
    assert [name for name in public if f'id="ascend_fuse.{name}"' not in api] == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = {m for page in site.rglob("*.html") for m in LOADS.findall(page.read_text("utf-8"))}
    assert found == set()


def test_nothing_made_is_kept() -> None:
    listed = subprocess.run(["git", "check-ignore", "-q", "build/site"], cwd=ROOT, check=False)
    assert listed.returncode in (0, 128)  # 128: no checkout
    assert not (ROOT / "docs" / "rule").exists()
