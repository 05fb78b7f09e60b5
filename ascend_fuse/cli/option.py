"""Options that several commands share; those of docs/design/0006 reach a command resolved, as its `config`."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum, StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ascend_fuse.cli import complete
from ascend_fuse.config import CHECK, DEFAULT_SOC, parse_dims, resolve
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format

__all__ = [
    "DimOption",
    "FormatOption",
    "RulesOption",
    "Weights",
    "WeightsOption",
    "configured",
    "fused_path",
    "is_folder",
    "parse_dims",
]


class Weights(StrEnum):
    """What becomes of external weights."""

    COPY = "copy"
    LINK = "link"


class Verify(StrEnum):
    """What a fused model is compared on; --verify by itself is cpu, --no-verify is no."""

    NO = "no"
    CPU = "cpu"
    KERNELS = "kernels"


FormatOption = Annotated[Format, typer.Option("--format", help="How standard output is laid out.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")]
InPlaceOption = Annotated[bool, typer.Option("--in-place", help="Write over MODEL.")]
ReportOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Report, as .json, .md, .html or .txt, of `optimize` and `check` as .sarif, .xml (JUnit) or .gitlab.json "
        "too; repeatable.",
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Of several models, the I-th of N parts of about equal size."),
]
DimOption = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="NAME=N", help="Size of a symbolic dimension; repeatable."),
]
RulesOption = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="DIR", help="Directory with rules of your own; repeatable."),
]
WeightsOption = Annotated[
    Weights, typer.Option("--weights", help="External weights in another folder: copy, or link (hard link).")
]
AbsoluteOption = Annotated[
    float | None, typer.Option("--atol", min=0, help="How far an element may be off; default: bitwise, or bounds.")
]
RelativeOption = Annotated[float | None, typer.Option("--rtol", min=0, help="The same, as a share of the element.")]
InputsOption = Annotated[
    list[str] | None,
    typer.Option("--inputs", metavar="[NAME=]FILE", help=".npz, .npy or .pb; repeatable. Default: random."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration, instead of the nearest ascend-fuse.toml."),
]


def _share(text: str) -> float:
    """A share of one, as a number or in percents. Raises UsageError."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError as e:
        do = "give a number from 0 to 1, or percents such as 5%"
        raise UsageError(f"cannot be {text!r}", where="--min-gain", do=do) from e


def _option(kind: object, name: str, text: str, default: str, **more: Any) -> object:
    """An option that is None when it is not given, since a file or variable may give it; `default` is for the help."""
    told = f"{text}  [default: {default}]" if default else text
    return Annotated[kind | None, typer.Option(name, help=told, show_default=False, **more)]  # pyright: ignore


SETTINGS: dict[str, object] = {
    "soc": _option(
        str,
        "--soc",
        "Chip, or a CANN platform_config file.",
        DEFAULT_SOC,
        metavar="NAME|INI",
        autocompletion=complete.chips,
    ),
    "dims": DimOption,
    "select": _option(
        list[str], "--select", "Only these rules; repeatable.", "", metavar="AF...", autocompletion=complete.rules
    ),
    "ignore": _option(
        list[str], "--ignore", "Not these rules; repeatable.", "", metavar="AF...", autocompletion=complete.rules
    ),
    "rules": RulesOption,
    "launch_us": _option(float, "--launch-us", "Cost of one launch.", "10", metavar="US"),
    "min_gain": _option(
        float, "--min-gain", "Least share of time a fusion must save.", "0.03", metavar="SHARE|%", parser=_share
    ),
    "min_gain_us": _option(float, "--min-gain-us", "Least time a fusion must save.", "1", metavar="US"),
    "ub_reserve": _option(float, "--ub-reserve", "Share of the UB left unused.", "0", metavar="SHARE"),
    "l1_reserve": _option(float, "--l1-reserve", "Share of L1 left unused.", "0", metavar="SHARE"),
    "min_tile_k": _option(int, "--min-tile-k", "Least depth of a product's tiles.", "16", metavar="N"),
    "streams": _option(int, "--streams", "2: launches on cores of their own overlap.", "1", metavar="N"),
    "profile": _option(
        Path,
        "--profile",
        "Measured node times: a trace of ONNX Runtime, or msprof's op_summary.",
        "none: estimates",
        metavar="FILE",
    ),
    "weights": _option(Weights, "--weights", "External weights in another folder: copy, or link (hard link).", "copy"),
    "cleanup": _option(bool, "--cleanup/--no-cleanup", "Remove nodes that do nothing.", "yes"),
    "inline_functions": _option(
        bool, "--inline-functions/--no-inline-functions", "Expand model-local functions first.", "no"
    ),
    "verify": _option(
        Verify,
        "--verify",
        "Run both models and compare: on ONNX Runtime's CPU provider (also without a value), with kernels also there.",
        "no",
    ),
    "jobs": _option(int, "--jobs", "Processes, for several models.", "1", metavar="N"),
    "scheduler": _option(
        str, "--scheduler", "Dask scheduler whose workers take several models.", "none", metavar="ADDRESS"
    ),
    "cache": _option(bool, "--cache/--no-cache", "Use the cache, where one is named.", "yes"),
    "cache_dir": _option(
        Path, "--cache-dir", "Keep results there by content, and take them from there.", "none", metavar="DIR"
    ),
}


