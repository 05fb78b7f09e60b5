"""Small models as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model

from models import BUILDERS
from models import save as save_model

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
