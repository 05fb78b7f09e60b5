"""The baseline from the prompt: made, kept, read strictly, held against, and what a mistake with it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gate_model
import pytest
from gate_project import Project
from hypothesis import given
from hypothesis import strategies as st

from ascend_fuse.gate.baseline import Baseline, Expectation, Fusion, read_baseline

Caps = pytest.CaptureFixture[str]


@pytest.fixture
def made(project: Project, capsys: Caps) -> Project:
    """The project with its baseline."""
    assert project.expect(project.models, "--update-baseline") == 0
    assert capsys.readouterr().err == ""
    return project


def test_one_fusion_a_line_by_relative_path(made: Project) -> None:
    text = made.baseline.read_text("utf-8")
    document = json.loads(text)
    assert list(document["models"]) == ["models/a.onnx", "models/deep/b.onnx"]
    lines = [line for line in text.splitlines() if '"rules": ["MY001"]' in line]
    assert len(lines) == 3
    assert json.loads(lines[0].strip().rstrip(",")) == {
        "graph": "", "rules": ["MY001"], "label": "row-floor", "ops": {"Abs": 1, "Mul": 1, "ReduceMin": 1, "Sub": 1},
        "nodes": ["/layer.0/abs", "/layer.0/min", "/layer.0/sub", "/layer.0/mul"],
    }  # fmt: skip
    assert max(map(len, text.splitlines())) < 300


def test_it_is_kept_and_the_same_again(made: Project, capsys: Caps) -> None:
    before = made.baseline.read_bytes()
    assert made.expect() == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "2 of 2 expected fusions are there" in out and "1 of 1 expected" in out
    assert made.expect(made.models, "--update-baseline", "--jobs", "2") == 0
    assert made.baseline.read_bytes() == before


def test_it_does_not_depend_on_where_it_is_asked(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.models / "deep")
    assert made.expect(Path("b.onnx"), Path("..") / "a.onnx") == 0


@pytest.mark.parametrize("args", [("--ignore", "MY*"), ()], ids=["ignored", "broken pattern"])
def test_a_rule_that_stops_firing_fails_by_name(args: tuple[str, ...], made: Project, capsys: Caps) -> None:
    if not args:
        gate_model.write_rule(made.folder / "rules", gate_model.RULE.replace("equals = 2.0", "equals = 3.0"))
    assert made.expect(made.models, *args) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "of 2 expected fusions" in line] == [
        "ascend-fuse: error: models/a.onnx: expect: 0 of 2 expected fusions are there"
    ]
    named = [line for line in lines if "MY001 row-floor no longer fuses /layer." in line]
    assert len(named) == 3
    why = (
        "MY001 is ignored (--ignore MY*)"
        if args
        else "/layer.0/mul: constant-mismatch (MY001): the constant scale is 2.0"
    )
    assert why in named[0]
    assert made.expect(made.models, *args, "--exit-zero") == 0


def test_more_than_expected_is_told_and_no_failure(made: Project, capsys: Caps) -> None:
    gate_model.write_model(made.models / "a.onnx", layers=4)
    assert made.expect() == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2 fusions more than the baseline, MY001 row-floor at /layer.2/mul, MY001 row-floor at /layer.3/mul" in out
    assert "run with --update-baseline to expect them" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--soc", "Ascend310P3"), 'soc is "Ascend310P3", not "Ascend910B3"'),
        (("--launch-us", "5"), '"launch_us": 5.0'),
        (("--no-cleanup",), "cleanup is false, not true"),
    ],
)
def test_other_options_are_no_comparison(args: tuple[str, ...], says: str, made: Project, capsys: Caps) -> None:
    assert made.expect(made.models / "a.onnx", *args) == 2
    err = capsys.readouterr().err
    assert "baseline.json was made with other options: " in err
    assert says in err
    assert "give the options of the baseline, or run once with --update-baseline" in err


def test_a_baseline_that_is_not_there_is_told_before_any_work(project: Project, capsys: Caps) -> None:
    (project.models / "a.onnx").write_bytes(b"no model")
    assert project.expect() == 2
    said = "there is no baseline; run once with --update-baseline to make it"
    assert capsys.readouterr().err == f"ascend-fuse: error: {project.baseline}: {said}\n"
    assert project.check(project.models, "--update-baseline") == 2
    assert "name it with --expect" in capsys.readouterr().err


def test_a_model_that_it_lacks_is_told_and_the_others_judged(made: Project, capsys: Caps) -> None:
    gate_model.write_model(made.models / "new.onnx")
    assert made.expect() == 2
    out, err = capsys.readouterr()
    assert "has no entry 'models/new.onnx'; run once with --update-baseline to add it" in err
    assert out.count("expected fusions are there") == 2


def test_a_model_that_is_gone_fails(made: Project, capsys: Caps) -> None:
    (made.models / "deep" / "b.onnx").unlink()
    reports = ("r.sarif", "r.xml", "r.gitlab.json", "r.md")
    assert made.expect(made.models, *(word for name in reports for word in ("--report", name))) == 1
    assert "models/deep/b.onnx: it is in the baseline and no longer there" in capsys.readouterr().err
    for name in reports:
        assert "it is in the baseline and no longer there" in (made.folder / name).read_text("utf-8")
    assert made.expect(made.models / "a.onnx") == 0  # nobody asked for the folder
    assert made.expect(made.models, "--update-baseline") == 0
    assert list(read_baseline(made.baseline).entries) == ["models/a.onnx"]


def test_an_update_of_one_model_keeps_the_others(made: Project) -> None:
    gate_model.write_model(made.models / "a.onnx", layers=3)
    assert made.expect(made.models / "a.onnx", "--update-baseline") == 0
    assert [len(e.fusions) for e in read_baseline(made.baseline).entries.values()] == [3, 1]


def test_an_update_waits_for_models_that_can_be_planned(made: Project, capsys: Caps) -> None:
    before = made.baseline.read_bytes()
    (made.models / "a.onnx").write_bytes(b"no model")
    assert made.expect(made.models, "--update-baseline") == 3
    assert "the baseline is not written" in capsys.readouterr().err
    assert made.baseline.read_bytes() == before


def changed(*path: str | int, to: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (changed("schema", to="ascend-fuse/plan/1"), "$.schema: the schema is 'ascend-fuse/plan/1'"),
        (changed("models", to=[]), "$.models: [] stands where an object belongs"),
        (changed("models", "models/a.onnx", "launches", to="many"), '$.models.models/a.onnx.launches: "many" stands'),
        (changed("models", "models/a.onnx", "fusions", 0, "rules", to=[]), "fusions[0].rules: no rule names"),
        (changed("models", "models/a.onnx", "fusions", 0, "more", to=1), "fusions[0].more: the key is unknown"),
        (changed("models", "models/a.onnx", "options", "soc", to=1), "options.soc: 1 stands where a string belongs"),
    ],
)
def test_what_is_no_baseline_is_told_by_its_place(
    change: Callable[[Any], None], place: str, made: Project, capsys: Caps
) -> None:
    document = json.loads(made.baseline.read_text("utf-8"))
    change(document)
    made.baseline.write_text(json.dumps(document))
    for more in ((), ("--update-baseline",)):  # nor is it written over
        assert made.expect(made.models, *more) == 2
        assert place in capsys.readouterr().err


def test_a_baseline_is_no_model_and_no_report(made: Project) -> None:
    model = made.models / "a.onnx"
    before = model.read_bytes()
    assert made.check(model, "--expect", model, "--update-baseline") == 2
    assert made.expect(made.models, "--report", made.baseline, "--update-baseline") == 2
    assert model.read_bytes() == before


def test_paths_are_relative_to_the_file() -> None:
    assert Baseline(Path("/w/base.json")).name(Path("/w/models/a.onnx")) == "models/a.onnx"
    assert Baseline(Path("/w/ci/base.json")).name(Path("/w/models/a.onnx")) == "../models/a.onnx"


NAME = st.text(max_size=5)
ENTRIES = st.builds(
    Expectation,
    st.fixed_dictionaries(
        {
            "soc": NAME, "dims": st.dictionaries(NAME, st.integers(), max_size=2),
            "bounds": st.dictionaries(NAME, st.floats(allow_nan=False, allow_infinity=False), max_size=2),
            "cleanup": st.booleans(), "inline_functions": st.booleans(), "platform": NAME, "profile": NAME,
        }
    ),
    st.integers(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.lists(
        st.builds(
            Fusion, NAME, st.lists(NAME, min_size=1, max_size=2).map(tuple), NAME,
            st.dictionaries(NAME, st.integers(1), max_size=2).map(lambda d: tuple(sorted(d.items()))),
            st.lists(NAME, max_size=3).map(tuple),
        ), max_size=3,
    ).map(lambda fusions: tuple(sorted(fusions))),
)  # fmt: skip


@given(st.dictionaries(NAME, ENTRIES, max_size=3))
def test_what_is_written_is_read_back(entries: dict[str, Expectation]) -> None:
    """Names of any characters, a line for each fusion all the same."""
    with TemporaryDirectory() as folder:
        baseline = Baseline(Path(folder) / "base.json", entries)
        text = baseline.render()
        assert text.count("\n") == len(text.splitlines()) and text.isascii()
        baseline.file.write_text(text)
        assert read_baseline(baseline.file) == baseline
    assert replace(baseline, entries=dict(reversed(entries.items()))).render() == text
