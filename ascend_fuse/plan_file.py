"""A plan from its JSON (`ascend-fuse/plan/1`), strictly: an error names the place in the document."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar, cast

from ascend_fuse.config import nearest
from ascend_fuse.error import UsageError
from ascend_fuse.plan import SCHEMA, Cleanup, Figures, NearMiss, Plan, ProductTiling, Region, Tiling, Totals
from ascend_fuse.reason import CODES, Figure, Miss

T = TypeVar("T")
BESIDE = ("notes", "verification")  # what a JSON report adds


class Place:
    """One value of the document and its path, as `$.regions[3].tiling`."""

    def __init__(self, value: object, path: str = "$", file: str = "") -> None:
        self.value = value
        self.path = path
        self.file = file

    def fail(self, what: str, do: str = "correct it, or plan again") -> NoReturn:
        """Raises UsageError about this place."""
        raise UsageError(what, where=f"{self.file}: {self.path}" if self.file else self.path, do=do)

    def text(self) -> str:
        """A string."""
        return self.value if isinstance(self.value, str) else self._wrong("a string")

    def flag(self) -> bool:
        """True or false."""
        return self.value if isinstance(self.value, bool) else self._wrong("true or false")

    def integer(self) -> int:
        """An integer."""
        ok = isinstance(self.value, int) and not isinstance(self.value, bool)
        return cast(int, self.value) if ok else self._wrong("an integer")

    def number(self) -> float:
        """A number, an integer as such."""
        ok = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        return cast(float, self.value) if ok else self._wrong("a number")

    def figure(self) -> Figure:
        """A number or a string."""
        ok = isinstance(self.value, (int, float, str)) and not isinstance(self.value, bool)
        return cast("Figure", self.value) if ok else self._wrong("a number or a string")

    def items(self, read: Callable[[Place], T]) -> tuple[T, ...]:
        """A list, each of its items read."""
        values = cast("list[object]", self.value)
        if not isinstance(self.value, list):
            self._wrong("a list")
        return tuple(read(Place(v, f"{self.path}[{k}]", self.file)) for k, v in enumerate(values))

    def table(self, read: Callable[[Place], T]) -> dict[str, T]:
        """An object with keys of any name, each of its values read."""
        return {key: read(place) for key, place in self._members().items()}

    def members(self, keys: Sequence[str], more: Sequence[str] = ()) -> Mapping[str, Place]:
        """An object that has exactly these keys; those of `more` may be there."""
        found = self._members()
        for key, place in found.items():
            if key not in keys and key not in more:
                place.fail("the key is unknown", nearest(key, keys))
        for key in keys:
            if key not in found:
                self.fail(f"the key {key!r} is missing")
        return found

    def _members(self) -> dict[str, Place]:
        values = cast("dict[str, object]", self.value)
        if not isinstance(self.value, dict):
            self._wrong("an object")
        return {key: Place(v, f"{self.path}.{key}", self.file) for key, v in values.items()}

    def _wrong(self, wanted: str) -> NoReturn:
        shown = json.dumps(self.value)
        self.fail(f"{shown if len(shown) < 40 else type(self.value).__name__} stands where {wanted} belongs")


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The plan in the file. Raises UsageError with file and place in the document."""
    document = read_document(Path(path), "plan", "give what `ascend-fuse optimize --plan` wrote")
    return from_json(document, os.fspath(path))


