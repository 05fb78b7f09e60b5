"""Whatever is asked to be written where it cannot or must not be: exit 2, and every file is as it was."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import external_case
import pytest
from input_case import parse

from ascend_fuse.cli.main import app_main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models, one with a data file; links to the first; options in files."""
    (tmp_path / "m.onnx").write_bytes(parse().SerializeToString())
    (tmp_path / "e.onnx").write_bytes(external_case.beside().SerializeToString())
    (tmp_path / "w.bin").write_bytes(bytes(64))
    (tmp_path / "soft.onnx").symlink_to("m.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "hard.onnx")
    (tmp_path / "dir").mkdir()
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "ring").symlink_to("ring")
    return tmp_path


def state(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("m.onnx -o m.onnx", "the output is the input"),
        ("m.onnx -o ./dir/../m.onnx", "the output is the input"),
        ("m.onnx -o soft.onnx", "the output is the input"),
        ("m.onnx -o hard.onnx", "the output is the input"),
        ("soft.onnx -o m.onnx", "the output is the input"),
        ("e.onnx -o w.bin", "data file of the input"),
        ("e.onnx -o o.onnx --report w.bin.md", ""),
        ("m.onnx -o absent/o.onnx", "folder does not exist"),
        ("m.onnx -o m.onnx/o.onnx", "folder does not exist"),
        ("m.onnx -o full", "is a device"),
        ("m.onnx -o ring", "a link to itself"),
        ("m.onnx -o -", "standard output"),
        ("m.onnx -o o.onnx --report full.md/r.md", "folder does not exist"),
        ("m.onnx -o /proc/o.onnx", "cannot be written"),
        (f"m.onnx -o {'n' * 300}.onnx", "too long"),
        ("m.onnx --in-place -o o.onnx", "both"),
    ],
)
def test_no_file_is_lost(
    args: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = state(folder)
    code = app_main(["optimize", *args.split(), "-q"])
    err = capsys.readouterr().err
    if not words:
        assert code == 0
        return
    assert (code, err.count("\n")) == (2, 1), err
    assert words in err
    assert state(folder) == before


@pytest.mark.parametrize("option", ["--soc", "--rules"])
def test_the_output_is_no_file_of_the_options(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chip's file, and a rule in a folder of the user's: refused before either is read."""
    monkeypatch.chdir(folder)
    (folder / "rules").mkdir()
    source = folder / ("chip.ini" if option == "--soc" else "rules/AF900.toml")
    source.write_text("what the user wrote", "utf-8")
    value = "chip.ini" if option == "--soc" else "rules"
    assert app_main(["optimize", "m.onnx", "-o", str(source), option, value]) == 2
    assert "the output is" in capsys.readouterr().err
    assert source.read_text("utf-8") == "what the user wrote"


def limited() -> None:
    """Files of at most 1 KiB, as a full disk has it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("args", [["-o", "out/o.onnx"], ["--in-place"], ["-o", "out/o.onnx", "--weights", "copy"]])
def test_a_full_disk(args: list[str], folder: Path) -> None:
    (folder / "out").mkdir()
    model = external_case.beside()
    model.doc_string = "d" * 4000
    (folder / "e.onnx").write_bytes(model.SerializeToString())
    before = state(folder)
    command = [sys.executable, "-m", "ascend_fuse", "optimize", "e.onnx", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limited)
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr and done.stderr.count("\n") == 1
    assert state(folder) == before
    assert not any(p.name.startswith(".") for p in folder.rglob("*"))


def test_two_runs_that_write_one_file(folder: Path) -> None:
    """The file is one of the two, whole."""
    command = [sys.executable, "-m", "ascend_fuse", "optimize", "-q", "-o", "o.onnx"]
    runs = [
        subprocess.Popen([*command, "m.onnx", "--soc", soc], cwd=folder) for soc in ("Ascend910B3", "Ascend310P3") * 2
    ]
    assert [r.wait(timeout=60) for r in runs] == [0] * 4
    made = (folder / "o.onnx").read_bytes()
    whole: list[bytes] = []
    for soc in ("Ascend910B3", "Ascend310P3"):
        assert app_main(["optimize", str(folder / "m.onnx"), "-q", "-o", str(folder / "p.onnx"), "--soc", soc]) == 0
        whole.append((folder / "p.onnx").read_bytes())
    assert made in whole
    assert not any(p.name.startswith(".") for p in folder.iterdir())
