"""`ascend-fuse optimize` and `ascend-fuse apply`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_fuse.cli.ci import tell_ci
from ascend_fuse.cli.option import (
    SETTINGS,
    FormatOption,
    InPlaceOption,
    QuietOption,
    ReportOption,
    ShardOption,
    configured,
    is_folder,
    target_path,
)
from ascend_fuse.cli.progress import progress
from ascend_fuse.cli.stream import say, silence
from ascend_fuse.config import Config
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format, printable
from ascend_fuse.shard import Shard, parse_shard

if TYPE_CHECKING:
    from ascend_fuse.task import Result

PlanOption = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="Write the plan for `apply`; without -o, nothing but the plan."),
]


@configured(*SETTINGS)
def optimize_command(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL", help="ONNX files, or folders with such.")],
    out: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="OUT", help="Default: MODEL.fused.onnx. A folder, for several models."),
    ] = None,
    in_place: InPlaceOption = False,
    plan: PlanOption = None,
    shard: ShardOption = None,
    report: ReportOption = None,
    form: FormatOption = Format.TEXT,
    quiet: QuietOption = False,
    *,
    config: Config,
) -> None:
    """Fuse MODEL for a chip, prove that nothing else changed, and say what it saves.

    A folder as OUT exists or ends in a slash. Options are also read from ASCEND_FUSE_... variables and from
    ascend-fuse.toml: see `ascend-fuse config show`.
    """
    if out == "":
        raise UsageError("names no file", where="-o", do="name a file, or a folder")
    output = None if out is None else Path(out)
    part = None if shard is None else parse_shard(shard)
    if part or len(models) > 1 or models[0].is_dir() or (out is not None and is_folder(out)):
        if plan is not None:
            raise UsageError("a plan is of one model", where="--plan", do="give the models one by one")
        if out == "-":
            raise UsageError("the output cannot go to standard output", where="-", do="name a folder")
        _several(models, output, in_place, part, report or (), form, quiet, config)
        return
    target = None if plan is not None and output is None and not in_place else target_path(models[0], output, in_place)

    from ascend_fuse.pipeline import deliver_to
    from ascend_fuse.report.render import result_page
    from ascend_fuse.task import Task, carry_out

    delivery = deliver_to(models[0], config.settings, target, in_place, report or (), plan)
    task = Task(config.settings, delivery, strict=config.strict_sizes(), skip_unchanged=output is None)
    with progress(quiet) as callback:
        result = carry_out(models[0], task, callback)
    tell_ci(lambda: result_page(result))
    if not quiet:
        _show(result, form, plan)
        _tell_misspelt(config, result.plan.dims)


def _show(result: Result, form: Format, plan: Path | None = None) -> None:
    from ascend_fuse.report.render import result_page, show

    show(result_page(result), form)
    written = [str(path) for path in (result.path, plan) if path is not None]
    if form is Format.TEXT and written:
        typer.echo(f"\nWritten: {printable(', '.join(written))}")


def _tell_misspelt(config: Config, known: Iterable[str]) -> None:
    """Sizes of variables and files that the model has under a name so near that they were meant for it."""
    sizes = sorted(known)
    for name in config.settings.dims:
        if name not in sizes and (near := get_close_matches(name, sizes, 1)):
            say(f"note: {config.origin(f'dims.{name}')}: no size is called {name!r}; did you mean {near[0]!r}?")


def _several(
    models: Sequence[Path],
    output: Path | None,
    in_place: bool,
    shard: Shard | None,
    reports: Sequence[Path],
    form: Format,
    quiet: bool,
    config: Config,
) -> None:
    """Fuses all of them; leaves with the batch's exit code."""
    from ascend_fuse.batch import optimize_all
    from ascend_fuse.report.batch import batch_page
    from ascend_fuse.report.render import show

    with progress(quiet) as callback:
        batch = optimize_all(
            models, config.settings, output=output, in_place=in_place, reports=reports, shard=shard, progress=callback
        )
    try:
        if not quiet:
            show(batch_page(batch), form)
            if form is Format.TEXT and output is not None and any(o.path for o in batch.outcomes):
                typer.echo(f"\nWritten to {printable(str(output))}")
            sys.stdout.flush()
    except BrokenPipeError:  # the reader has what it wanted; what failed is told all the same
        silence(sys.stdout)
    tell_ci(lambda: batch_page(batch))
    for error in batch.errors:
        say(f"error: {error}")
    for name in batch.absent_sizes:
        if (origin := config.origin(f"dims.{name}")) != "--dim":
            say(f"note: the size {name!r} is given by {origin}")
    if batch.exit_code:
        raise typer.Exit(batch.exit_code)


@configured("soc", "rules", "profile", "weights", "verify")
def apply_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The ONNX file that was planned.")],
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="What `optimize --plan` wrote.")],
    out: Annotated[str | None, typer.Option("-o", "--output", metavar="OUT", help="Default: MODEL.fused.onnx.")] = None,
    in_place: InPlaceOption = False,
    report: ReportOption = None,
    form: FormatOption = Format.TEXT,
    quiet: QuietOption = False,
    *,
    config: Config,
) -> None:
    """Fuse exactly what a plan says, with the options that it was made with.

    Regions and cleanups may be deleted from the plan before; a region that rests on a deleted cleanup is left out, with
    a note. --soc, --rules and --profile are needed when the plan was made for a platform_config file, with rules of
    your own or with measured times.
    """
    if out is not None and is_folder(out):
        raise UsageError("the output is a folder", where=out, do="name a file: a plan is of one model")
    target = target_path(model, None if out is None else Path(out), in_place)
    # a chip by name is the plan's to choose, and only a flag can contradict it
    soc = config.settings.soc
    given = soc if soc.lower().endswith(".ini") or config.origin("soc") == "--soc" else ""

    import ascend_fuse

    with progress(quiet) as callback:
        result = ascend_fuse.apply(
            model, plan, output=target, soc=given, rules=config.settings.rules, profile=config.settings.profile,
            weights=config.settings.weights, verify=config.settings.verify, in_place=in_place, reports=report or (),
            progress=callback,
        )  # fmt: skip
    if not quiet:
        _show(result, form)
