"""`ascend-fuse schema`."""

from __future__ import annotations

from typing import Annotated

import typer


def schema_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Document, such as plan or check.")] = None,
) -> None:
    """Print the JSON Schema of a document that the commands print, or list the documents."""
    from ascend_fuse.report.schema import bundled, schema_names

    if name is None:
        for known in schema_names():
            typer.echo(known)
    else:
        typer.echo(bundled(name), nl=False)
