"""`ascend-fuse check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ascend_fuse.cli.option import SETTINGS, FormatOption, QuietOption, ReportOption, ShardOption, configured
from ascend_fuse.cli.progress import progress
from ascend_fuse.cli.stream import say, silence
from ascend_fuse.config import Config
from ascend_fuse.report.page import Format
from ascend_fuse.shard import parse_shard

# --min-gain is a gate here: the bound of that name comes from the configuration. Nothing is written or run.
PLANNING = [name for name in SETTINGS if name not in ("min_gain", "weights", "verify")]


@configured(*PLANNING, gates=True)
def check_command(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL", help="ONNX files, or folders with such.")],
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Make the baseline what is found now.")
    ] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 when a gate fails.")] = False,
    shard: ShardOption = None,
    report: ReportOption = None,
    form: FormatOption = Format.TEXT,
    quiet: QuietOption = False,
    *,
    config: Config,
) -> None:
    """Plan each MODEL as `optimize` would, write no model, and exit with 1 when a gate fails.

    Each gate is for each model. Gates are also read from the table [check] of ascend-fuse.toml and from
    ASCEND_FUSE_CHECK_... variables. --expect names a baseline: the fusions that are expected, one a line.
    """
    from ascend_fuse.cli.ci import tell_ci
    from ascend_fuse.gate.run import check
    from ascend_fuse.report.check import check_page
    from ascend_fuse.report.render import show

    with progress(quiet) as callback:
        checked = check(
            models, config.settings, config.gates, update_baseline=update_baseline, exit_zero=exit_zero,
            reports=report or (), strict=config.strict_sizes(), progress=callback,
            shard=None if shard is None else parse_shard(shard),
        )  # fmt: skip
    page = check_page(checked)
    try:
        if not quiet:
            show(page, form)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader has what it wanted; what failed is told all the same
        silence(sys.stdout)
    for line in (*checked.failures, *checked.errors):
        say(f"error: {line}")
    for name in checked.unknown_sizes:
        say(f"note: {config.origin(f'dims.{name}')}: none of the models has a size {name!r}")
    if update_baseline and checked.updated is None:
        say("note: the baseline is not written: a model could not be planned")
    tell_ci(lambda: page)
    if checked.exit_code:
        raise typer.Exit(checked.exit_code)
