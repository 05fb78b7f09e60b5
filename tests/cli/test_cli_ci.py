"""What a command leaves with GitHub Actions: annotations, the step's summary; and that nothing else reads as such."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from ascend_fuse.cli.ci import LEFT_OUT, SUMMARY_BYTES
from ascend_fuse.cli.main import app_main

Caps = pytest.CaptureFixture[str]


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runner's file, with what an earlier command of the step has written."""
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    return path


@pytest.mark.parametrize(
    ("args", "title"),
    [
        (("optimize", "chain.onnx"), "# ascend-fuse: fusion report, chain.onnx → chain.fused.onnx"),
        (("optimize", "chain.onnx", "-q"), "# ascend-fuse: fusion report, chain.onnx → chain.fused.onnx"),
        (("optimize", "chain.onnx", "-o", "out/"), "# ascend-fuse: fusion of several models"),
        (("check", "chain.onnx", "--format", "json"), "# ascend-fuse: check"),
        (("diff", "chain.onnx", "chain.onnx"), "# ascend-fuse: difference"),
    ],
)
def test_the_page_is_added_to_the_summary(
    args: tuple[str, ...], title: str, chain: Path, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(chain.parent)
    assert app_main(args) == 0
    text = summary.read_text("utf-8")
    assert text.startswith(f"before\n{title}\n")
    assert text.endswith("\n\n")  # so that what comes next is no part of the last table
    assert app_main(args) == 0
    assert summary.read_text("utf-8").count(title) == 2


@pytest.mark.usefixtures("summary")
def test_errors_are_annotations_on_standard_error(chain: Path, capsys: Caps) -> None:
    assert app_main(["check", str(chain), "--min-fusions", "2", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["ok"] is False
    assert (
        "::error file=chain.onnx,title=ascend-fuse%3A min-fusions::min-fusions: 1 fusion, wanted at least 2"
        in err.splitlines()
    )
    (chain.parent / "bad.onnx").write_bytes(b"no model")
    assert (
        app_main(["optimize", str(chain), str(chain.parent / "bad.onnx"), "-o", str(chain.parent / "out"), "-q"]) == 3
    )
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("::")]
    assert len(lines) == 1 and lines[0].startswith("::error file=bad.onnx,title=ascend-fuse%3A failed::")


def test_nothing_is_left_elsewhere(chain: Path, tmp_path: Path, capsys: Caps, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.setenv(name, "")
    before = set(tmp_path.iterdir())
    assert app_main(["check", str(chain), "--min-fusions", "2"]) == 1
    assert "::error" not in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


def test_a_summary_that_cannot_be_written_is_a_note(
    chain: Path, tmp_path: Path, capsys: Caps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert app_main(["check", str(chain)]) == 0
    assert "note: GITHUB_STEP_SUMMARY cannot be written" in capsys.readouterr().err


def test_a_summary_is_never_longer_than_the_runner_takes(chain: Path, summary: Path) -> None:
    assert app_main(["check", str(chain), "-q"]) == 0
    long = len(summary.read_bytes()) - len("before\n")
    assert app_main(["optimize", str(chain), "-q"]) == 0
    for room in (0, long - 1, 2 * long):
        summary.write_text("x" * (SUMMARY_BYTES - room))
        assert app_main(["optimize", str(chain), "-q"]) == 0
        text = summary.read_text("utf-8")
        assert len(text.encode()) <= SUMMARY_BYTES
    assert LEFT_OUT.split("(")[0] in text


@pytest.mark.usefixtures("summary")
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_node_cannot_give_commands_to_the_runner(
    form: str, write_model: Callable[[str, str], Path], capsys: Caps
) -> None:
    """A name is folded into lines of tables, and may begin one."""
    path = write_model(
        "m.onnx", '<ir_version: 10, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Det (x) }'
    )
    model = onnx.load(path)
    for name in ("::add-mask::x", "a ##[add-mask]x", f"{'n' * 200} ::stop-commands::t"):
        model.graph.node[0].name = name
        onnx.save(model, path)
        assert app_main(["explain", str(path), "--format", form]) == 0
        assert app_main(["optimize", str(path), "--format", form]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert any("add-mask" in line or "stop-commands" in line for line in lines)
        assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)
        assert app_main(["explain", str(path), "--node", f"{name}x", "--format", form]) == 2
        assert "##[" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["optimize", "check", "several"])
def test_reports_for_ci_are_written_by_their_ending(command: str, chain: Path, tmp_path: Path) -> None:
    names = ("r.sarif", "r.junit.xml", "gl-code-quality-report.json")
    reports = [word for name in names for word in ("--report", str(tmp_path / name))]
    args = {
        "optimize": ["optimize", str(chain), "-o", str(tmp_path / "out.onnx")],
        "several": ["optimize", str(chain), "-o", f"{tmp_path}/out/"],
        "check": ["check", str(chain), "--min-fusions", "1"],
    }
    assert app_main([*args[command], *reports, "-q"]) == 0
    sarif, junit, gitlab = ((tmp_path / name).read_text("utf-8") for name in names)
    assert json.loads(sarif)["version"] == "2.1.0"
    assert f'name="{"min-fusions" if command == "check" else "plan"}" />' in junit
    assert isinstance(json.loads(gitlab), list)


@pytest.mark.parametrize("args", [(), ("--sweep", "batch=1..4")])
def test_a_report_without_findings_has_no_form_for_ci(args: tuple[str, ...], chain: Path, capsys: Caps) -> None:
    report = chain.parent / "r.sarif"
    assert app_main(["explain", str(chain), *args, "--report", str(report)]) == 2
    assert "this report has no sarif form; end it in .json, .md, .html, .txt" in capsys.readouterr().err
    assert not report.exists()