GATES: dict[str, object] = {
    "min_fusions": _option(int, "--min-fusions", "Least fusions of a model.", "", metavar="N"),
    "max_launches": _option(int, "--max-launches", "Most launches after fusion.", "", metavar="N"),
    "max_unfused": _option(int, "--max-unfused", "Most launches left that a kernel could take.", "", metavar="N"),
    "max_growth": _option(str, "--max-growth", "Most that the model's files may grow.", "", metavar="PERCENT"),
    "min_gain": _option(str, "--min-gain", "Least of the estimated time that is saved.", "", metavar="PERCENT"),
    "expect": _option(Path, "--expect", "Baseline of fusions that are expected.", "", metavar="FILE"),
}


def configured(*names: str, gates: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command with these settings, and the `gates`, as options; it is called with all resolved, as `config`.

    An error about the value of an option says which variable or file gave it.

    The options are put into the signature, which is what typer reads: no command repeats them.
    """

    options = {n: SETTINGS[n] for n in names} | ({f"{CHECK}_{n}": o for n, o in GATES.items()} if gates else {})

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = {n: p.replace(annotation=hints[n]) for n, p in signature(command).parameters.items() if n != "config"}
        added = {n: Parameter(n, Parameter.KEYWORD_ONLY, default=None, annotation=options[n]) for n in options}
        file = Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption)

        @wraps(command)
        def run(*, config: Path | None, **given: Any) -> None:
            flags = {_option_name(n): v.value if isinstance(v := given.pop(n), Enum) else v for n in options}
            resolved = resolve(flags, file=config)
            try:
                command(**given, config=resolved)
            except UsageError as e:
                raise resolved.placed(e) from e

        parameters = [*own.values(), *added.values(), file]
        run.__signature__ = Signature([p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters])  # pyright: ignore
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return wrap


def _option_name(parameter: str) -> str:
    """The option's name in the configuration: the parameter's, or that of a gate."""
    gate = parameter.removeprefix(f"{CHECK}_")
    return f"{CHECK}.{gate}" if gate != parameter else parameter


def fused_path(model: Path) -> Path:
    """Where the fused model goes when nobody says: `MODEL.fused.onnx` beside the input.

    Raises UsageError for a path that ends in no name, such as `.`.
    """
    if not model.name:
        raise UsageError("names no file", where=str(model), do="give an ONNX file")
    stem = model.name.removesuffix(".onnx")
    return model.with_name(f"{stem}.fused.onnx")


def is_folder(output: str) -> bool:
    """Whether -o names a folder: one that exists, or a name that ends as folders do."""
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def target_path(model: Path, output: Path | None, in_place: bool) -> Path:
    """Where the fused model goes. Raises UsageError when that is said twice."""
    if in_place and output is not None:
        raise UsageError("both --in-place and -o are given", do="keep one of them")
    if in_place:
        return model
    return fused_path(model) if output is None else output
