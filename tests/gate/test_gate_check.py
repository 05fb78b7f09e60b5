"""`check` from the prompt: every gate of every model is told, reports are written all the same, no model ever is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gate_project import Project

import ascend_fuse
from ascend_fuse import Gates, UsageError
from ascend_fuse.cli.main import app_main

Caps = pytest.CaptureFixture[str]


def files(folder: Path) -> set[Path]:
    return {p for p in folder.rglob("*") if p.is_file()}


def test_all_gates_of_all_models_are_told(project: Project, capsys: Caps) -> None:
    before = files(project.folder)
    gates = ("--min-fusions", 2, "--max-launches", 3, "--max-unfused", 9, "--max-growth", "1000%", "--min-gain", "90")
    assert project.check(project.models, *gates, "--report", "r.md") == 1
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "ascend-fuse: error: models/a.onnx: max-launches: 4 launches, wanted at most 3",
        *[line for line in err.splitlines() if "a.onnx: min-gain: gains " in line and ", wanted at least 90 %" in line],
        "ascend-fuse: error: models/deep/b.onnx: min-fusions: 1 fusion, wanted at least 2",
        *[line for line in err.splitlines() if "b.onnx: min-gain: gains " in line],
    ]
    assert len(err.splitlines()) == 4
    assert out.count(" ok ") == 6 and out.count("FAILS") == 4
    assert files(project.folder) - before == {project.folder / "r.md"}
    assert "min-fusions: 1 fusion, wanted at least 2" in (project.folder / "r.md").read_text().replace("\\", "")


def test_exit_zero_is_for_gates_alone(project: Project) -> None:
    failing = ("--min-fusions", 5)
    assert project.check(project.models, *failing) == 1
    assert project.check(project.models, *failing, "--exit-zero") == 0
    (project.models / "bad.onnx").write_bytes(b"no model")
    assert project.check(project.models, *failing, "--exit-zero") == 3
    assert project.check(project.models, *failing) == 3


def test_a_bad_model_is_in_the_report_and_does_not_stop_the_others(project: Project, capsys: Caps) -> None:
    (project.models / "a.onnx").write_bytes(b"no model")
    assert project.check(project.models, "--min-fusions", 1, "--format", "json", "--report", "r.json") == 3
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document == json.loads((project.folder / "r.json").read_text("utf-8"))
    bad, good = document["models"]
    assert (document["ok"], document["exit_code"]) == (False, 3)
    assert (bad["ok"], bad["plan"], bad["gates"]) == (False, None, [])
    assert good["ok"] and [g["gate"] for g in good["gates"]] == ["min-fusions"]
    assert len(err.splitlines()) == 1


def test_gates_come_from_file_and_variables_too(
    project: Project, capsys: Caps, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "min_gain = 0.05\n[check]\nmin_fusions = 5\nmax_growth = '1000%'\nexpect = 'base.json'\n"
    (project.folder / "ascend-fuse.toml").write_text(text)
    assert project.check(project.models, "--update-baseline") == 1
    assert (project.folder / "base.json").is_file()
    monkeypatch.chdir(project.models)  # a path in a file is relative to the file
    assert project.check(project.models / "a.onnx") == 1
    assert "min-fusions: 2 fusions, wanted at least 5" in capsys.readouterr().err
    monkeypatch.setenv("ASCEND_FUSE_CHECK_MIN_FUSIONS", "2")
    assert project.check(project.models / "a.onnx") == 0
    assert project.check(project.models / "a.onnx", "--min-fusions", 3) == 1


def test_a_new_baseline_is_no_lack_of_gates(project: Project, capsys: Caps) -> None:
    assert project.check(project.models, "--expect", "base.json", "--update-baseline") == 0
    out = capsys.readouterr().out
    assert "2 fusions, in the baseline now" in out and "no gate is set" not in out
    assert project.check(project.models) == 0
    assert "2 fusions, no gate is set" in capsys.readouterr().out


def test_a_size_of_a_shared_file_is_no_mistake(project: Project, capsys: Caps) -> None:
    (project.folder / "ascend-fuse.toml").write_text("[dims]\nframes = 8\n")
    assert project.check(project.models) == 0
    err = capsys.readouterr().err
    assert err.endswith("ascend-fuse.toml:2: none of the models has a size 'frames'\n") and "note: " in err
    assert project.check(project.models, "--dim", "frames=8") == 2
    assert "--dim: none of the models has a size 'frames'" in capsys.readouterr().err


def test_the_share_of_a_bound_is_no_gate(project: Project, capsys: Caps) -> None:
    assert project.check(project.models, "--min-gain", "0.3") == 2
    assert "give 0.3% if percents are meant, 30% if it is a share of one" in capsys.readouterr().err
    assert project.check(project.models, "--min-gain", "0.3%") == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--min-fusions", "-1"), "--min-fusions: cannot be -1; give an integer from 0"),
        (("--max-growth", "much"), "--max-growth: cannot be 'much'; give percents from 0"),
        (("--min-gain", "101"), "--min-gain: cannot be '101'; give percents from 0 to 100"),
        (("--report", "r.pdf"), "r.pdf: no report format has the ending '.pdf'"),
        (("--report", "models/a.onnx.json", "--report", "models/a.onnx.json"), "a.onnx.json"),
        (("--dim", "batch=3"), "--dim"),
        (("--soc", "Ascend1"), "Ascend1"),
    ],
)
def test_a_mistake_is_told_before_any_work(args: tuple[str, ...], says: str, project: Project, capsys: Caps) -> None:
    before = files(project.folder)
    assert project.check(project.models / "a.onnx", *args) == 2
    assert says in capsys.readouterr().err
    assert files(project.folder) == before


def test_a_fused_model_is_checked_as_its_original(project: Project, capsys: Caps) -> None:
    rules = ("--rules", project.folder / "rules", "--ignore", "AF209")
    args = ("optimize", project.models / "a.onnx", "-o", project.models / "f.onnx", *rules, "-q")
    assert app_main([str(a) for a in args]) == 0
    assert project.check(project.models / "f.onnx", "--min-fusions", 2, "--max-growth", "0%") == 0
    assert "is fused already" not in capsys.readouterr().err


def test_from_python(project: Project) -> None:
    settings = ascend_fuse.Settings(rules=(str(project.folder / "rules"),))
    found = ascend_fuse.check([project.models], settings, Gates(min_fusions=2))
    assert [v.outcome.source.name for v in found.models] == ["a.onnx", "b.onnx"]
    assert [j.ok for v in found.models for j in v.judgements] == [True, False]
    assert (found.exit_code, len(found.failures)) == (1, 1)
    with pytest.raises(UsageError, match="no \\*\\.onnx is under the folder"):
        ascend_fuse.check([project.folder / "rules"])
