"""Which of command line, environment, file and default decides an option."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_fuse import engine
from ascend_fuse.config import DEFAULT_SOC, GATES, MAX_SIZE, OPTIONS, Gates, Given, Settings, assemble, resolve
from ascend_fuse.config_file import find_file
from ascend_fuse.error import UsageError

# For each option: a value by flag, variable and file, and what each of them means.
SOURCES: dict[str, tuple[object, str, str, tuple[object, object, object]]] = {
    "soc": ("A", "B", '"C"', ("A", "B", "C")),
    "select": (["af1*"], "AF2*, AF3*", '["AF4*"]', (("af1*",), ("AF2*", "AF3*"), ("AF4*",))),
    "ignore": (["AF1*"], "AF2*", "[]", (("AF1*",), ("AF2*",), ())),
    "launch_us": (5.0, "6", "7", (5.0, 6.0, 7.0)),
    "min_gain": (0.1, "0.2", "0.3", (0.1, 0.2, 0.3)),
    "min_gain_us": (0.5, "2", "3.5", (0.5, 2.0, 3.5)),
    "ub_reserve": (0.1, "0.2", "0.5", (0.1, 0.2, 0.5)),
    "l1_reserve": (0.3, "0.4", "0.95", (0.3, 0.4, 0.95)),
    "min_tile_k": (32, "64", "4096", (32, 64, 4096)),
    "streams": (2, "1", "2", (2, 1, 2)),
    "profile": (Path("a.json"), "b.csv", '"/c.csv"', ("a.json", "b.csv", "/c.csv")),
    "weights": ("link", "copy", '"link"', ("link", "copy", "link")),
    "cleanup": (True, "0", "true", (True, False, True)),
    "inline_functions": (False, "TRUE", "false", (False, True, False)),
    "verify": (False, "kernels", "false", (False, "kernels", False)),
    "jobs": (2, "3", "4", (2, 3, 4)),
    "scheduler": ("tcp://a:1", "tcp://b:1", '"tcp://c:1"', ("tcp://a:1", "tcp://b:1", "tcp://c:1")),
    "cache": (False, "1", "false", (False, True, False)),
    "cache_dir": (Path("a"), "b", '"/c"', ("a", "b", "/c")),
}


@pytest.mark.parametrize("name", SOURCES)
def test_flag_before_variable_before_file_before_default(name: str, tmp_path: Path) -> None:
    flag, variable, text, (by_flag, by_variable, by_file) = SOURCES[name]
    (tmp_path / "ascend-fuse.toml").write_text(f"# ours\n{name} = {text}\n")
    environ = {f"ASCEND_FUSE_{name.upper()}": variable}
    option = f"--{'no-' if flag is False else ''}{name.replace('_', '-')}"

    def found(flags: dict[str, object], environ: dict[str, str], folder: Path) -> tuple[object, str]:
        config = resolve(flags, environ=environ, folder=folder)
        return getattr(config.settings, name), config.origin(name)

    empty = tmp_path / "other"
    empty.mkdir()
    assert found({name: flag}, environ, tmp_path) == (by_flag, option)
    assert found({name: None}, environ, tmp_path) == (by_variable, f"ASCEND_FUSE_{name.upper()}")
    assert found({}, {}, tmp_path) == (by_file, f"{tmp_path / 'ascend-fuse.toml'}:2")
    default = resolve({}, environ={}, file=None, folder=Path("/"))
    assert (getattr(default.settings, name), default.origin(name)) == (getattr(Settings(), name), "default")


GATE_SOURCES: dict[str, tuple[object, str, str, tuple[object, object, object]]] = {
    "min_fusions": (1, "2", "3", (1, 2, 3)),
    "max_launches": (0, "5", "7", (0, 5, 7)),
    "max_unfused": (1, "2", "0", (1, 2, 0)),
    "max_growth": ("5%", "0.5%", "200", (5.0, 0.5, 200.0)),
    "min_gain": ("30", "1%", '"2%"', (30.0, 1.0, 2.0)),
    "expect": (Path("a.json"), "b.json", '"/c.json"', ("a.json", "b.json", "/c.json")),
}


@pytest.mark.parametrize("name", GATE_SOURCES)
def test_gates_come_from_the_same_places(name: str, tmp_path: Path) -> None:
    flag, variable, text, values = GATE_SOURCES[name]
    (tmp_path / "ascend-fuse.toml").write_text(f"min_gain = 0.1\n[check]\n{name} = {text}\n")
    option, shown = f"check.{name}", f"ASCEND_FUSE_CHECK_{name.upper()}"
    origins = (f"--{name.replace('_', '-')}", shown, f"{tmp_path / 'ascend-fuse.toml'}:3")
    layers: tuple[tuple[dict[str, object], dict[str, str]], ...] = (
        ({option: flag}, {shown: variable}), ({option: None}, {shown: variable}), ({}, {}),
    )  # fmt: skip
    for (flags, environ), value, origin in zip(layers, values, origins, strict=True):
        config = resolve(flags, environ=environ, folder=tmp_path)
        assert (getattr(config.gates, name), config.origin(option)) == (value, origin)
        assert config.settings == Settings(min_gain=0.1)  # a gate is no bound
    assert resolve({}, environ={}, folder=Path("/")).gates == Gates()
    assert set(GATE_SOURCES) == set(GATES) == {f.name for f in fields(Gates)}


def test_sizes_are_options_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "ascend-fuse.toml").write_text("[dims]\nbatch = 1\nseq = 2\nheads = 3\n")
    config = resolve({"dims": ["batch=7"]}, environ={"ASCEND_FUSE_DIMS": "seq=8, batch=9"}, folder=tmp_path)
    assert config.settings.dims == {"batch": 7, "seq": 8, "heads": 3}
    assert [config.origin(f"dims.{n}") for n in ("batch", "seq", "heads")] == [
        "--dim", "ASCEND_FUSE_DIMS", f"{tmp_path / 'ascend-fuse.toml'}:4",
    ]  # fmt: skip
    assert config.strict_sizes() == {"batch"}


@given(
    st.lists(st.dictionaries(st.sampled_from(sorted(set(OPTIONS) - {"dims", "select", "ignore"})), st.integers())),
    st.data(),
)
def test_the_last_layer_that_gives_an_option_decides_it(layers: list[dict[str, int]], data: st.DataObject) -> None:
    config = assemble([{n: Given(v, str(k)) for n, v in layer.items()} for k, layer in enumerate(layers)])
    name = data.draw(st.sampled_from(sorted(set(OPTIONS) - {"dims", "select", "ignore"})))
    givers = [k for k, layer in enumerate(layers) if name in layer]
    expected = layers[givers[-1]][name] if givers else getattr(Settings(), name)
    assert getattr(config.settings, name) == expected
    assert config.origin(name) == (str(givers[-1]) if givers else "default")


def test_every_option_is_known_everywhere() -> None:
    assert [f.name for f in fields(Settings)] == list(OPTIONS)
    assert set(SOURCES) == set(OPTIONS) - {"dims", "rules"}
    assert (DEFAULT_SOC, MAX_SIZE) == (engine.DEFAULT_SOC, engine.MAX_SIZE)


def test_the_nearest_file_going_up_counts_alone(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "ascend-fuse.toml").write_text("jobs = 2\nverify = true\n")
    assert resolve({}, environ={}, folder=below).settings.jobs == 2
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")  # without our table
    assert find_file(below) == tmp_path / "ascend-fuse.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n\n[tool.ascend-fuse]\njobs = 3\n")
    config = resolve({}, environ={}, folder=below)
    assert (config.settings.jobs, config.settings.verify) == (3, False)
    assert config.origin("jobs") == f"{tmp_path / 'a' / 'pyproject.toml'}:5"


def test_of_two_in_one_folder_the_own_file_wins(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ascend-fuse]\njobs = 3\nverify = true\n")
    (tmp_path / "ascend-fuse.toml").write_text("jobs = 2\n")
    settings = resolve({}, environ={}, folder=tmp_path).settings
    assert (settings.jobs, settings.verify) == (2, False)


def test_a_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "ascend-fuse.toml").write_text("jobs = 2\n")
    other, third = tmp_path / "other.toml", tmp_path / "third.toml"
    other.write_text("jobs = 3\n")
    third.write_text("jobs = 4\n")
    environ = {"ASCEND_FUSE_CONFIG": str(other)}
    assert resolve({}, environ=environ, folder=tmp_path).settings.jobs == 3
    assert resolve({}, environ=environ, folder=tmp_path, file=third).settings.jobs == 4
    with pytest.raises(UsageError, match="cannot read the configuration"):
        resolve({}, environ={}, file=tmp_path / "absent.toml")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with pytest.raises(UsageError, match=r"no table \[tool\.ascend-fuse\]"):
        resolve({}, environ={}, file=tmp_path / "pyproject.toml")


def test_paths_of_a_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "ascend-fuse.toml").write_text('rules = ["mine", "/abs"]\nsoc = "chips/my.ini"\n')
    settings = resolve({}, environ={}, folder=tmp_path).settings
    assert settings.rules == (str(tmp_path / "mine"), "/abs")
    assert settings.soc == str(tmp_path / "chips" / "my.ini")
    environ = {"ASCEND_FUSE_RULES": os.pathsep.join(("one", "two"))}
    assert resolve({}, environ=environ, folder=tmp_path).settings.rules == ("one", "two")
    assert resolve({"rules": [Path("three")]}, environ=environ, folder=tmp_path).settings.rules == ("three",)


def test_an_empty_variable_is_none() -> None:
    assert resolve({}, environ={"ASCEND_FUSE_JOBS": ""}, folder=Path("/")).origin("jobs") == "default"
