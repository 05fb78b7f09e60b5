"""Values of options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_fuse.cli.option import fused_path, parse_dims
from ascend_fuse.error import UsageError


def test_a_size_is_split_at_the_last_equals_sign() -> None:
    assert parse_dims(["batch=1", "a=b=2"]) == {"batch": 1, "a=b": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "batch",
        "=1",
        "batch=",
        "batch=-1",
        "batch=1.5",
        "batch=0",
        "batch=x",
        "batch=2147483648",
        "batch=99999999999999999999",
        f"batch={'9' * 5000}",
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a size"):
        parse_dims([text])


@pytest.mark.parametrize(
    ("model", "fused"),
    [("m.onnx", "m.fused.onnx"), ("d/m.v2.onnx", "d/m.v2.fused.onnx"), ("m", "m.fused.onnx")],
)
def test_the_output_lies_beside_the_input(model: str, fused: str) -> None:
    assert fused_path(Path(model)) == Path(fused)
