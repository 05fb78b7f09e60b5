"""What is fused, what is not and why, what it saves: plain data between planning, the edit and the reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from ascend_fuse.reason import Figure, Miss

SCHEMA = "ascend-fuse/plan/1"


@dataclass(frozen=True, slots=True)
class Totals:
    """Launches, bytes through HBM and µs of a graph or region.

    Times are estimates, but for those of `measured` launches, which make up `measured_us` (from a profile).
    """

    launches: int = 0
    hbm_bytes: int = 0
    time_us: float = 0.0
    measured: int = 0
    measured_us: float = 0.0

    def __add__(self, other: Totals) -> Totals:
        return self._joined(other, 1)

    def __sub__(self, other: Totals) -> Totals:
        return self._joined(other, -1)

    def __mul__(self, count: int) -> Totals:
        return Totals()._joined(self, count)

    def _joined(self, other: Totals, sign: int) -> Totals:
        return Totals(
            self.launches + sign * other.launches, self.hbm_bytes + sign * other.hbm_bytes,
            self.time_us + sign * other.time_us, self.measured + sign * other.measured,
            self.measured_us + sign * other.measured_us,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiling attributes of a fused vector node; rows and cols in elements, budgets in bytes."""

    block_dim: int
    buffer_num: int
    tile_rows: int
    tile_cols: int
    ub_bytes: int
    ub_budget: int
    l1_budget: int


@dataclass(frozen=True, slots=True)
class ProductTiling:
    """The tiling attributes of a fused product; tiles in elements, peaks and budgets in bytes."""

    block_dim: int
    buffer_num: int
    tile_m: int
    tile_n: int
    tile_k: int
    fuse_tiles: str
    ub_bytes: int
    ub_budget: int
    l1_bytes: int
    l1_budget: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The engine's answer for a region that fuses: estimates before and after, times in µs."""

    before: Totals
    after: Totals
    assumed_share: float
    bound: str


