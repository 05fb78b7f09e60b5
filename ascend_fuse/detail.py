"""What a verdict rests on, asked of the engine again: launches by pipe, buffers, terms of the gain, turning points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_fuse import _engine
from ascend_fuse.candidate import Candidate
from ascend_fuse.engine import Engine, is_product
from ascend_fuse.plan import NearMiss, Plan, ProductTiling, Region, Tiling
from ascend_fuse.turning import Turning, turning
from ascend_fuse.verdict import tiling_of

Solved = _engine.Verdict | _engine.GemmVerdict


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: total = launch + heads + product + work, µs.

    `work`: of a product its epilogue, else the slowest pipe. `pipes`: busy times of the busiest core, by the engine's
    names; they overlap, and `hbm` is of all cores.
    """

    label: str
    cores: int
    launch_us: float
    head_us: float
    product_us: float
    work_us: float
    total_us: float
    assumed_us: float
    hbm_bytes: int
    bound: str
    pipes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of one core: what the tile uses (of a refusal, needs), what it may use, what there is.

    `system_bytes`: what the system keeps of it.
    """

    name: str
    used_bytes: int
    budget_bytes: int
    capacity_bytes: int
    system_bytes: int = 0

    @property
    def reserve_bytes(self) -> int:
        """What stays unused: the system's share and the user's."""
        return self.capacity_bytes - self.budget_bytes


@dataclass(frozen=True, slots=True)
class Detail:
    """One candidate with its verdict. `fused` and `tiling` are None where nothing was solved; `gain` by term, µs.

    `without_us`: what it would take after but for the term that decides a no, 0 where none does.
    """

    candidate: Candidate
    fuse: bool
    code: str
    message: str
    decides: str
    before_us: float
    after_us: float
    wanted_us: float
    without_us: float
    assumed_share: float
    cores_before: int
    cores_after: int
    launches: tuple[Launch, ...]
    fused: Launch | None
    tiling: Tiling | ProductTiling | None
    gain: Mapping[str, float]
    buffers: tuple[Buffer, ...]
    turning: Turning | None

    @property
    def gain_us(self) -> float:
        """What fusing saves."""
        return self.before_us - self.after_us


@dataclass(frozen=True, slots=True)
class Explained:
    """What was judged with one node, in that order; `shown`: the position of the one that decided, -1 for none.

    `alone`: the node as it is launched by itself, where nothing was judged.
    """

    subject: str
    details: tuple[Detail, ...]
    shown: int
    reason: str = ""  # why the node stayed, where that is not the verdict shown
    alone: Detail | None = None


def explained(engine: Engine, plan: Plan, candidates: Sequence[Candidate], names: Sequence[str]) -> list[Explained]:
    """What was judged with each node of these names that is in a region or has a near miss.

    `candidates`: all that were judged when the plan was made. Raises UsageError as planning does.
    """
    found: list[Explained] = []
    for name in dict.fromkeys(names):
        found += (_of_region(engine, r, name, candidates) for r in plan.regions if name in (r.name, *r.names))
        missed: dict[tuple[str, int], list[NearMiss]] = {}
        for m in plan.misses:
            if m.name == name:
                missed.setdefault((m.graph, m.node), []).append(m)
        found += (_of_misses(engine, own, candidates) for own in missed.values())
    return found


def _of_region(engine: Engine, region: Region, name: str, candidates: Sequence[Candidate]) -> Explained:
    """The candidates with the node of that name in the region, or with any of its nodes if it is the fused node's."""
    named = zip(region.nodes, region.names, strict=True)
    nodes = {k for k, own in named if own == name} or set(region.nodes)
    found = [c for c in candidates if c.graph == region.graph and not nodes.isdisjoint(c.nodes)]
    at = [k for k, c in enumerate(found) if c.nodes == region.nodes and c.fused[0] == region.program]
    return Explained(name, tuple(detail(engine, c) for c in found), at[0] if at else -1)


def _of_misses(engine: Engine, misses: Sequence[NearMiss], candidates: Sequence[Candidate]) -> Explained:
    """The candidates with a node that stayed; the one whose verdict is its reason, else the one that gains most."""
    own = misses[0]
    found = [c for c in candidates if c.graph == own.graph and own.node in c.nodes]
    if found and not found[0].judged:
        return Explained(own.name, (), -1, f"{own.miss.code}: {own.miss.message}", _alone(engine, found[0], own))
    details = tuple(detail(engine, c) for c in found)
    said = {(m.miss.code, m.miss.message) for m in misses}
    at = [k for k, d in enumerate(details) if (d.code, d.message) in said]
    if at:
        return Explained(own.name, details, at[0])
    best = max(range(len(details)), key=lambda k: details[k].gain_us if details[k].fused else 0.0, default=-1)
    return Explained(own.name, details, best, f"{own.miss.code}: {own.miss.message}")


def detail(engine: Engine, candidate: Candidate) -> Detail:
    """The verdict on a candidate with all that it rests on. Raises UsageError as planning does."""
    fused, parts, limits = candidate.fused, [part for _, part in candidate.launches], engine.limits
    v = (engine.judge_product if is_product(fused) else engine.judge)(fused, parts, candidate.times)
    launches = _before(engine, candidate)
    after = _launch("fused", v.tiling, v.cost) if v.after_us else None
    wanted = max(limits.min_gain * v.before_us, limits.min_gain_us)
    used = _used(v.tiling) if after else _needed(v)
    return Detail(
        candidate, v.fuse, v.code, v.message, _decides(v), v.before_us, v.after_us, wanted, v.without_us,
        v.assumed_share, int(v.cores_before), int(v.cores_after), launches, after, tiling_of(v) if after else None,
        _gain(v) if after else {}, _buffers(used, engine.soc), _turning(v, launches, after, limits),
    )  # fmt: skip


