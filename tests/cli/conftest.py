"""Small models as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.parser import parse_model

from ascend_fuse.cli.main import app_main
from models import BUILDERS
from models import save as save_model

Run = Callable[..., tuple[int, dict[str, Any]]]
WriteModel = Callable[[str, str], Path]

CHAIN = """
<ir_version: 10, opset_import: ["" : 17]>
chain (float[batch, 64] x) => (float[batch, 64] y)
<float one = {1.0}> {
  a = Add (x, one)
  b = Mul (a, x)
  y = Relu (b)
}
"""


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Writes ONNX text as a model file in the test's directory."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        onnx.save(parse_model(text), path)
        return path

    return write


@pytest.fixture
def chain(write_model: WriteModel) -> Path:
    """Add, Mul, Relu."""
    return write_model("chain.onnx", CHAIN)


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A BERT layer: several fusions of several rules, and products that stay."""
    return save_model(BUILDERS["bert-layer"](), tmp_path / "layer.onnx")


@pytest.fixture
def bisect(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `bisect`; its exit code and document."""

    def call(model: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
        code = app_main(["bisect", str(model), *arguments, "--format", "json"])
        told = capsys.readouterr()
        assert not list(model.parent.glob(".*bisect*"))
        return code, json.loads(told.out) if told.out else {"error": told.err}

    return call
