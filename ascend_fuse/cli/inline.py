"""`ascend-fuse inline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ascend_fuse.cli.option import InPlaceOption, Weights, WeightsOption
from ascend_fuse.cli.stream import say
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import printable


def inline_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Fused ONNX file.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="File to write.")] = None,
    in_place: InPlaceOption = False,
    weights: WeightsOption = Weights.COPY,
) -> None:
    """Give the original graph of a fused model back, node for node.

    Except what cleanups removed and functions that --inline-functions expanded: fuse with --no-cleanup to keep all.
    """
    if in_place == (output is not None):
        raise UsageError("one of -o and --in-place is needed", where="inline", do="say where the graph goes")

    import ascend_fuse

    done = ascend_fuse.inline(model, output, weights=weights.value, in_place=in_place)
    notes = done.notes if done.count else (f"{model} has no fused nodes: its graph is as it was",)
    for note in notes:
        say(f"note: {note}")
    written = printable(str(model if output is None else output))
    typer.echo(f"Written: {written}, {done.count} fused node{'' if done.count == 1 else 's'} replaced")
