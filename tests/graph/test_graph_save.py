"""Written whole or not at all; weights linked or copied beside the model."""

from __future__ import annotations

import os
from pathlib import Path

import onnx.parser
import pytest
from onnx import ModelProto, TensorProto

from ascend_fuse.error import UsageError
from ascend_fuse.graph.data_file import Weights, plan_placings
from ascend_fuse.graph.load import external_files
from ascend_fuse.graph.save import save_model, write_atomically, write_texts
from ascend_fuse.graph.target import check_target

TEXT = '<ir_version: 10, opset_import: ["": 18]> g (float[2,8] x) => (float[2,8] y) { y = Add (x, w) }'


def external(*locations: str) -> ModelProto:
    made = onnx.parser.parse_model(TEXT)
    for k, location in enumerate(locations):
        name = "w" if k == 0 else f"w{k}"
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[2, 8], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=location)
        made.graph.initializer.append(tensor)
    return made


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """One with a model's data files, and an empty one."""
    source, target = tmp_path / "in", tmp_path / "out"
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    (source / "w.bin").write_bytes(b"a" * 64)
    (source / "sub" / "v.bin").write_bytes(b"b" * 64)
    return source, target


def carry(model: ModelProto, target: Path, source: Path, weights: Weights) -> None:
    """The model at the target with the data files of the source."""
    save_model(model, target, plan_placings(external_files(model), source.parent, target.parent, weights))


def listed(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


def test_the_bytes_are_deterministic(tmp_path: Path) -> None:
    made = onnx.parser.parse_model(TEXT)
    for name in ("a.onnx", "b.onnx"):
        save_model(made, tmp_path / name)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert ModelProto.FromString((tmp_path / "a.onnx").read_bytes()) == made


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("ours")])
def test_a_failing_write_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.write_bytes(b"half")
        raise error

    with pytest.raises(UsageError if isinstance(error, OSError) else type(error)):
        write_atomically(tmp_path / "a.onnx", write)
    assert listed(tmp_path) == set()


def test_a_failing_write_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.onnx"
    target.write_bytes(b"old")

    def write(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match="No space left on device") as caught:
        write_atomically(target, write)
    assert caught.value.where == str(target)
    assert target.read_bytes() == b"old"
    assert listed(tmp_path) == {"a.onnx"}


def test_the_target_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.onnx"

    def write(path: Path) -> None:
        path.write_bytes(b"whole")
        assert not target.exists()
        assert path.parent == target.parent  # a move within one folder is atomic

    write_atomically(target, write)
    assert target.read_bytes() == b"whole"


def test_the_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save_model(onnx.parser.parse_model(TEXT), tmp_path / "a.onnx")
    finally:
        os.umask(before)
    assert (tmp_path / "a.onnx").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_written() -> None:
    """The kernel's own folder refuses even root."""
    with pytest.raises(UsageError, match="cannot be written") as caught:
        check_target(None, Path("/proc/a.onnx"), in_place=False)
    assert caught.value.exit_code == 2


def test_targets_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        check_target(None, tmp_path, in_place=False)
    with pytest.raises(UsageError, match="does not exist"):
        check_target(None, tmp_path / "none" / "a.onnx", in_place=False)


def test_the_input_is_only_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(b"x")
    (tmp_path / "link.onnx").symlink_to(path)
    for target in (path, tmp_path / "link.onnx"):
        with pytest.raises(UsageError, match="the output is the input"):
            check_target(path, target, in_place=False)
    check_target(path, path, in_place=True)


def test_link_links_the_data(folders: tuple[Path, Path]) -> None:
    source, target = folders
    carry(external("w.bin", "sub/v.bin"), target / "a.onnx", source / "a.onnx", "link")
    assert listed(target) == {"a.onnx", "w.bin", "sub/v.bin"}
    assert (target / "w.bin").samefile(source / "w.bin")
    assert (target / "w.bin").stat().st_nlink == 2
    carry(external("w.bin", "sub/v.bin"), target / "b.onnx", source / "a.onnx", "link")  # and again


def test_copy_copies_the_data(folders: tuple[Path, Path]) -> None:
    source, target = folders
    carry(external("w.bin"), target / "a.onnx", source / "a.onnx", "copy")
    assert listed(target) == {"a.onnx", "w.bin"}
    assert not (target / "w.bin").samefile(source / "w.bin")
    assert (target / "w.bin").read_bytes() == b"a" * 64


