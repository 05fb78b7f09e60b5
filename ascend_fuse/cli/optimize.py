"""`ascend-fuse optimize`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_fuse.cli.option import (
    DimOption,
    FormatOption,
    RulesOption,
    Weights,
    WeightsOption,
    fused_path,
    parse_dims,
)
from ascend_fuse.cli.progress import progress
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format, printable

if TYPE_CHECKING:
    from ascend_fuse.pipeline import Result


def _output(model: Path, output: Path | None, in_place: bool) -> Path:
    if in_place and output is not None:
        raise UsageError("both --in-place and -o are given", do="keep one of them")
    if in_place:
        return model
    return fused_path(model) if output is None else output


def optimize_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="ONNX file.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="Default: MODEL.fused.onnx.")
    ] = None,
    soc: Annotated[
        str, typer.Option("--soc", metavar="NAME|INI", help="Chip, or a CANN platform_config file.")
    ] = "Ascend910B3",
    dim: DimOption = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", metavar="AF...", help="Only these rules; repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="AF...", help="Not these rules; repeatable.")
    ] = None,
    rules: RulesOption = None,
    weights: WeightsOption = Weights.KEEP,
    in_place: Annotated[bool, typer.Option("--in-place", help="Write over MODEL.")] = False,
    report: Annotated[
        list[Path] | None,
        typer.Option("--report", metavar="FILE", help="Report, as .json, .md or .txt; repeatable."),
    ] = None,
    form: FormatOption = Format.TEXT,
    verify: Annotated[bool, typer.Option("--verify", help="Run both models on ONNX Runtime and compare.")] = False,
    launch_us: Annotated[float, typer.Option("--launch-us", min=0, metavar="US", help="Cost of one launch.")] = 10.0,
    min_gain: Annotated[
        float,
        typer.Option("--min-gain", min=0, metavar="SHARE", help="Least share of time a fusion must save."),
    ] = 0.03,
    ub_reserve: Annotated[
        float,
        typer.Option("--ub-reserve", min=0, max=1, metavar="SHARE", help="Share of the UB left unused."),
    ] = 0.0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Fuse MODEL for a chip, prove that nothing else changed, and say what it saves."""
    target = _output(model, output, in_place)
    sizes = parse_dims(dim or ())

    import ascend_fuse

    with progress(quiet) as callback:
        result = ascend_fuse.optimize(
            model, output=target, soc=soc, dims=sizes, select=tuple(select or ()), ignore=tuple(ignore or ()),
            rules=tuple(rules or ()), weights=weights.value, verify=verify, in_place=in_place,
            skip_unchanged=output is None, reports=tuple(report or ()),
            launch_us=launch_us, min_gain=min_gain, ub_reserve=ub_reserve, progress=callback,
        )  # fmt: skip
    if not quiet:
        _show(result, form)


def _show(result: Result, form: Format) -> None:
    from ascend_fuse.report.render import result_page, show

    show(result_page(result), form)
    if form is Format.TEXT and result.path is not None:
        typer.echo(f"\nWritten: {printable(str(result.path))}")
