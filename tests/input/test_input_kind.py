"""Small slips at the prompt: each says what and what to do, ends with the code of 0002 and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from ascend_fuse.cli.main import app_main

TEXT = """
<ir_version: 10, opset_import: ["" : 17]>
g (float[batch, 512] x) => (float[batch, 512] y) <float[1] w = {2.0}> { a = Mul (x, w) b = Tanh (a) y = Exp (b) }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models."""
    monkeypatch.chdir(tmp_path)
    for name in ("m.onnx", "n.onnx"):
        onnx.save(parser.parse_model(TEXT), name)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    """The one line of the error; nothing is written meanwhile."""
    before = {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()}
    assert app_main(list(arguments)) == code
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()} == before
    return line


@pytest.mark.parametrize("word", [b"batch", b"Tanh", b"x"], ids=["size", "operator", "value"])
@pytest.mark.parametrize(
    "command", [("optimize",), ("inline", "-o", "o.onnx"), ("check",), ("explain",), ("diff", "m.onnx"), ("verify", "m.onnx")],
    ids=lambda c: c[0],
)  # fmt: skip
def test_names_that_are_no_text(
    here: Path, word: bytes, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    old = Path("m.onnx").read_bytes()
    field = bytes([len(word)]) + word  # as protobuf has it: not the letters within other words
    assert field in old
    Path("b.onnx").write_bytes(old.replace(field, bytes([len(word)]) + b"\xff" + word[1:]))
    line = said(capsys, 3, command[0], *(a for a in command[1:] if a == "m.onnx"), "b.onnx", *(
        a for a in command[1:] if a != "m.onnx"
    ))  # fmt: skip
    assert "b.onnx: cannot parse the model: it has names that are no text; export it again with names in UTF-8" in line


@pytest.mark.parametrize("command", ["optimize", "explain", "check"])
def test_a_model_from_standard_input(here: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "-: a model cannot come from standard input; name a file" in said(capsys, 3, command, "-")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("m.onnx", "-o", ""), "-o: names no file; name a file, or a folder"),
        (("m.onnx", "-o", "-"), "-: the output cannot go to standard output; name a file"),
        (("m.onnx", "n.onnx", "-o", "-"), "-: the output cannot go to standard output; name a folder"),
    ],
)
def test_outputs_that_are_no_file(
    here: Path, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in said(capsys, 2, "optimize", *arguments)
    assert not Path("-").exists()


def test_the_option_that_is_wrong_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--rule: no rule 'af9zz'" in said(capsys, 2, "explain", "m.onnx", "--rule", "af9zz")


@pytest.mark.parametrize("order", [("a.onnx", "b.onnx"), ("b.onnx", "a.onnx")], ids=["second", "first"])
def test_verify_names_the_model_whose_data_are_missing(
    here: Path, order: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        model = parser.parse_model(TEXT)
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "w"))
        onnx.save(model, f"{name}.onnx", save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
    Path("b.bin").unlink()
    assert "b.onnx: b.bin: the data file of tensor w is missing; copy it beside the model" in said(
        capsys, 3, "verify", *order
    )
