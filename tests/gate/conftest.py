"""A folder with two models and the rule that fuses them."""

from __future__ import annotations

from pathlib import Path

import gate_model
import pytest
from gate_project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "models" / "deep").mkdir(parents=True)
    gate_model.write_rule(tmp_path / "rules")
    gate_model.write_model(tmp_path / "models" / "a.onnx")
    gate_model.write_model(tmp_path / "models" / "deep" / "b.onnx", layers=1)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)
