"""`ascend-fuse inline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ascend_fuse.cli.option import Weights, WeightsOption
from ascend_fuse.report.page import printable


def inline_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Fused ONNX file.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="File to write.")],
    weights: WeightsOption = Weights.COPY,
) -> None:
    """Give the original graph of a fused model back."""
    import ascend_fuse

    count = ascend_fuse.inline(model, output, weights=weights.value)
    if not count:
        typer.echo(f"ascend-fuse: note: {printable(str(model))} has no fused nodes: its graph is as it was", err=True)
    typer.echo(f"Written: {printable(str(output))}, {count} fused node(s) replaced")
