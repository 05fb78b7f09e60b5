"""What a run needs beside the model: rules, the engine of a chip, the options that are recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onnx import ModelProto

from ascend_fuse.cache import Cache
from ascend_fuse.config import BOUNDS, Settings, nearest
from ascend_fuse.engine import Engine, bounds, check_size, is_file, load_soc
from ascend_fuse.measurement import Measurement, read_measurement
from ascend_fuse.plan import Plan
from ascend_fuse.rule.load import RuleSet, load_rules
from ascend_fuse.run import Options


@dataclass(frozen=True, slots=True)
class Preparation:
    """Made once from the settings, used for every model; the digests go into the plan."""

    rules: RuleSet
    engine: Engine
    options: Options
    rules_digest: str
    platform_digest: str
    measurement: Measurement | None = None
    cache: Cache | None = None

    def renewed(self) -> Preparation:
        """The same for another model: an engine remembers what it judged, and a batch may be long."""
        return replace(self, engine=Engine(self.engine.soc, self.engine.limits))

    def stamped(self, plan: Plan) -> Plan:
        """The plan with what it was made by, so that it can be applied later."""
        o = self.options
        return replace(
            plan, rules_digest=self.rules_digest, platform_digest=self.platform_digest, cleanup=o.cleanup,
            inline_functions=o.inline_functions, settings_digest=self.settings_digest, profile_digest=o.profile,
            profile_source=self.measurement.source if self.measurement else "",
        )  # fmt: skip

    @property
    def settings_digest(self) -> str:
        """Of the options: a plan that says others was edited."""
        return hashlib.sha256(json.dumps(self.options.record(), sort_keys=True).encode()).hexdigest()[:12]


def prepare(settings: Settings) -> Preparation:
    """Rules and engine for the settings. Raises UsageError, RuleError, SocError."""
    for name, number in settings.dims.items():
        check_size(name, number)
    folders = [Path(r) for r in settings.rules]
    known = load_rules(folders)
    chosen = known.choose(settings.select, settings.ignore)
    named = tuple(s.upper() for s in settings.select), tuple(s.upper() for s in settings.ignore)
    limits = bounds(**{name: getattr(settings, name) for name in BOUNDS})
    engine = Engine(load_soc(settings.soc), limits)
    platform = [Path(settings.soc)] if is_file(settings.soc) else []
    files = digest([*(p for r in folders for p in sorted(r.glob("*.toml"))), *platform])
    options = Options(
        engine.soc.name, dict(settings.dims), *named, engine.figures(), files, settings.cleanup,
        settings.inline_functions, digest([m.path] if (m := _measured(settings)) else []),
    )  # fmt: skip
    rules_digest = digest([r.path for r in known.rules])
    cache = Cache(Path(settings.cache_dir)).check() if settings.cache and settings.cache_dir else None
    return Preparation(chosen, engine, options, rules_digest, digest(platform), m, cache)


def _measured(settings: Settings) -> Measurement | None:
    return read_measurement(Path(settings.profile)) if settings.profile else None


def own_files(settings: Settings) -> list[tuple[str, Path]]:
    """What the settings are read from and no run may write over, each with what it is."""
    rules = [("a rule's file", p) for r in settings.rules for p in sorted(Path(r).glob("*.toml"))]
    profile = [("the profile", Path(settings.profile))] if settings.profile else []
    return [*rules, *profile, *([("the chip's file", Path(settings.soc))] if is_file(settings.soc) else [])]


def digest(paths: Sequence[Path]) -> str:
    """What the files hold, "" without any: their paths are nobody's business."""
    h = hashlib.sha256()
    for path in paths:
        h.update(path.read_bytes())
    return h.hexdigest()[:12] if paths else ""


def declared_sizes(model: ModelProto) -> frozenset[str]:
    """The names of sizes that the graph's inputs declare."""
    return frozenset(d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param)


def without_absent(
    dims: Mapping[str, int], known: frozenset[str], strict: frozenset[str]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The sizes that the model has or that are `strict`; notes name the others."""
    kept = {name: n for name, n in dims.items() if name in known or name in strict}
    absent = [name for name in dims if name not in kept]
    return kept, tuple(f"no size of this model is called {name!r}: {nearest(name, known)}" for name in absent)