@dataclass(frozen=True, slots=True)
class Region:
    """One fused node: `nodes` are positions in the source's node list of `graph` ("" is the main graph).

    `name` is that of the fused node in the output model, `names` are the source nodes' (`Op(output)` without a name),
    `ops` their operators.
    """

    graph: str
    name: str
    op_type: str
    family: str
    label: str
    rules: tuple[str, ...]
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    ops: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    program: str
    sizes: Mapping[str, int]
    tiling: Tiling | ProductTiling
    figures: Figures


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A node that stays as it is, with the reason and what it costs (an idiom's: with its inner nodes)."""

    graph: str
    node: int
    name: str
    op: str
    miss: Miss
    cost: Totals


@dataclass(frozen=True, slots=True)
class Cleanup:
    """A change beside fusion: `rule` is its code."""

    graph: str
    rule: str
    node: str
    what: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it; `totals_before` and `totals_after` cover every launch of the model.

    `passed`, which no file has: near misses of rules at nodes that fuse all the same, without those rules.
    """

    tool: str
    nodes: int
    opset: int
    digest: str
    soc: str
    dims: Mapping[str, int]
    assumed_dims: tuple[str, ...]
    bounds: Mapping[str, float]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    cleanups: tuple[Cleanup, ...]
    regions: tuple[Region, ...]
    misses: tuple[NearMiss, ...]
    totals_before: Totals
    totals_after: Totals
    rule_names: Mapping[str, str]
    undeclared_dims: int = 0  # sizes that were assumed and that no input declares
    already_fused: bool = False  # nothing was planned: of the totals only the launches are known
    rules_digest: str = ""  # of all rule files, the user's included
    platform_digest: str = ""  # of a CANN platform_config file, "" for a chip by name
    cleanup: bool = True
    inline_functions: bool = False
    settings_digest: str = ""  # of the options that it was made with
    profile_digest: str = ""  # of the profile that measured times are from
    profile_source: str = ""  # who measured them
    passed: tuple[NearMiss, ...] = ()

    def named_rules(self) -> dict[str, str]:
        """The names of the rules that regions, cleanups and near misses have, by code."""
        found = {code for r in self.regions for code in r.rules} | {c.rule for c in self.cleanups}
        found |= {m.miss.rule for m in self.misses}
        return {code: self.rule_names[code] for code in sorted(found) if code in self.rule_names}

    def by_rule(self) -> Mapping[str, Totals]:
        """What each region's naming rule (its first) saves: launches, bytes, µs."""
        saved: dict[str, Totals] = {}
        for r in self.regions:
            saved[r.rules[0]] = saved.get(r.rules[0], Totals()) + (r.figures.before - r.figures.after)
        return dict(sorted(saved.items()))

    def counts(self) -> Mapping[str, int]:
        """How many regions each naming rule stands for."""
        out: dict[str, int] = {}
        for r in self.regions:
            out[r.rules[0]] = out.get(r.rules[0], 0) + 1
        return out


def _totals(t: Totals, counted: bool) -> dict[str, Figure]:
    """`counted`: only launches are known."""
    if counted:
        return {"launches": t.launches}
    return {
        "launches": t.launches, "hbm_bytes": t.hbm_bytes, "time_us": t.time_us, "measured": t.measured,
        "measured_us": t.measured_us,
    }  # fmt: skip


def _round(t: Totals) -> Totals:
    return replace(t, time_us=round(t.time_us, 3), measured_us=round(t.measured_us, 3))


def rounded(plan: Plan) -> Plan:
    """The plan with its estimates as precise as they are written: µs to three digits, shares to four."""

    def figures(f: Figures) -> Figures:
        return Figures(_round(f.before), _round(f.after), round(f.assumed_share, 4), f.bound)

    return replace(
        plan,
        regions=tuple(replace(r, figures=figures(r.figures)) for r in plan.regions),
        misses=tuple(replace(m, cost=_round(m.cost)) for m in plan.misses),
        passed=tuple(replace(m, cost=_round(m.cost)) for m in plan.passed),
        totals_before=_round(plan.totals_before),
        totals_after=_round(plan.totals_after),
    )


def region_json(r: Region) -> dict[str, object]:
    """One region of `ascend-fuse/plan/1`."""
    f = r.figures
    return {
        "graph": r.graph, "name": r.name, "op_type": r.op_type, "family": r.family, "rules": list(r.rules),
        "label": r.label, "nodes": list(r.nodes), "names": list(r.names), "ops": list(r.ops),
        "inputs": list(r.inputs), "outputs": list(r.outputs), "program": r.program, "sizes": dict(r.sizes),
        "tiling": asdict(r.tiling),
        "verdict": {
            "fuse": True, "code": "", "before_us": round(f.before.time_us, 3), "after_us": round(f.after.time_us, 3),
            "gain_us": round(f.before.time_us - f.after.time_us, 3), "before_bytes": f.before.hbm_bytes,
            "after_bytes": f.after.hbm_bytes, "launches_before": f.before.launches,
            "launches_after": f.after.launches, "measured": f.before.measured,
            "measured_us": round(f.before.measured_us, 3), "assumed_share": round(f.assumed_share, 4), "bound": f.bound,
        },
    }  # fmt: skip


def miss_json(m: NearMiss) -> dict[str, object]:
    """One near miss of `ascend-fuse/plan/1`."""
    return {
        "graph": m.graph, "node": m.node, "name": m.name, "op": m.op, "rule": m.miss.rule, "code": m.miss.code,
        "message": m.miss.message, "figures": dict(m.miss.figures), "launches": m.cost.launches,
        "time_us": round(m.cost.time_us, 3), "hbm_bytes": m.cost.hbm_bytes, "measured": m.cost.measured,
        "measured_us": round(m.cost.measured_us, 3),
    }  # fmt: skip


def cleanup_json(c: Cleanup) -> dict[str, object]:
    """One cleanup of `ascend-fuse/plan/1`."""
    return {"graph": c.graph, "rule": c.rule, "node": c.node, "what": c.what}


def to_json(plan: Plan) -> dict[str, object]:
    """The plan as `ascend-fuse/plan/1` (docs/design/0001); deterministic. `plan_file.from_json` reads it."""
    plan = rounded(plan)
    counts = plan.counts()
    return {
        "schema": SCHEMA,
        "tool": plan.tool,
        "model": {"nodes": plan.nodes, "opset": plan.opset, "digest": plan.digest},
        "already_fused": plan.already_fused,
        "soc": plan.soc,
        "platform_digest": plan.platform_digest,
        "dims": dict(plan.dims),
        "assumed_dims": list(plan.assumed_dims),
        "undeclared_dims": plan.undeclared_dims,
        "bounds": dict(plan.bounds),
        "rules": {"select": list(plan.select), "ignore": list(plan.ignore), "digest": plan.rules_digest},
        "cleanup": plan.cleanup,
        "inline_functions": plan.inline_functions,
        "settings_digest": plan.settings_digest,
        "profile": {"digest": plan.profile_digest, "source": plan.profile_source},
        "cleanups": [cleanup_json(c) for c in plan.cleanups],
        "regions": [region_json(r) for r in plan.regions],
        "misses": [miss_json(m) for m in plan.misses],
        "totals": {
            "before": _totals(plan.totals_before, plan.already_fused),
            "after": _totals(plan.totals_after, plan.already_fused),
        },
        "by_rule": {
            code: {"name": plan.rule_names.get(code, ""), "count": counts[code], "launches_saved": t.launches,
                   "hbm_bytes_saved": t.hbm_bytes, "time_us_saved": round(t.time_us, 3)}
            for code, t in plan.by_rule().items()
        },
        "rule_names": plan.named_rules(),
    }  # fmt: skip