def _before(engine: Engine, candidate: Candidate) -> tuple[Launch, ...]:
    """The launches of today, as measured where they were."""
    times = candidate.times or (None,) * len(candidate.launches)
    found = [_launch(label, *engine.price(part)) for label, part in candidate.launches]
    return tuple(x if us is None else _measured(x, us) for x, us in zip(found, times, strict=True))


def _measured(x: Launch, us: float) -> Launch:
    """The launch with its time as measured, of which the engine takes launch, heads and epilogue as estimated."""
    launch = min(x.launch_us, us)
    head = min(x.head_us, us - launch)
    rest = us - launch - head
    work = min(x.work_us, rest) if x.product_us else rest
    return replace(
        x, label=f"{x.label} (measured)", launch_us=launch, head_us=head, product_us=rest - work, work_us=work,
        total_us=us, assumed_us=0.0,
    )  # fmt: skip


def _alone(engine: Engine, candidate: Candidate, miss: NearMiss) -> Detail:
    """A node as it is launched by itself."""
    tiling, _ = engine.price(candidate.launches[0][1])
    (x,) = _before(engine, candidate)
    buffers = _buffers(_used(tiling), engine.soc) if tiling.buffer_num else ()
    return Detail(
        candidate, False, miss.miss.code, miss.miss.message, "", x.total_us, 0.0, 0.0, 0.0,
        x.assumed_us / x.total_us if x.total_us else 0.0, x.cores,
        0, (x,), None, None, {}, buffers, None,
    )  # fmt: skip


def _gain(v: Solved) -> dict[str, float]:
    """The terms that a candidate of its family can have."""
    g = v.gain
    gain = {"launch": g.launch_us, "heads": g.head_us}
    if isinstance(v, _engine.Verdict):
        return gain | {"pipes": g.epilogue_us}
    gain |= {"product": g.product_us, "epilogue": g.epilogue_us}
    return gain | {"overlap": g.overlap_us} if g.overlap_us else gain


def _decides(v: Solved) -> str:
    """The term that decides; without a product there is no epilogue, its work is what its pipes do."""
    return "pipes" if v.decides == "epilogue" and isinstance(v, _engine.Verdict) else v.decides


def _launch(label: str, tiling: _engine.Tiling | _engine.GemmTiling, cost: _engine.Cost | _engine.GemmCost) -> Launch:
    if isinstance(cost, _engine.GemmCost):
        pipes = dict(cost.pipes)
        launch, head, product = pipes.pop("launch"), pipes.pop("head"), cost.product_us
    else:
        pipes = {"aiv_mte2": cost.mte2_us, "vector": cost.vector_us, "mte3": cost.mte3_us, "hbm": cost.hbm_us}
        launch, head, product = cost.launch_us, cost.head_us, 0.0
    work = cost.epilogue_us if isinstance(cost, _engine.GemmCost) else cost.total_us - launch - head
    bound = "aiv_mte2" if cost.bound == "mte2" and isinstance(cost, _engine.Cost) else cost.bound
    return Launch(
        label, int(tiling.block_dim), launch, head, product, work, cost.total_us, cost.assumed_share * cost.total_us,
        int(cost.hbm_bytes), bound, pipes,
    )  # fmt: skip


def _used(tiling: _engine.Tiling | _engine.GemmTiling) -> list[tuple[str, int, int]]:
    """Each buffer with what the tiles use and may use, bytes."""
    if isinstance(tiling, _engine.GemmTiling):
        return [(name, int(size), int(budget)) for name, (size, budget) in tiling.buffers]
    return [("UB", int(tiling.ub_bytes), int(tiling.ub_budget))]


def _needed(v: Solved) -> list[tuple[str, int, int]]:
    """The buffer that is too small, with what the smallest tile needs and may use."""
    if not v.code.endswith("-overflow"):
        return []
    budget = v.budget_bytes if isinstance(v, _engine.GemmVerdict) else v.ub_budget
    return [(v.decides, int(v.need_bytes), int(budget))]


def _buffers(found: Sequence[tuple[str, int, int]], soc: _engine.Soc) -> tuple[Buffer, ...]:
    """Those that the chip has."""
    capacity = {
        "L1": soc.l1_size, "L0A": soc.l0_a_size, "L0B": soc.l0_b_size, "L0C": soc.l0_c_size, "BT": soc.bt_size,
        "UB": soc.ub_size,
    }  # fmt: skip
    system = {"UB": soc.ub_reserved}
    return tuple(Buffer(n, size, budget, capacity[n], system.get(n, 0)) for n, size, budget in found if capacity[n])


def _turning(v: Solved, launches: Sequence[Launch], fused: Launch | None, bounds: _engine.Bounds) -> Turning | None:
    """Where the verdict turns; None where no time decides, or launches overlap."""
    if fused is None or v.gain.overlap_us:
        return None
    assumed = sum(x.assumed_us for x in launches)
    return turning((v.before_us, v.after_us), (assumed, fused.assumed_us), len(launches), bounds)
