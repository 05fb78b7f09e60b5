"""`doctor`: what it finds here, and what it says of a machine that lacks something."""

from __future__ import annotations

import json

import pytest

from ascend_fuse import doctor
from ascend_fuse.cli.main import app_main


def test_it_finds_the_plugin_and_no_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["doctor", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    by_name = {f["what"]: f for f in found["findings"]}
    assert found["schema"] == "ascend-fuse/diagnosis/1"
    assert by_name["plugin"]["found"].endswith("loads and registers")
    assert by_name["ONNX Runtime"]["ok"]
    assert "emulator" in found["places"]["fused nodes"]


def test_a_toolkit_is_told_by_its_variable() -> None:
    found = {f.what: f for f in doctor.examine({"ASCEND_HOME_PATH": "/usr/local/Ascend/latest"}).findings}
    assert found["CANN toolkit"].found == "/usr/local/Ascend/latest"
    assert {f.what: f for f in doctor.examine({}).findings}["CANN toolkit"].ok is None


def test_a_package_that_is_missing_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "RUNTIMES", ("onnxruntime-of-another-name",))
    found = doctor.examine({})
    assert not found.ok
    assert next(f for f in found.findings if f.what == "ONNX Runtime").do == "pip install onnxruntime"
