"""What is expected to fuse: `ascend-fuse/baseline/1` (docs/design/0010), one fusion a line, for a repository."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from ascend_fuse import __version__
from ascend_fuse.error import UsageError
from ascend_fuse.plan import Plan, Region, Totals
from ascend_fuse.plan_file import Place, read_document

SCHEMA = "ascend-fuse/baseline/1"
UPDATE = "run once with --update-baseline"


@dataclass(frozen=True, slots=True, order=True)
class Fusion:
    """One fusion as a baseline knows it: scope, rules, sorted operators with counts, source nodes in order."""

    graph: str
    rules: tuple[str, ...]
    label: str
    ops: tuple[tuple[str, int], ...]
    nodes: tuple[str, ...]

    @property
    def kind(self) -> tuple[object, ...]:
        """What is left of it when an exporter names its nodes anew."""
        return self.graph, self.rules, self.ops


def fusion_of(region: Region) -> Fusion:
    """The region as a baseline knows it."""
    ops = tuple(sorted(Counter(region.ops).items()))
    return Fusion(region.graph, region.rules, region.label, ops, region.names)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one model's entry says: what decided the plan (`options`), the totals after, the fusions, sorted."""

    options: Mapping[str, object]
    launches: int
    hbm_bytes: int
    time_us: float
    fusions: tuple[Fusion, ...]


def expectation(plan: Plan) -> Expectation:
    """The entry that the plan fulfils."""
    options: dict[str, object] = {
        "soc": plan.soc, "dims": dict(sorted(plan.dims.items())), "bounds": dict(sorted(plan.bounds.items())),
        "cleanup": plan.cleanup, "inline_functions": plan.inline_functions, "platform": plan.platform_digest,
        "profile": plan.profile_digest,
    }  # fmt: skip
    after: Totals = plan.totals_after
    fusions = tuple(sorted(map(fusion_of, plan.regions)))
    return Expectation(options, after.launches, after.hbm_bytes, round(after.time_us, 3), fusions)


def changed_options(expected: Expectation, found: Expectation) -> tuple[str, ...]:
    """`soc is "Ascend310P3", not "Ascend910B3"` for each option that the two were not made with alike."""
    return tuple(
        f"{name} is {json.dumps(found.options[name])}, not {json.dumps(expected.options[name])}"
        for name in found.options
        if found.options[name] != expected.options[name]
    )


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries in a file, each by the path of its model relative to the file's folder, with slashes."""

    file: Path
    entries: Mapping[str, Expectation] = field(default_factory=dict[str, Expectation])

    def name(self, model: Path) -> str:
        """The model's path as the file has it."""
        return Path(os.path.relpath(model.absolute(), self.file.absolute().parent)).as_posix()

    def gone(self, inputs: Iterable[Path], models: Iterable[Path]) -> tuple[str, ...]:
        """The entries of models under the folders among the inputs that are not among the models any more."""
        folders = [PurePosixPath(self.name(i)) for i in inputs if i.is_dir()]
        here = set(map(self.name, models))
        return tuple(sorted(n for n in self.entries if n not in here and any(_is_inside(n, f) for f in folders)))

    def updated(self, plans: Mapping[Path, Plan], gone: Container[str]) -> Baseline:
        """With what the plans fulfil, without what is gone."""
        kept = {name: entry for name, entry in self.entries.items() if name not in gone}
        return replace(self, entries=kept | {self.name(model): expectation(plan) for model, plan in plans.items()})

    def render(self) -> str:
        """The document, sorted, with a line for each option, total and fusion."""
        models = _object((_text(name), _entry(self.entries[name])) for name in sorted(self.entries))
        return _object((('"schema"', _text(SCHEMA)), ('"tool"', _text(__version__)), ('"models"', models))) + "\n"


def _is_inside(name: str, folder: PurePosixPath) -> bool:
    """Whether a path lies under the folder; `.` is a parent also of paths that leave it."""
    path = PurePosixPath(name)
    return folder in path.parents and (folder.parts != () or path.parts[0] != "..")


def read_baseline(file: Path) -> Baseline:
    """The baseline in the file. Raises UsageError with file and place for what is none, or absent."""
    if not file.exists():
        raise UsageError("there is no baseline", where=str(file), do=f"{UPDATE} to make it")
    do = "give what `ascend-fuse check --update-baseline` wrote"
    m = Place(read_document(file, "baseline", do), file=str(file)).members(("schema", "tool", "models"))
    if (schema := m["schema"].text()) != SCHEMA:
        m["schema"].fail(f"the schema is {schema!r}, not {SCHEMA!r}", do)
    return Baseline(file, m["models"].table(_expectation))


def _expectation(place: Place) -> Expectation:
    m = place.members(("options", "launches", "hbm_bytes", "time_us", "fusions"))
    o = m["options"].members(("soc", "dims", "bounds", "cleanup", "inline_functions", "platform", "profile"))
    options: dict[str, object] = {
        "soc": o["soc"].text(), "dims": o["dims"].table(Place.integer), "bounds": o["bounds"].table(Place.number),
        "cleanup": o["cleanup"].flag(), "inline_functions": o["inline_functions"].flag(),
        "platform": o["platform"].text(), "profile": o["profile"].text(),
    }  # fmt: skip
    numbers = m["launches"].integer(), m["hbm_bytes"].integer(), m["time_us"].number()
    return Expectation(options, *numbers, tuple(sorted(m["fusions"].items(_fusion))))


def _fusion(place: Place) -> Fusion:
    m = place.members(("graph", "rules", "label", "ops", "nodes"))
    if not (rules := m["rules"].items(Place.text)):
        m["rules"].fail("no rule names the fusion")
    ops = tuple(sorted(m["ops"].table(Place.integer).items()))
    return Fusion(m["graph"].text(), rules, m["label"].text(), ops, m["nodes"].items(Place.text))


def _entry(e: Expectation) -> str:
    options = _object((_text(name), _text(value)) for name, value in e.options.items())
    fusions = ",\n".join(_text(_fusion_json(f)) for f in e.fusions)
    listed = f"[\n{_indented(fusions)}\n]" if fusions else "[]"
    numbers = (("launches", e.launches), ("hbm_bytes", e.hbm_bytes), ("time_us", e.time_us))
    return _object((('"options"', options), *((_text(n), _text(v)) for n, v in numbers), ('"fusions"', listed)))


def _fusion_json(f: Fusion) -> dict[str, object]:
    return {"graph": f.graph, "rules": list(f.rules), "label": f.label, "ops": dict(f.ops), "nodes": list(f.nodes)}


def _object(members: Iterable[tuple[str, str]]) -> str:
    """A JSON object with a line for each member; the names and values are JSON already."""
    lines = ",\n".join(f"{name}: {value}" for name, value in members)
    return f"{{\n{_indented(lines)}\n}}" if lines else "{}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _text(value: object) -> str:
    return json.dumps(value, allow_nan=False)
