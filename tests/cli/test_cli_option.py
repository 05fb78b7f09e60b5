"""Values of options."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from ascend_fuse.cli.main import app_main
from ascend_fuse.cli.option import fused_path, parse_dims
from ascend_fuse.error import UsageError


def test_a_size_is_split_at_the_last_equals_sign() -> None:
    assert parse_dims(["batch=1", "a=b=2"]) == {"batch": 1, "a=b": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "batch",
        "=1",
        "batch=",
        "batch=-1",
        "batch=1.5",
        "batch=0",
        "batch=x",
        "batch=2147483648",
        "batch=99999999999999999999",
        f"batch={'9' * 5000}",
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a size"):
        parse_dims([text])


@pytest.mark.parametrize(
    ("model", "fused"),
    [("m.onnx", "m.fused.onnx"), ("d/m.v2.onnx", "d/m.v2.fused.onnx"), ("m", "m.fused.onnx")],
)
def test_the_output_lies_beside_the_input(model: str, fused: str) -> None:
    assert fused_path(Path(model)) == Path(fused)


def test_a_profile_is_given_by_flag_variable_or_file(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file's path is relative to the file; a bad one is told with the place that gave it."""
    named = onnx.load(chain)
    for node in named.graph.node:
        node.name = node.output[0]
    onnx.save(named, chain)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "op_summary.csv").write_text("Op Name,Task Duration(us)\na,40\nb,40\n", "utf-8")
    (tmp_path / "ascend-fuse.toml").write_text('profile = "sub/op_summary.csv"\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    for arguments in (["explain", str(chain)], ["optimize", str(chain), "--profile", "sub/op_summary.csv"]):
        assert app_main([*arguments, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["profile"]["source"] == "msprof"
        assert [r["verdict"]["measured"] for r in document["regions"]] == [2]
    monkeypatch.setenv("ASCEND_FUSE_PROFILE", "absent.json")
    assert app_main(["optimize", str(chain)]) == 2
    assert "ASCEND_FUSE_PROFILE: profile: absent.json: cannot read the profile" in capsys.readouterr().err
    assert app_main(["config", "show"]) == 2
