"""Options that several commands share, and the values that their text stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format

MAX_SIZE = 2**31 - 1  # as ascend_fuse.engine has it, whose import is slow


class Weights(StrEnum):
    """What becomes of external weights."""

    KEEP = "keep"
    COPY = "copy"


FormatOption = Annotated[Format, typer.Option("--format", help="How standard output is laid out.")]
DimOption = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="NAME=N", help="Size of a symbolic dimension; repeatable."),
]
RulesOption = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="DIR", help="Directory with rules of your own; repeatable."),
]
WeightsOption = Annotated[
    Weights, typer.Option("--weights", help="External weights: keep where they are, or copy beside OUT.")
]


def parse_dims(texts: Iterable[str]) -> Mapping[str, int]:
    """Sizes from `name=n`. Raises UsageError unless n is in 1 … `MAX_SIZE` and each name comes once."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        # the length first: Python refuses to read integers of thousands of digits
        if not equals or not name or not number.isdecimal() or len(number) > 10 or not 1 <= int(number) <= MAX_SIZE:
            do = f"write --dim name=n with n a positive integer, at most {MAX_SIZE}"
            raise UsageError("not a size", where=f"--dim {text}", do=do)
        if name in sizes:
            raise UsageError("the size is given twice", where=f"--dim {text}", do="keep one of them")
        sizes[name] = int(number)
    return sizes


def fused_path(model: Path) -> Path:
    """Where the fused model goes when nobody says: `MODEL.fused.onnx` beside the input.

    Raises UsageError for a path that ends in no name, such as `.`.
    """
    if not model.name:
        raise UsageError("names no file", where=str(model), do="give an ONNX file")
    stem = model.name.removesuffix(".onnx")
    return model.with_name(f"{stem}.fused.onnx")
