"""The options that decide a result, from command line, environment, file or default (docs/design/0006)."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ascend_fuse import config_value as read
from ascend_fuse.config_value import Read, Value, Verify, Weights
from ascend_fuse.error import UsageError

DEFAULT_SOC = "Ascend910B3"
MAX_SIZE = 2**31 - 1  # of one axis, as ascend_fuse.engine has it, whose import is slow
PREFIX = "ASCEND_FUSE_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
DEFAULT = "default"


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
    scheduler: str = ""
    cache: bool = True
    cache_dir: str = ""


@dataclass(frozen=True, slots=True)
class Gates:
    """What `check` demands of each model; None, or no baseline in `expect`, demands nothing. Growth, gain: percent."""

    min_fusions: int | None = None
    max_launches: int | None = None
    max_unfused: int | None = None
    max_growth: float | None = None
    min_gain: float | None = None
    expect: str = ""


size = read.integer(MAX_SIZE)
# The ranges of numbers are those of the engine (kernels/engine/bounds.h): what is read here is never refused there.
OPTIONS: Mapping[str, Read] = {
    "soc": read.text, "dims": size, "select": read.texts, "ignore": read.texts, "rules": read.texts,
    "launch_us": read.number(0, 1000), "min_gain": read.number(0, 1), "min_gain_us": read.number(0, 1e6),
    "ub_reserve": read.number(0, 0.95), "l1_reserve": read.number(0, 0.95), "min_tile_k": read.integer(4096),
    "streams": read.integer(2), "profile": read.path, "weights": read.weights, "cleanup": read.switch,
    "inline_functions": read.switch, "verify": read.verify, "jobs": read.integer(1024),
    "scheduler": read.path, "cache": read.switch, "cache_dir": read.path,
}  # fmt: skip
BOUNDS = ("launch_us", "min_gain", "min_gain_us", "ub_reserve", "l1_reserve", "min_tile_k", "streams")
INTEGERS = ("min_tile_k", "streams", "jobs")
CHECK = "check"  # the table of the gates; each is an option of its own, as `check.min_fusions`
COUNTS = ("min_fusions", "max_launches", "max_unfused")
GATES: Mapping[str, Read] = {
    **dict.fromkeys(COUNTS, read.integer(MAX_SIZE, 0)), "max_growth": read.percent(1_000_000),
    "min_gain": read.percent(100), "expect": read.path,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """A value and where it was given."""

    value: Value
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    """The settings and gates, and where each was given; sizes count one by one, as `dims.batch`."""

    settings: Settings
    given: Mapping[str, Given]
    gates: Gates = Gates()

    def origin(self, name: str) -> str:
        """`--soc`, `ASCEND_FUSE_SOC`, `ascend-fuse.toml:3`, or `default`."""
        return self.given[name].origin if name in self.given else DEFAULT

    def placed(self, error: UsageError) -> UsageError:
        """An error about an option's value, with the place that gave it: `ascend-fuse.toml:3`, not `--soc`."""
        values = {"soc": (self.settings.soc,), "rules": self.settings.rules, "profile": (self.settings.profile,)}
        values["cache_dir"] = (self.settings.cache_dir,)
        name = next((n for n in OPTIONS if error.where in (n, flag(n), *values.get(n, ()))), "")
        origin, said = self.origin(name), error.where in (name, flag(name))
        if not name:
            return error
        if origin == DEFAULT or origin.startswith("--"):
            return type(error)(error.what, where=flag(name), do=error.do) if said else error
        what = error.what if said else f"{error.where}: {error.what}"
        return type(error)(what, where=f"{origin}: {name}", do=error.do)

    def strict_sizes(self) -> frozenset[str]:
        """The sizes that flags give: the model has to have them."""
        return frozenset(n.partition(".")[2] for n, g in self.given.items() if g.origin.startswith("--dim"))


def flag(name: str) -> str:
    """How the command line writes an option: `--min-gain`."""
    return "--dim" if name == "dims" else f"--{name.removeprefix(f'{CHECK}.').replace('_', '-')}"


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'soc'?`, else all that is known."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1, 0.6)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names) or 'none'}"


def checked(name: str, value: object, where: str, shown: str = "") -> Value:
    """The value in its type. Raises UsageError that names `where`, and the value as `shown`."""
    table, _, key = name.partition(".")
    try:
        return (GATES[key] if table == CHECK else OPTIONS[table])(value)
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
    known = {f"{PREFIX}{name.upper().replace('.', '_')}": name for name in (*OPTIONS, *(f"{CHECK}.{g}" for g in GATES))}
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
    if name in ("cleanup", "inline_functions", "verify", "cache"):
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)
    counts = (*INTEGERS, *(f"{CHECK}.{g}" for g in COUNTS))
    if name in (*BOUNDS, *counts):
        try:
            return int(text) if name in counts else float(text)
        except ValueError:
            return text
    return text


def assemble(layers: Iterable[Mapping[str, Given]]) -> Config:
    """The settings of all layers, the last of which wins."""
    given: dict[str, Given] = {}
    for layer in layers:
        given |= layer
    values = {n: g.value for n, g in given.items() if "." not in n}
    dims, gates = _table(given, "dims"), _table(given, CHECK)
    settings = Settings(**{**values, "dims": dims})  # pyright: ignore[reportArgumentType]
    return Config(settings, given, Gates(**gates))  # pyright: ignore[reportArgumentType]


def _table(given: Mapping[str, Given], name: str) -> dict[str, Value]:
    """What is given as `name.key`, by the key; a size may have dots in its name."""
    return {n.partition(".")[2]: g.value for n, g in given.items() if n.startswith(f"{name}.")}


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
