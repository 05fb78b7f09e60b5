"""The stand-in libascendcl notices what is done too early, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.acl_direct import ALLOWED, EARLY
from tests.runtime.acl_process import compile_stand_in, run_process


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stand_in(tmp_path_factory.mktemp("acl"))


@pytest.mark.parametrize("early", EARLY)
def test_what_comes_too_early_is_told(stand_in: Path, tmp_path: Path, early: str) -> None:
    assert len(run_process(stand_in, tmp_path, "acl_direct", early).hazards) == 1


@pytest.mark.parametrize("allowed", ALLOWED)
def test_what_is_in_order_is_not(stand_in: Path, tmp_path: Path, allowed: str) -> None:
    run = run_process(stand_in, tmp_path, "acl_direct", allowed)
    assert (run.said, run.hazards) == (["relu True"], [])
