"""The options that decide a result, from command line, environment, file or default (docs/design/0006)."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from ascend_fuse.error import UsageError

DEFAULT_SOC = "Ascend910B3"
MAX_SIZE = 2**31 - 1  # of one axis, as ascend_fuse.engine has it, whose import is slow
PREFIX = "ASCEND_FUSE_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
DEFAULT = "default"

Weights = Literal["copy", "link"]
Verify = bool | Literal["kernels"]  # on the CPU provider; also through the kernels
Value = str | int | float | bool | tuple[str, ...]
Read = Callable[[object], Value]  # raises ValueError that says what was expected


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option of docs/design/0006; `rules` are folders, `dims` sizes by name."""

    soc: str = DEFAULT_SOC
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    launch_us: float = 10.0
    min_gain: float = 0.03
    min_gain_us: float = 1.0
    ub_reserve: float = 0.0
    l1_reserve: float = 0.0
    min_tile_k: int = 16
    streams: int = 1
    profile: str = ""
    weights: Weights = "copy"
    cleanup: bool = True
    inline_functions: bool = False
    verify: Verify = False
    jobs: int = 1


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def _path(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a path")
    return value


def _texts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, (list, tuple)) else [None]
    if not all(isinstance(i, str) and i for i in items):
        raise ValueError("a list of texts")
    return tuple(cast("list[str]", items))


def _verify(value: object) -> Verify:
    """What is verified: nothing, on the CPU provider, or also through the kernels."""
    if value == "kernels":
        return "kernels"
    if value in ("no", "cpu"):
        return value == "cpu"
    if not isinstance(value, bool):
        raise ValueError('true, false or "kernels"')
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _weights(value: object) -> str:
    if value not in ("copy", "link"):
        raise ValueError('"copy" or "link"')
    return cast(str, value)


def _number(least: float, most: float) -> Read:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise ValueError(f"a number from {least:g} to {most:g}")
        return float(value)

    return read


def _integer(most: int) -> Read:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"an integer from 1 to {most}")
        return value

    return read


size = _integer(MAX_SIZE)
# The ranges of numbers are those of the engine (kernels/engine/bounds.h): what is read here is never refused there.
OPTIONS: Mapping[str, Read] = {
    "soc": _text, "dims": size, "select": _texts, "ignore": _texts, "rules": _texts,
    "launch_us": _number(0, 1000), "min_gain": _number(0, 1), "min_gain_us": _number(0, 1e6),
    "ub_reserve": _number(0, 0.95), "l1_reserve": _number(0, 0.95), "min_tile_k": _integer(4096),
    "streams": _integer(2), "profile": _path, "weights": _weights, "cleanup": _switch,
    "inline_functions": _switch, "verify": _verify, "jobs": _integer(1024),
}  # fmt: skip
BOUNDS = ("launch_us", "min_gain", "min_gain_us", "ub_reserve", "l1_reserve", "min_tile_k", "streams")
INTEGERS = ("min_tile_k", "streams", "jobs")


@dataclass(frozen=True, slots=True)
class Given:
    """A value and where it was given."""

    value: Value
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    """The settings, and where each was given; sizes count one by one, as `dims.batch`."""

    settings: Settings
    given: Mapping[str, Given]

    def origin(self, name: str) -> str:
        """`--soc`, `ASCEND_FUSE_SOC`, `ascend-fuse.toml:3`, or `default`."""
        return self.given[name].origin if name in self.given else DEFAULT

    def placed(self, error: UsageError) -> UsageError:
        """An error about an option's value, with the place that gave it: `ascend-fuse.toml:3`, not `--soc`."""
        values = {"soc": (self.settings.soc,), "rules": self.settings.rules, "profile": (self.settings.profile,)}
        name = next((n for n in OPTIONS if error.where in (flag(n), *values.get(n, ()))), "")
        origin = self.origin(name)
        if origin == DEFAULT or origin.startswith("--"):
            return error
        what = error.what if error.where.startswith("--") else f"{error.where}: {error.what}"
        return type(error)(what, where=f"{origin}: {name}", do=error.do)

    def strict_sizes(self) -> frozenset[str]:
        """The sizes that flags give: the model has to have them."""
        return frozenset(n.partition(".")[2] for n, g in self.given.items() if g.origin.startswith("--dim"))