def test_the_same_folder_needs_neither(folders: tuple[Path, Path]) -> None:
    source, _ = folders
    before = listed(source)
    carry(external("w.bin"), source / "b.onnx", source / "a.onnx", "copy")
    assert listed(source) == before | {"b.onnx"}
    assert (source / "w.bin").stat().st_nlink == 1


def test_another_file_of_that_name_is_not_overwritten(folders: tuple[Path, Path]) -> None:
    source, target = folders
    (target / "w.bin").write_bytes(b"mine")
    with pytest.raises(UsageError, match="another data file of that name is there"):
        carry(external("w.bin"), target / "a.onnx", source / "a.onnx", "link")
    assert (target / "w.bin").read_bytes() == b"mine"
    assert listed(target) == {"w.bin"}


def test_copy_replaces_an_earlier_link(folders: tuple[Path, Path]) -> None:
    source, target = folders
    (target / "sub").mkdir()
    (target / "sub" / "v.bin").symlink_to(source / "sub" / "v.bin")
    os.link(source / "w.bin", target / "w.bin")
    for _ in range(2):  # a second time, the copies are there
        carry(external("w.bin", "sub/v.bin"), target / "a.onnx", source / "a.onnx", "copy")
        for name in ("w.bin", "sub/v.bin"):
            assert not (target / name).is_symlink()
            assert not (target / name).samefile(source / name)
            assert (target / name).read_bytes() == (source / name).read_bytes()
    assert listed(source) == {"w.bin", "sub/v.bin"}


@pytest.mark.parametrize("weights", ["link", "copy"])
def test_what_is_not_ours_stays(weights: Weights, folders: tuple[Path, Path]) -> None:
    source, target = folders
    (target / "sub").mkdir()
    (target / "sub" / "v.bin").symlink_to(target / "absent")
    with pytest.raises(UsageError, match="another data file of that name is there") as caught:
        carry(external("w.bin", "sub/v.bin"), target / "a.onnx", source / "a.onnx", weights)
    assert caught.value.exit_code == 2
    assert listed(target) == {"sub/v.bin"}


def test_data_files_go_again_when_the_model_cannot_be_written(folders: tuple[Path, Path]) -> None:
    source, target = folders
    (target / "a.onnx").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        carry(external("w.bin"), target / "a.onnx", source / "a.onnx", "link")
    assert listed(target) == set()


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "a.onnx"
    target.write_bytes(b"old")
    target.chmod(0o604)
    save_model(onnx.parser.parse_model(TEXT), target)
    assert target.stat().st_mode & 0o7777 == 0o604


def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, shown = tmp_path / "real", tmp_path / "shown"
    real.mkdir()
    shown.mkdir()
    (shown / "a.onnx").symlink_to(real / "a.onnx")
    save_model(onnx.parser.parse_model(TEXT), shown / "a.onnx")
    assert (shown / "a.onnx").is_symlink()
    assert (real / "a.onnx").is_file() and not (real / "a.onnx").is_symlink()
    assert listed(shown) == listed(real) == {"a.onnx"}


def test_texts_appear_together_or_not_at_all(tmp_path: Path) -> None:
    texts = [(tmp_path / "a.md", "a\n"), (tmp_path / "b.md", "b\n")]

    def fail() -> None:
        raise KeyError("between")

    with pytest.raises(KeyError):
        write_texts(texts, fail)
    assert listed(tmp_path) == set()
    (tmp_path / "a.md").write_text("old and longer")
    write_texts(texts, lambda: None)
    assert [path.read_bytes() for path, _ in texts] == [b"a\n", b"b\n"]
    assert listed(tmp_path) == {"a.md", "b.md"}


def test_a_text_that_cannot_be_written_is_told_by_its_name(tmp_path: Path) -> None:
    done: list[str] = []
    with pytest.raises(UsageError, match="cannot write: No such file") as caught:
        write_texts([(tmp_path / "absent" / "r.md", "x")], lambda: done.append("model"))
    assert caught.value.where == str(tmp_path / "absent" / "r.md")
    assert done == []
