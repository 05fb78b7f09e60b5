"""`ascend-fuse bisect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_fuse.cli.option import (
    SETTINGS,
    AbsoluteOption,
    FormatOption,
    InputsOption,
    QuietOption,
    RelativeOption,
    ReportOption,
    configured,
)
from ascend_fuse.cli.progress import progress
from ascend_fuse.config import Config
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format, printable

if TYPE_CHECKING:
    from ascend_fuse.oracle import Command
    from ascend_fuse.verify.oracle import Comparison

EXIT_GATE = 1
DECIDING = tuple(n for n in SETTINGS if n not in ("weights", "verify", "jobs"))

CommandOption = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="COMMAND",
        help="Judge by a command, with {model} in it: exit code 0 is good, 125 cannot tell, any other is bad.",
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option("--metric", metavar="REGEX", help="Number in what it prints; default: the last of the last line."),
]
LeastOption = Annotated[float | None, typer.Option("--min", help="Least number that is good.")]
MostOption = Annotated[float | None, typer.Option("--max", help="Largest number that is good.")]
PlanOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="PLAN", help="Write the plan without what breaks the model.")
]


@configured(*DECIDING)
def bisect_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="ONNX file, not fused.")],
    command: CommandOption = None,
    metric: MetricOption = None,
    least: LeastOption = None,
    most: MostOption = None,
    kernels: Annotated[bool, typer.Option("--kernels", help="Judge by the chip's kernels, emulated.")] = False,
    cpu: Annotated[bool, typer.Option("--cpu", help="Judge by ONNX Runtime's CPU provider: the default.")] = False,
    atol: AbsoluteOption = None,
    rtol: RelativeOption = None,
    inputs: InputsOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random inputs.")] = 0,
    culprits: Annotated[int, typer.Option("--culprits", min=1, help="How many are looked for.")] = 8,
    output: PlanOption = None,
    report: ReportOption = None,
    form: FormatOption = Format.TEXT,
    quiet: QuietOption = False,
    *,
    config: Config,
) -> None:
    """Find the fusions and rules that break MODEL: by a command, on the CPU or on the emulated kernels.

    Exits with 1 when there are any. Planned once; then models with parts of the plan are written and judged, about as
    many as halving takes.
    """
    if cpu + kernels + (command is not None) > 1:
        raise UsageError(
            "a model is judged in one way", where="bisect", do="keep one of --cpu, --kernels and --command"
        )
    from ascend_fuse.bisection import bisect
    from ascend_fuse.graph.save import write_texts
    from ascend_fuse.graph.target import check_apart, check_file
    from ascend_fuse.plan import to_json
    from ascend_fuse.report.bisection import bisection_page
    from ascend_fuse.report.render import format_of, render_page, show

    for path in report or ():
        format_of(path)
        check_file(path, "report")
    if output is not None:
        check_file(output, "plan")
    written = [("the plan", output)] if output is not None else []
    check_apart([*(("the report", path) for path in report or ()), *written], [("the model", model)])
    oracle: Command | Comparison
    if command is not None:
        _refuse_for_command(inputs, atol, rtol)
        oracle = _by_command(command, metric, least, most)
    else:
        _refuse_for_outputs(metric, least, most)
        oracle = _by_outputs(model, kernels, atol, rtol, inputs or (), seed, config)
    with progress(quiet) as tell:
        found = bisect(
            model, oracle, config.settings, most=culprits, strict=config.strict_sizes(),
            is_steady=command is None, progress=tell,
        )  # fmt: skip
    plan = output if found.blamed else None
    page = bisection_page(found, "" if plan is None else str(plan))
    texts = [(path, render_page(page, format_of(path))) for path in report or ()]
    if plan is not None:
        texts.append((plan, json.dumps(to_json(found.remedy), indent=2, allow_nan=False) + "\n"))
    write_texts(texts, lambda: None)
    if not quiet:
        show(page, form)
        if plan is not None and form is Format.TEXT:
            typer.echo(f"\nWritten: {printable(str(plan))}")
    if found.is_broken:
        raise typer.Exit(EXIT_GATE)


def _refuse_for_command(inputs: list[str] | None, atol: float | None, rtol: float | None) -> None:
    for name, value in (("--inputs", inputs), ("--atol", atol), ("--rtol", rtol)):
        if value is not None:
            raise UsageError("a command has inputs and limits of its own", where=name, do="leave it out")


def _refuse_for_outputs(metric: str | None, least: float | None, most: float | None) -> None:
    for name, value in (("--metric", metric), ("--min", least), ("--max", most)):
        if value is not None:
            raise UsageError("only a command prints a number", where=name, do="give --command, or --atol and --rtol")


def _by_command(command: str, pattern: str | None, least: float | None, most: float | None) -> Command:
    from ascend_fuse.oracle import Command, Metric

    is_metric = pattern is not None or least is not None or most is not None
    return Command.of(command, Metric(pattern or "", least, most) if is_metric else None)


def _by_outputs(
    model: Path,
    kernels: bool,
    atol: float | None,
    rtol: float | None,
    inputs: list[str] | tuple[str, ...],
    seed: int,
    config: Config,
) -> Comparison:
    from ascend_fuse.graph.load import read_model
    from ascend_fuse.preparation import prepare
    from ascend_fuse.verify.feed import make_feed, size_names
    from ascend_fuse.verify.inputs import read_inputs
    from ascend_fuse.verify.oracle import Comparison
    from ascend_fuse.verify.tolerance import Tolerance

    proto = read_model(model)
    known = size_names(proto)
    sizes = {name: n for name, n in config.settings.dims.items() if name in known}
    feed = read_inputs(proto, inputs) if inputs else make_feed(proto, sizes, seed)
    tolerance = Tolerance.of(atol, rtol)
    return Comparison(model, feed, tolerance, prepare(config.settings) if kernels else None)
