"""The action, the GitLab job, the hooks and the pipeline do what they say, as their systems would call them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docs.docs_block import ROOT, blocks

yaml = pytest.importorskip("yaml")
CHAIN = (
    '<ir_version: 10, opset_import: ["" : 17]> m (float[4, 64] x) => (float[4, 64] y) { a = Add (x, x) y = Relu (a) }'
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working directory with a model in `exported`, a model beside it, and `ascend-fuse` on the path."""
    import onnx

    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "ascend-fuse"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ascend_fuse "$@"\n')
    tool.chmod(0o755)
    (tmp_path / "exported").mkdir()
    for name in ("exported/m.onnx", "other model.onnx"):
        onnx.save(onnx.parser.parse_model(CHAIN), tmp_path / name)
    return tmp_path


def bash(script: str, place: Path, **given: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), **given,
    }  # fmt: skip
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        environ.pop(name, None)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False)


def step(place: Path, **given: str) -> tuple[int, str, str]:
    """The action's last step with these inputs: exit code, what it says, its output."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    run = next(s for s in action["runs"]["steps"] if s.get("id") == "run")
    (place / "output").write_text("")
    done = bash(run["run"], place, GITHUB_OUTPUT=str(place / "output"), **given)
    return done.returncode, done.stdout + done.stderr, (place / "output").read_text()


def test_the_action_runs_and_hands_the_exit_code_on(place: Path) -> None:
    given = {"COMMAND": "check", "ASCEND_FUSE_CACHE_DIR": str(place / "kept")}
    models = "exported\nother model.onnx\n"
    code, said, output = step(place, MODELS=models, ARGS="--expect\nb.json\n--update-baseline\n", **given)
    assert (code, output) == (0, "exit-code=0\n"), said
    assert list((place / "kept").glob("*.entry"))
    code, said, output = step(place, MODELS=models, ARGS="--expect\nb.json\n--ignore\nAF1*\n", **given)
    assert (code, output) == (1, "exit-code=1\n"), said
    assert "AF101" in said
    code, said, _ = step(place, COMMAND="optimize", MODELS=models, ARGS="-o\nfused\n", ASCEND_FUSE_CACHE_DIR="")
    assert (code, sorted(p.name for p in (place / "fused").iterdir())) == (0, ["m.onnx", "other model.onnx"]), said


def test_a_models_name_is_no_command_and_no_option(place: Path) -> None:
    name = "$(touch broken) `touch broken` --help.onnx"
    os.rename(place / "other model.onnx", place / name)
    os.rename(place / "exported" / "m.onnx", place / "--quiet.onnx")
    code, said, _ = step(place, COMMAND="check", MODELS=f"{name}\n--quiet.onnx", ARGS="", ASCEND_FUSE_CACHE_DIR="")
    assert code == 0, said
    assert not (place / "broken").exists()
    assert "2 models" in said


def test_no_input_is_text_of_a_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    scripts = [s["run"] for s in action["runs"]["steps"] if "run" in s]
    assert scripts
    assert [s for s in scripts if "${{" in s] == []


@pytest.mark.parametrize(("schema", "file"), [("github-actions", "action.yml"), ("gitlab-ci", "docs/ci/gitlab.yml")])
def test_the_systems_would_take_it(schema: str, file: str) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("index", "total", "models"), [("", "", 2), ("1", "2", 1)])
def test_the_gitlab_job_runs(index: str, total: str, models: int, place: Path) -> None:
    job = yaml.safe_load((ROOT / "docs" / "ci" / "gitlab.yml").read_text("utf-8"))[".ascend-fuse"]
    os.rename(place / "other model.onnx", place / "exported" / "n.onnx")
    given = {k: str(v) for k, v in job["variables"].items()} | {"MODELS": "exported"}
    if index:
        given |= {"CI_NODE_INDEX": index, "CI_NODE_TOTAL": total}
    assert bash('ascend-fuse check exported --expect "$BASELINE" --update-baseline', place, **given).returncode == 0
    install, run = job["script"]
    assert install.startswith("pip install")
    done = bash(run, place, **given)
    assert done.returncode == 0, done.stderr
    for name in (*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()):
        assert (place / name).is_file()
    assert f"{models} model" in done.stdout
    assert (place / ".ascend-fuse").is_dir()


def hooks() -> list[dict[str, Any]]:
    return yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def test_pre_commit_would_take_the_hooks() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")
    assert len(clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")) == len(hooks())


@pytest.mark.parametrize("hook", hooks(), ids=lambda h: h["id"])
def test_a_hook_runs_on_the_files_that_it_is_for(hook: dict[str, Any], place: Path) -> None:
    files = {"ascend-fuse-check": "exported/m.onnx", "ascend-fuse-rules": "rules/MY001.toml"}
    (place / "rules").mkdir()
    rule = next(b for b in blocks(ROOT / "docs" / "how-to" / "own-rules.md") if b.language == "toml")
    (place / "rules" / "MY001.toml").write_text(rule.content, "utf-8")
    (place / "ascend-fuse.toml").write_text("[check]\nmin_fusions = 1\n")
    file = files[hook["id"]]
    assert re.search(hook["files"], file)
    done = bash(f"{hook['entry']} {file}", place)
    assert done.returncode == 0, done.stdout + done.stderr
    if hook["id"] == "ascend-fuse-check":
        (place / "ascend-fuse.toml").write_text("[check]\nmin_fusions = 2\n")
        assert bash(f"{hook['entry']} {file}", place).returncode == 1


def test_the_pipeline_names_the_fusion_that_a_broken_rule_loses(place: Path) -> None:
    pipeline = ROOT / "docs" / "ci" / "pipeline.sh"
    (place / "export").write_text(
        f'#!/bin/sh\n"{sys.executable}" -m models bert-layer "$1/bert.onnx" --hidden 64 --heads 4 --seq 16\n'
    )
    (place / "export").chmod(0o755)
    export = str(place / "export")
    first = bash(f"{pipeline} --update-baseline", place, EXPORT=export)
    assert first.returncode == 0, first.stderr
    assert (place / "artifacts" / "fused" / "bert.onnx").is_file()
    again = bash(str(pipeline), place, EXPORT=export)
    assert again.returncode == 0, again.stderr
    for name in ("check.md", "check.junit.xml", "check.sarif", "fusion.json", "fusion.html"):
        assert (place / "artifacts" / name).is_file()
    (place / "artifacts" / "fusion.json").unlink()
    broken = bash(str(pipeline), place, EXPORT=export, ASCEND_FUSE_IGNORE="AF202")
    assert broken.returncode == 1, broken.stderr
    assert "AF202" in broken.stderr
    assert "rule-ignored" in broken.stderr or "ignored" in broken.stderr
    assert not (place / "artifacts" / "fusion.json").exists()  # nothing is published