def flag(name: str) -> str:
    """How the command line writes an option: `--min-gain`."""
    return "--dim" if name == "dims" else f"--{name.replace('_', '-')}"


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'soc'?`, else all that is known."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1, 0.6)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names) or 'none'}"


def checked(name: str, value: object, where: str, shown: str = "") -> Value:
    """The value in its type. Raises UsageError that names `where`, and the value as `shown`."""
    key = name.partition(".")[0]
    try:
        return OPTIONS[key](value)
    except ValueError as e:
        what = f"{'' if where.startswith('--') else f'{name} '}cannot be {shown or repr(value)}"
        raise UsageError(what, where=where, do=f"give {e}") from e


def check_settings(settings: Settings, where: str) -> None:
    """Raises UsageError that names `where` for a value of another type or out of range."""
    for name in OPTIONS.keys() - {"dims"}:
        checked(name, getattr(settings, name), where)


def parse_dims(texts: Iterable[str], where: str = "--dim") -> Mapping[str, int]:
    """Sizes from `name=n`. Raises UsageError unless n is in 1 … `MAX_SIZE` and each name comes once."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        # the length first: Python refuses to read integers of thousands of digits
        if not equals or not name or not number.isdecimal() or len(number) > 10 or not 1 <= int(number) <= MAX_SIZE:
            do = f"write name=n with n a positive integer, at most {MAX_SIZE}"
            raise UsageError("not a size", where=f"{where} {text}", do=do)
        if name in sizes:
            raise UsageError("the size is given twice", where=f"{where} {text}", do="keep one of them")
        sizes[name] = int(number)
    return sizes


def from_flags(flags: Mapping[str, object]) -> Mapping[str, Given]:
    """What the command line gave: None and an empty list are nothing. Raises UsageError."""
    found: dict[str, Given] = {}
    for name, value in flags.items():
        if value is None or (isinstance(value, (list, tuple)) and not value):
            continue
        if name == "dims":
            sizes = parse_dims(cast("list[str]", value))
            found |= {f"dims.{n}": Given(checked("dims", v, "--dim"), "--dim") for n, v in sizes.items()}
        else:
            plain = [str(v) for v in cast("list[object]", value)] if isinstance(value, (list, tuple)) else value
            plain = str(plain) if isinstance(plain, Path) else plain
            found[name] = Given(checked(name, plain, flag(name)), flag(name) if value is not False else _negated(name))
    return found


def _negated(name: str) -> str:
    return f"--no-{flag(name).removeprefix('--')}"


def from_environment(environ: Mapping[str, str]) -> Mapping[str, Given]:
    """What variables `ASCEND_FUSE_…` give; an empty one counts as absent. Raises UsageError."""
    known = {f"{PREFIX}{name.upper()}": name for name in OPTIONS}
    found: dict[str, Given] = {}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX) or variable == CONFIG_VARIABLE:
            continue
        if variable not in known:
            do = nearest(variable, [*known, CONFIG_VARIABLE])
            raise UsageError("no option has this variable", where=variable, do=do)
        if not text:
            continue
        name = known[variable]
        if name == "dims":
            sizes = parse_dims((s.strip() for s in text.split(",") if s.strip()), variable)
            found |= {f"dims.{n}": Given(v, variable) for n, v in sizes.items()}
        else:
            found[name] = Given(checked(name, _plain(name, text), variable, repr(text)), variable)
    return found


def _plain(name: str, text: str) -> object:
    """The variable's text as the value that it stands for; the text itself where it stands for none."""
    if name in ("select", "ignore"):
        return [part.strip() for part in text.split(",") if part.strip()]
    if name == "rules":
        return [part for part in text.split(os.pathsep) if part]
    if name in ("cleanup", "inline_functions", "verify"):
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)
    if name in (*BOUNDS, *INTEGERS):
        try:
            return int(text) if name in INTEGERS else float(text)
        except ValueError:
            return text
    return text


def assemble(layers: Iterable[Mapping[str, Given]]) -> Config:
    """The settings of all layers, the last of which wins."""
    given: dict[str, Given] = {}
    for layer in layers:
        given |= layer
    dims = {n.partition(".")[2]: g.value for n, g in given.items() if n.startswith("dims.")}
    values = {n: g.value for n, g in given.items() if not n.startswith("dims.")}
    return Config(Settings(**{**values, "dims": dims}), given)  # pyright: ignore[reportArgumentType]


def resolve(
    flags: Mapping[str, object],
    *,
    file: Path | None = None,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """The options in force: `flags`, then `environ` (the process's), then the file, then the default.

    Without `file` (or ASCEND_FUSE_CONFIG) the file is the nearest one going up from `folder` (the working
    directory). Raises UsageError on an unknown name or a value of another type.
    """
    from ascend_fuse.config_file import find_file, from_file

    variables = os.environ if environ is None else environ
    named = file or (Path(variables[CONFIG_VARIABLE]) if variables.get(CONFIG_VARIABLE) else None)
    found = named or find_file(Path.cwd() if folder is None else folder)
    written: Mapping[str, Given] = from_file(found) if found else {}
    return assemble((written, from_environment(variables), from_flags(flags)))
