"""`ascend-fuse diff` and `ascend-fuse verify`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ascend_fuse.cli.ci import tell_ci
from ascend_fuse.cli.option import (
    AbsoluteOption,
    DimOption,
    FormatOption,
    InputsOption,
    RelativeOption,
    ReportOption,
    configured,
    parse_dims,
)
from ascend_fuse.cli.progress import progress
from ascend_fuse.config import DEFAULT, Config, Settings
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format

EXIT_GATE = 1
EXIT_VERIFICATION = 4

First = Annotated[Path, typer.Argument(metavar="A", help="ONNX file, the original.")]
Second = Annotated[Path, typer.Argument(metavar="B", help="ONNX file, the changed one.")]


@configured("soc")
def diff_command(
    a: First,
    b: Second,
    dim: DimOption = None,
    by_place: Annotated[
        bool, typer.Option("--by-place", help="Read no external weights: another file or offset is another weight.")
    ] = False,
    report: ReportOption = None,
    form: FormatOption = Format.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 when there is a difference.")] = False,
    *,
    config: Config,
) -> None:
    """Show what differs between two models: interface, operators, nodes, fusions, weights, launches, bytes and time.

    Nodes are matched by structure, not by name; those of fused nodes one by one.
    """
    from ascend_fuse.difference import compare
    from ascend_fuse.graph.save import write_texts
    from ascend_fuse.graph.target import check_file
    from ascend_fuse.report.difference import difference_page
    from ascend_fuse.report.render import format_of, render_page, show

    for path in report or ():
        format_of(path)
        check_file(path, "report")
    settings = replace(config.settings, dims=parse_dims(dim or ()))
    with progress(quiet=False) as tell:
        found = compare(a, b, settings, by_place, tell)
    page = difference_page(found)
    write_texts([(path, render_page(page, format_of(path))) for path in report or ()], lambda: None)
    show(page, form)
    tell_ci(lambda: page)
    if exit_code and not found.is_same:
        raise typer.Exit(EXIT_GATE)


@configured("soc")
def verify_command(
    a: First,
    b: Second,
    dim: DimOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random inputs.")] = 0,
    kernels: Annotated[bool, typer.Option("--kernels", help="Run B through the kernels too, emulated.")] = False,
    atol: AbsoluteOption = None,
    rtol: RelativeOption = None,
    inputs: InputsOption = None,
    form: FormatOption = Format.TEXT,
    *,
    config: Config,
) -> None:
    """Run two models on ONNX Runtime with equal inputs and compare their outputs bit by bit.

    With --kernels, B also runs on the kernels of its chip, or of --soc: each fused node within its program's bound.
    A tolerance is for outputs on the CPU; the bounds stay as they are.
    """
    sizes = parse_dims(dim or ())
    if inputs and sizes:
        raise UsageError("the inputs that are given have sizes of their own", where="--dim", do="leave it out")
    from ascend_fuse.report.render import show
    from ascend_fuse.report.verification import verification_page
    from ascend_fuse.verify.compare import check_sizes, verify
    from ascend_fuse.verify.tolerance import Tolerance

    check_sizes(a, sizes)
    tolerance = Tolerance.of(atol, rtol)
    files = tuple(inputs or ())
    found = verify(a, b, sizes=sizes or None, seed=seed, inputs=files, tolerance=tolerance)
    if kernels and found.ok:
        from ascend_fuse.preparation import prepare
        from ascend_fuse.verify.kernels import verify_kernels

        ready = prepare(_on_its_chip(b, config))
        found = replace(found, kernels=verify_kernels(a, b, ready, sizes, seed, files))
    show(verification_page(found), form)
    if not found.ok:
        raise typer.Exit(EXIT_VERIFICATION)


def _on_its_chip(model: Path, config: Config) -> Settings:
    """The settings with the chip that the model was planned for, where nobody names one."""
    from ascend_fuse.graph.load import read_model
    from ascend_fuse.verify.exposed import planned_chips

    chips = planned_chips(read_model(model)) if config.origin("soc") == DEFAULT else ()
    if len(chips) > 1:
        raise UsageError(f"its nodes were planned for {' and '.join(chips)}", where=str(model), do="name one by --soc")
    return replace(config.settings, soc=chips[0]) if chips else config.settings
