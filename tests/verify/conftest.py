"""A folder for the models of one test."""

from pathlib import Path

import onnx
import pytest
from verify_sample import Save


@pytest.fixture
def write(tmp_path: Path) -> Save:
    """Writes a model into this test's folder."""

    def write_model(model: onnx.ModelProto, name: str = "model.onnx") -> Path:
        path = tmp_path / name
        path.write_bytes(model.SerializeToString(deterministic=True))
        return path

    return write_model
