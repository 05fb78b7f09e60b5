"""Files that are no model, or not a whole one."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import json_format, text_format
from input_case import parse

from ascend_fuse.cli.main import app_main
from ascend_fuse.error import ModelError
from ascend_fuse.graph.load import MAX_BYTES, read_model


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.pkl", b"weights")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no model in the file; the file is empty"),
        (b"this is no model\n", "it is text, not ONNX: give the file that the exporter wrote"),
        ("# Übersicht\n\nFür jeden … ".encode() * 300, "it is text, not ONNX: give the file that the exporter wrote"),
        (b"\n\n", "cannot parse"),
        (bytes(100), "cannot parse"),
        (b"\xff" * 100, "cannot parse the model; the file is truncated"),
        (b"<html><body>404</body></html>", "it is text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull"),
        (zipped(), "it is a zip archive"),
        (gzip.compress(parse().SerializeToString()), "gunzip"),
        (json_format.MessageToJson(parse()).encode(), "it is JSON"),
        (text_format.MessageToString(parse()).encode(), "it is text"),
        (b"\x80\x04\x95pickle", "it is a pickle"),
    ],
)
def test_another_format_is_named(data: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    for command in (
        ["optimize"],
        ["inline", "-o", str(tmp_path / "o.onnx")],
        ["verify", str(path)],
        ["diff", str(path)],
    ):
        code = app_main([command[0], str(path), *command[1:]])
        err = capsys.readouterr().err
        assert (code, err.count("\n")) == (3, 1), command
        assert words in err
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_truncated_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Never a crash; a cut that is a model all the same (protobuf has no end) is treated as one."""
    data = parse().SerializeToString()
    for k in range(21):
        path = tmp_path / f"{k}.onnx"
        path.write_bytes(data[: len(data) * k // 20])
        code = app_main(["optimize", str(path), "-q"])
        assert code in ((0,) if k == 20 else (0, 3)), k
        assert "internal error" not in capsys.readouterr().err


def test_any_byte_may_be_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = parse().SerializeToString()
    for k in range(0, len(data), 2):
        path = tmp_path / "m.onnx"
        path.write_bytes(data[:k] + bytes([data[k] ^ (1 << k % 8)]) + data[k + 1 :])
        code = app_main(["optimize", str(path), "-q"])
        err = capsys.readouterr().err
        assert code in (0, 3), (k, err)


def folder(path: Path) -> None:
    path.mkdir()


def ring(path: Path) -> None:
    path.symlink_to(path.name)


def large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)  # takes no space


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (folder, "Is a directory"),
        (ring, "symbolic links"),
        (large, "over 2 GB"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
        (lambda path: path.symlink_to("gone"), "no such file"),
    ],
)
def test_no_file(make: Callable[[Path], None], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "m.onnx")
    path = str(tmp_path / "m.onnx")
    for command in (["optimize", path, "-q"], ["verify", path, path], ["diff", path, path]):
        if make is folder and command[0] == "optimize":  # which takes folders of models
            continue
        assert app_main(command) == 3
        assert words in capsys.readouterr().err


def test_a_name_that_no_file_can_have() -> None:
    for name in ("a\0b.onnx", "n" * 300 + ".onnx"):
        with pytest.raises(ModelError):
            read_model(Path(name))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(parse().SerializeToString())
    path.chmod(0)
    assert app_main(["optimize", str(path)]) == 3
    assert "Permission denied" in capsys.readouterr().err


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    made, pipe = parse(), tmp_path / "pipe"
    os.mkfifo(pipe)
    child = os.fork()
    if not child:
        pipe.write_bytes(made.SerializeToString())
        os._exit(0)
    assert read_model(pipe) == made
    os.waitpid(child, 0)
