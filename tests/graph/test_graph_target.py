"""Where nothing may be written, and that it is refused before anything is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_fuse.error import UsageError
from ascend_fuse.graph.target import check_apart, check_file, check_target


def test_a_device_is_refused() -> None:
    with pytest.raises(UsageError, match="is a device") as caught:
        check_file(Path(os.devnull), "output")
    assert caught.value.exit_code == 2


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a device, pipe or socket"):
        check_file(tmp_path / "pipe", "report")


def test_standard_output_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot go to standard output"):
        check_file(Path("-"), "output")


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to(os.devnull)
    (tmp_path / "lost").symlink_to(tmp_path / "absent" / "a.onnx")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, says in (("null", "is a device"), ("lost", "folder does not exist"), ("loop", "is a link to itself")):
        with pytest.raises(UsageError, match=says):
            check_file(tmp_path / name, "output")
    (tmp_path / "new").symlink_to(tmp_path / "a.onnx")
    check_file(tmp_path / "new", "output")
    assert not (tmp_path / "a.onnx").exists()


def test_in_place_is_not_told_to_choose_a_name() -> None:
    path = Path("/proc/version")  # even root creates nothing there
    with pytest.raises(UsageError, match="make it writable"):
        check_target(path, path, in_place=True)
    with pytest.raises(UsageError, match="another folder"):
        check_target(None, Path("/proc/a.onnx"), in_place=False)


def test_the_longest_allowed_name_is_allowed(tmp_path: Path) -> None:
    check_file(tmp_path / ("é" * 100 + "a" * 50 + ".onnx"), "output")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_one(tmp_path: Path) -> None:
    model, report = tmp_path / "a.onnx", tmp_path / "r.md"
    model.write_bytes(b"x")
    os.link(model, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(model)
    for name in ("a.onnx", "hard", "soft", f"../{tmp_path.name}/a.onnx"):
        with pytest.raises(UsageError, match="the report is the input"):
            check_apart([("the report", tmp_path / name)], [("the input", model)])
    with pytest.raises(UsageError, match="the report is given twice"):
        check_apart([("the report", report), ("the report", tmp_path / "." / "r.md")], [])
    check_apart([("the report", report), ("the output", tmp_path / "b.onnx")], [("the input", model)])
