"""Folders of small models that differ."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model

CHAIN = """
<ir_version: 10, opset_import: ["" : 17]>
chain (float[batch, {cols}] x) => (float[batch, {cols}] y)
<float one = {{1.0}}> {{
  a = Add (x, one)
  b = Mul (a, x)
  y = Relu (b)
}}
"""


def write_chain(path: Path, cols: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(parse_model(CHAIN.format(cols=cols)), path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """in/m0.onnx … in/deep/m5.onnx, each with rows of another length."""
    for k in range(6):
        write_chain(tmp_path / "in" / ("deep" if k > 3 else "") / f"m{k}.onnx", 64 + 16 * k)
    return tmp_path / "in"


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
