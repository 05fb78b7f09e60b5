"""Command line of the sample models; options of a builder are the parameters of its function."""

import argparse
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from models import BUILDERS, save
from models.build import Dim
from models.fetch import FetchError, fetch, read_manifest


def _size(text: str) -> Dim:
    """A number, or the name of a symbolic size."""
    return int(text) if text.lstrip("-").isdigit() else text


def _add_option(parser: argparse.ArgumentParser, name: str, parameter: inspect.Parameter) -> None:
    option = f"--{name.replace('_', '-')}"
    common: dict[str, Any] = {"default": parameter.default, "help": f"default {parameter.default}"}
    if parameter.annotation is bool:
        parser.add_argument(option, action=argparse.BooleanOptionalAction, **common)
    elif parameter.annotation == Dim:
        parser.add_argument(option, type=_size, metavar="N|NAME", **common)
    elif parameter.annotation is int:
        parser.add_argument(option, type=int, metavar="N", **common)
    else:
        parser.add_argument(option, choices=get_args(parameter.annotation), **common)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models", description="Build or fetch a sample model.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="list|fetch|NAME")
    commands.add_parser("list", help="name all models")
    fetching = commands.add_parser("fetch", help="download a real model from PyPI")
    fetching.add_argument("name", choices=list(read_manifest()))
    fetching.add_argument("--to", type=Path, help="directory for the file; the cache by default")
    for name, builder in BUILDERS.items():
        summary = (inspect.getdoc(builder) or "").splitlines()[0].replace("%", "%%")
        building = commands.add_parser(name, help=summary, description=summary)
        building.add_argument("out", type=Path, help="the file to write")
        for option, parameter in inspect.signature(builder).parameters.items():
            _add_option(building, option, parameter)
    return parser


def _list() -> None:
    for name, builder in BUILDERS.items():
        print(f"{name}: {(inspect.getdoc(builder) or '').splitlines()[0]}")
    for name, entry in read_manifest().items():
        source = f"{entry.package} {entry.version}, {entry.licence}, {entry.nodes} nodes"
        print(f"fetch {name}: {entry.what} ({source})")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    command = options.pop("command")
    try:
        if command == "list":
            _list()
        elif command == "fetch":
            print(fetch(options["name"], options["to"]))
        else:
            out = options.pop("out")
            print(save(BUILDERS[command](**options), out))
    except (FetchError, ValueError) as error:
        parser.exit(2, f"error: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
