"""What is wrong, where, and what to do: unknown names and values of another type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ascend_fuse.config import OPTIONS, Settings, check_settings, resolve
from ascend_fuse.config_file import from_file
from ascend_fuse.error import RuleError, SocError, UsageError


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("soc = 'x'\nlanch_us = 5\n", 2, "no option is called 'lanch_us'; did you mean 'launch_us'?"),
        ("min-gain = 0.1\n", 1, "did you mean 'min_gain'?"),
        ("zzz = 1\n", 1, "known are cache, cache_dir, check, cleanup, dims,"),
        ("\n[dim]\nbatch = 1\n", 2, "no option is called 'dim'; did you mean 'dims'?"),
        ("soc = 3\n", 1, "soc cannot be 3; give a text"),
        ("select = 'AF1*'\n", 1, "give a list of texts"),
        ("rules = [1]\n", 1, "give a list of texts"),
        ("launch_us = 'fast'\n", 1, "launch_us cannot be 'fast'; give a number from 0 to 1000"),
        ("launch_us = nan\n", 1, "launch_us cannot be nan"),
        ("min_gain = -1\n", 1, "min_gain cannot be -1"),
        ("ub_reserve = 1.5\n", 1, "give a number from 0 to 0.95"),
        ("weights = 'burn'\n", 1, 'give "copy" or "link"'),
        ("cleanup = 1\n", 1, "cleanup cannot be 1; give true or false"),
        ("jobs = 0\n", 1, "give an integer from 1"),
        ("jobs = true\n", 1, "give an integer from 1"),
        ("dims = 3\n", 1, "give a table: dims = { batch = 8 }"),
        ("dims = { batch = 0 }\n", 1, "dims.batch cannot be 0"),
        ("# sizes\n[dims]\nbatch = 1\nseq = 'long'\n", 4, "dims.seq cannot be 'long'"),
        ("dims.batch = 1.5\n", 1, "dims.batch cannot be 1.5"),
        ("min_gain = 1.5\n", 1, "give a number from 0 to 1"),
        ("check = 3\n", 1, "give a table: check = { min_fusions = 8 }"),
        ("jobs = 1\n[check]\nmin_fusion = 1\n", 3, "no gate is called 'min_fusion'; did you mean 'min_fusions'?"),
        ("check.max_launches = -1\n", 1, "check.max_launches cannot be -1; give an integer from 0"),
        ("[check]\nmin_gain = 0.3\n", 2, "give 0.3% if percents are meant, 30% if it is a share of one"),
        ("[check]\nmax_growth = 'x'\n", 2, "give percents from 0 to 1,000,000, such as 30 or 30%"),
        ("\n[tool.ascend-fuse]\njobs = 2\n", 2, "leave the header out here"),
        ("soc = \n", 1, "this is no TOML"),
    ],
)
def test_a_file_is_told_by_line(text: str, line: int, says: str, tmp_path: Path) -> None:
    own = tmp_path / "ascend-fuse.toml"
    own.write_text(text)
    with pytest.raises(UsageError) as caught:
        from_file(own)
    assert caught.value.where == f"{own}:{line}"
    assert says in caught.value.sentence()
    assert caught.value.do
    assert caught.value.exit_code == 2


def test_a_table_of_a_project_is_told_by_line(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(
        "[tool.other]\nsock = 1\n\n[tool.ascend-fuse]\njobs = 1\n\n[tool.ascend-fuse.dims]\nbatch = -1\n"
    )
    with pytest.raises(UsageError, match=r"pyproject\.toml:8: dims\.batch cannot be -1"):
        from_file(project)
    project.write_text("[tool.other]\nsock = 1\n\n[tool.ascend-fuse]\nsock = 1\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml:5: .*did you mean 'soc'"):
        from_file(project)
    project.write_text("[tool.ascend_fuse]\njobs = 1\n")
    with pytest.raises(UsageError, match=r"\[tool\.ascend_fuse\] is read by nobody; write \[tool\.ascend-fuse\]"):
        from_file(project)
    project.write_text("[tool]\nascend-fuse = 3\n")
    with pytest.raises(UsageError, match="no table"):
        from_file(project)


@pytest.mark.parametrize(
    ("variable", "text", "says"),
    [
        ("ASCEND_FUSE_SOCK", "x", "no option has this variable; did you mean 'ASCEND_FUSE_SOC'?"),
        ("ASCEND_FUSE_CONFG", "x", "did you mean 'ASCEND_FUSE_CONFIG'?"),
        ("ASCEND_FUSE_JOBS", "many", "jobs cannot be 'many'; give an integer"),
        ("ASCEND_FUSE_JOBS", "1.5", "jobs cannot be '1.5'"),
        ("ASCEND_FUSE_LAUNCH_US", "nan", "launch_us cannot be 'nan'"),
        ("ASCEND_FUSE_CLEANUP", "maybe", "cleanup cannot be 'maybe'; give true or false"),
        ("ASCEND_FUSE_WEIGHTS", "burn", "weights cannot be 'burn'"),
        ("ASCEND_FUSE_DIMS", "batch", "ASCEND_FUSE_DIMS batch: not a size"),
        ("ASCEND_FUSE_DIMS", "batch=1,batch=2", "given twice"),
    ],
)
def test_a_variable_is_told_by_name(variable: str, text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve({}, environ={variable: text}, folder=Path("/"))
    assert caught.value.where.startswith(variable)
    assert says in caught.value.sentence()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("launch_us", -1.0, "--launch-us: cannot be -1.0; give a number from 0 to 1000"),
        ("ub_reserve", 2.0, "--ub-reserve"),
        ("jobs", 0, "--jobs"),
        ("dims", ["batch"], "--dim batch: not a size"),
    ],
)
def test_a_flag_is_told_by_name(name: str, value: object, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve({name: value}, environ={}, folder=Path("/"))
    assert says in caught.value.sentence()


def test_a_wrong_value_is_told_even_where_another_wins(tmp_path: Path) -> None:
    """A mistake does not wait for the day on which nobody overrides it."""
    (tmp_path / "ascend-fuse.toml").write_text("jobs = 'many'\n")
    with pytest.raises(UsageError, match="jobs cannot be 'many'"):
        resolve({"jobs": 2}, environ={"ASCEND_FUSE_JOBS": "3"}, folder=tmp_path)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SocError("unknown", where="--soc"), "ascend-fuse.toml:1: soc: unknown"),
        (UsageError("no rule 'x'", where="--ignore"), "ASCEND_FUSE_IGNORE: ignore: no rule 'x'"),
        (UsageError("no rule 'y'", where="--select"), "--select: no rule 'y'"),
        (RuleError("no directory", where="{folder}/mine"), "ascend-fuse.toml:2: rules: {folder}/mine: no directory"),
        (UsageError("no such size", where="--dim"), "--dim: no such size"),
        (UsageError("anything"), "anything"),
    ],
)
def test_a_late_error_says_where_the_value_was_given(error: UsageError, says: str, tmp_path: Path) -> None:
    (tmp_path / "ascend-fuse.toml").write_text("soc = 'x'\nrules = ['mine']\n")
    error = type(error)(error.what, where=error.where.format(folder=tmp_path))
    config = resolve({"select": ["y"]}, environ={"ASCEND_FUSE_IGNORE": "x"}, folder=tmp_path)
    placed = config.placed(error)
    assert type(placed) is type(error)
    assert placed.sentence().removeprefix(f"{tmp_path}/") == says.format(folder=tmp_path)


@pytest.mark.parametrize(("name", "wrong"), [("launch_us", "x"), ("min_gain", 2), ("cleanup", 1), ("select", (3,))])
def test_settings_made_in_python_are_checked(name: str, wrong: object) -> None:
    check_settings(Settings(), "optimize()")
    with pytest.raises(UsageError, match=rf"^optimize\(\): {name} cannot be "):
        check_settings(replace(Settings(), **{name: wrong}), "optimize()")  # pyright: ignore[reportArgumentType]


def test_other_variables_are_nobodys_business() -> None:
    assert resolve({}, environ={"ASCEND_HOME": "/x", "PATH": "/bin"}, folder=Path("/")).given == {}
    assert "soc" in OPTIONS