def read_document(path: Path, what: str, do: str) -> object:
    """The JSON in the file; `what` it should be and what to `do` are for the error. Raises UsageError."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as e:
        raise UsageError(f"cannot read the {what}: {e.strerror}", where=str(path), do="give a readable file") from e
    except (ValueError, RecursionError) as e:
        raise UsageError(f"this is no JSON: {e}", where=str(path), do=do) from e


def from_json(document: object, file: str = "") -> Plan:
    """The plan that `plan.to_json` wrote, or a JSON report holds. Raises UsageError; `file` is for its sentence."""
    top = Place(document, file=file)
    schema = cast("dict[str, object]", document).get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        top.fail(f"the schema is {schema!r}, not {SCHEMA!r}", "give what `ascend-fuse optimize --plan` wrote")
    m = top.members(
        ("schema", "tool", "model", "already_fused", "soc", "platform_digest", "dims", "assumed_dims",
         "undeclared_dims", "bounds", "rules", "cleanup", "inline_functions", "settings_digest", "profile", "cleanups",
         "regions", "misses", "totals", "by_rule", "rule_names"), BESIDE,
    )  # fmt: skip
    m["by_rule"].table(_sums)
    model, rules = m["model"].members(("nodes", "opset", "digest")), m["rules"].members(("select", "ignore", "digest"))
    profile = m["profile"].members(("digest", "source"))
    totals, counted = m["totals"].members(("before", "after")), m["already_fused"].flag()
    return Plan(
        tool=m["tool"].text(), nodes=model["nodes"].integer(), opset=model["opset"].integer(),
        digest=model["digest"].text(), soc=m["soc"].text(), dims=m["dims"].table(Place.integer),
        assumed_dims=m["assumed_dims"].items(Place.text), bounds=m["bounds"].table(Place.number),
        select=rules["select"].items(Place.text), ignore=rules["ignore"].items(Place.text),
        cleanups=m["cleanups"].items(_cleanup), regions=m["regions"].items(_region),
        misses=m["misses"].items(_miss), totals_before=_totals(totals["before"], counted),
        totals_after=_totals(totals["after"], counted), rule_names=m["rule_names"].table(Place.text),
        undeclared_dims=m["undeclared_dims"].integer(), already_fused=counted, rules_digest=rules["digest"].text(),
        platform_digest=m["platform_digest"].text(), cleanup=m["cleanup"].flag(),
        inline_functions=m["inline_functions"].flag(), settings_digest=m["settings_digest"].text(),
        profile_digest=profile["digest"].text(), profile_source=profile["source"].text(),
    )  # fmt: skip


def misses_from_json(document: object) -> tuple[NearMiss, ...]:
    """The near misses that `plan.miss_json` wrote, in a list. Raises UsageError."""
    return Place(document).items(_miss)


def _totals(place: Place, counted: bool) -> Totals:
    if counted:
        return Totals(place.members(("launches",))["launches"].integer())
    m = place.members(("launches", "hbm_bytes", "time_us", "measured", "measured_us"))
    return _cost(m)


def _cost(m: Mapping[str, Place]) -> Totals:
    return Totals(
        m["launches"].integer(), m["hbm_bytes"].integer(), m["time_us"].number(), m["measured"].integer(),
        m["measured_us"].number(),
    )  # fmt: skip


def _sums(place: Place) -> None:
    """Looked at, and not kept: sums follow from the regions."""
    place.members(("name", "count", "launches_saved", "hbm_bytes_saved", "time_us_saved"))


def _cleanup(place: Place) -> Cleanup:
    m = place.members(("graph", "rule", "node", "what"))
    return Cleanup(m["graph"].text(), m["rule"].text(), m["node"].text(), m["what"].text())


def _region(place: Place) -> Region:
    m = place.members(
        ("graph", "name", "op_type", "family", "rules", "label", "nodes", "names", "ops", "inputs", "outputs",
         "program", "sizes", "tiling", "verdict")
    )  # fmt: skip
    rules = m["rules"].items(Place.text)
    if not rules:
        m["rules"].fail("no rule names the region")
    family = m["family"].text()
    return Region(
        graph=m["graph"].text(), name=m["name"].text(), op_type=m["op_type"].text(), family=family,
        label=m["label"].text(), rules=rules, nodes=m["nodes"].items(Place.integer),
        names=m["names"].items(Place.text), ops=m["ops"].items(Place.text), inputs=m["inputs"].items(Place.text),
        outputs=m["outputs"].items(Place.text), program=m["program"].text(), sizes=m["sizes"].table(Place.integer),
        tiling=(_product_tiling if family == "matmul" else _tiling)(m["tiling"]), figures=_figures(m["verdict"]),
    )  # fmt: skip


def _tiling(place: Place) -> Tiling:
    keys = ("block_dim", "buffer_num", "tile_rows", "tile_cols", "ub_bytes", "ub_budget", "l1_budget")
    m = place.members(keys)
    return Tiling(*(m[key].integer() for key in keys))


def _product_tiling(place: Place) -> ProductTiling:
    numbers = (
        "block_dim",
        "buffer_num",
        "tile_m",
        "tile_n",
        "tile_k",
        "ub_bytes",
        "ub_budget",
        "l1_bytes",
        "l1_budget",
    )
    m = place.members((*numbers, "fuse_tiles"))
    return ProductTiling(**{key: m[key].integer() for key in numbers}, fuse_tiles=m["fuse_tiles"].text())


def _figures(place: Place) -> Figures:
    m = place.members(
        ("fuse", "code", "before_us", "after_us", "gain_us", "before_bytes", "after_bytes", "launches_before",
         "launches_after", "measured", "measured_us", "assumed_share", "bound")
    )  # fmt: skip
    if not m["fuse"].flag() or m["code"].text():
        place.fail("the verdict is against fusing", "a plan cannot override it: delete the region")
    m["gain_us"].number()
    before = Totals(
        m["launches_before"].integer(), m["before_bytes"].integer(), m["before_us"].number(), m["measured"].integer(),
        m["measured_us"].number(),
    )  # fmt: skip
    after = Totals(m["launches_after"].integer(), m["after_bytes"].integer(), m["after_us"].number())
    return Figures(before, after, m["assumed_share"].number(), m["bound"].text())


def _miss(place: Place) -> NearMiss:
    m = place.members(
        ("graph", "node", "name", "op", "rule", "code", "message", "figures", "launches", "time_us", "hbm_bytes",
         "measured", "measured_us")
    )  # fmt: skip
    code = m["code"].text()
    if code not in CODES:
        m["code"].fail(f"no reason code {code!r}", nearest(code, CODES))
    miss = Miss(code, m["message"].text(), m["node"].integer(), m["figures"].table(Place.figure), m["rule"].text())
    return NearMiss(m["graph"].text(), m["node"].integer(), m["name"].text(), m["op"].text(), miss, _cost(m))
