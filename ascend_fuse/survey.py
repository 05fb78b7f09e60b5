"""How verdicts depend on one size: the model is read once and planned at several values of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from onnx import ModelProto

from ascend_fuse.config import Settings, check_settings
from ascend_fuse.engine import Engine, check_size
from ascend_fuse.error import ModelError, UsageError
from ascend_fuse.estimate import Estimate
from ascend_fuse.graph.load import check_external
from ascend_fuse.graph.size import Sizes
from ascend_fuse.plan import Figures, ProductTiling, Tiling, Totals
from ascend_fuse.planning import Chosen
from ascend_fuse.preparation import declared_sizes, prepare, without_absent
from ascend_fuse.run import Progress, Run, Survey
from ascend_fuse.summary import Planned, totals
from ascend_fuse.task import Model, opened, source_of
from ascend_fuse.verdict import Judged, judge

MAX_ALL = 32  # values of a range that are all planned; of a longer one powers of two and the ends, then by halves
MAX_PLANS = 400
Key = tuple[str, tuple[int, ...]]  # the scope of a region and its nodes


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of a region at one value of the size.

    `code` and `message` say why it is not fused; without a code its nodes are in other regions.
    """

    value: int
    fuse: bool
    code: str
    message: str
    tiling: Tiling | ProductTiling
    figures: Figures


@dataclass(frozen=True, slots=True)
class Swept:
    """A region that is fused at one value at least, with its answer at each, ascending."""

    graph: str
    label: str
    family: str
    rules: tuple[str, ...]
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    program: str
    answers: tuple[Answer, ...]

    @property
    def flips(self) -> bool:
        """Whether the answers differ."""
        return len({(a.fuse, a.code) for a in self.answers}) > 1


@dataclass(frozen=True, slots=True)
class Sample:
    """The whole plan at one value; `before` counts the model after its cleanups."""

    value: int
    regions: int
    before: Totals
    after: Totals


@dataclass(frozen=True, slots=True)
class Sweep:
    """Everything about one size; `dims` are the other sizes, of which `assumed_dims` were not given.

    `exact`: between neighbouring values whose answers differ lies no other value.
    """

    size: str
    soc: str
    dims: Mapping[str, int]
    assumed_dims: tuple[str, ...]
    bounds: Mapping[str, float]
    samples: tuple[Sample, ...]
    regions: tuple[Swept, ...]
    exact: bool
    notes: tuple[str, ...] = ()


def sweep(
    model: Model,
    size: str,
    values: range | Sequence[int],
    settings: Settings | None = None,
    *,
    strict: frozenset[str] = frozenset(),
    progress: Progress | None = None,
) -> Sweep:
    """The plans of a model as the size called `size` changes, and where the verdict on a region flips.

    Of a `range` the values where a verdict flips are found exactly, by halves; a list is planned as it is. The other
    sizes are those of the settings, of which the model has to have the `strict` ones, else assumed. Nothing is
    written. A profile is left out: it is of one size.
    Raises UsageError, SocError, RuleError, ModelError.
    """
    settings = settings or Settings()
    check_settings(settings, "sweep()")
    notes = (f"{settings.profile} is not used: its times are of one size",) if settings.profile else ()
    source = source_of(model)
    try:
        proto = opened(model, source)[0]
        if source is not None:
            check_external(proto, source)
        task = _Task(size, values, replace(settings, profile=""), strict, progress or _silent)
        found = _swept(proto, task)
        return replace(found, notes=(*notes, *found.notes))
    except ModelError as e:
        raise e.of(source) from e


@dataclass(frozen=True, slots=True)
class _Task:
    size: str
    values: range | Sequence[int]
    settings: Settings
    strict: frozenset[str]
    tell: Progress


def _swept(proto: ModelProto, task: _Task) -> Sweep:
    size, values = task.size, task.values
    for value in (values[0], values[-1]) if isinstance(values, range) and values else values:
        check_size(size, value)
    ready = prepare(task.settings)
    given = {name: n for name, n in task.settings.dims.items() if name != size}
    dims, absent = without_absent(given, declared_sizes(proto), task.strict)
    options = replace(ready.options, dims=dims)
    plan, told = Run(proto, ready.engine, ready.rules, options, task.tell).survey()
    found = _Surveyor(plan, ready.engine, size, task.tell)
    exact = found.look(values)
    known = found.plans[max(found.plans)][0]
    others = {n: v for n, v in (known.given | known.declared).items() if n != size}
    return Sweep(
        size, options.soc, dict(sorted(others.items())), tuple(sorted(known.declared)), options.bounds,
        found.samples(), found.regions({r.code: r.name for r in ready.rules.rules}), exact, (*absent, *told),
    )  # fmt: skip


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


@dataclass(slots=True)
class _Surveyor:
    """What is planned so far, by value; `known`: every region that was fused, with its scope."""

    plan: Survey
    engine: Engine
    size: str
    tell: Progress
    plans: dict[int, tuple[Sizes, dict[str, Planned]]] = field(
        default_factory=dict[int, tuple[Sizes, dict[str, Planned]]]
    )
    known: dict[Key, Chosen] = field(default_factory=dict[Key, Chosen])

    def look(self, values: range | Sequence[int]) -> bool:
        """Plan at the values; of a range also between neighbours that differ, until none lies between. Whether so."""
        if not values:
            raise UsageError("there is no value", where="sweep()", do="give at least one")
        if not isinstance(values, range):
            for value in values:
                self._add(value)
            return False
        for value in _spread(values):
            self._add(value)
        while between := self._between():
            if len(self.plans) + len(between) > MAX_PLANS:
                return False
            for value in between:
                self._add(value)
        return True

    def _between(self) -> list[int]:
        """The middle of each two neighbours with different answers, if a value lies there."""
        return [a + (b - a) // 2 for a, b in pairwise(sorted(self.plans)) if b - a > 1 and self._differ(a, b)]

    def _add(self, value: int) -> None:
        if value not in self.plans:
            self.tell(f"{self.size}={value}", len(self.plans), 0)
            sizes, planned = self.plan({self.size: value})
            self.plans[value] = sizes, {p.scope.path: p for p in planned}
            self.known |= {(p.scope.path, c.nodes): c for p in planned for c in p.outcome.chosen}

    def _differ(self, a: int, b: int) -> bool:
        def state(key: Key, value: int) -> tuple[bool, str]:
            answer = self.answer(key, value)
            return answer.fuse, answer.code

        return any(state(key, a) != state(key, b) for key in self.known)

    def answer(self, key: Key, value: int) -> Answer:
        """Whether the plan has the region, and what the engine says of its program at that size."""
        sizes, planned = self.plans[value]
        scope, chosen = planned[key[0]], self.known[key]
        judged = judge(Estimate(scope.view, self.engine, sizes), chosen.built, chosen.alone)
        if any(c.nodes == chosen.nodes for c in scope.outcome.chosen):
            return Answer(value, True, "", "", judged.tiling, judged.figures)
        code, message = _why_not(judged, chosen, scope)
        return Answer(value, False, code, message, judged.tiling, judged.figures)

    def samples(self) -> tuple[Sample, ...]:
        """The totals at each value."""
        found: list[Sample] = []
        for value, (_, planned) in sorted(self.plans.items()):
            fused = sum(len(p.outcome.chosen) for p in planned.values())
            found.append(Sample(value, fused, *totals(planned.values())))
        return tuple(found)

    def regions(self, names: Mapping[str, str]) -> tuple[Swept, ...]:
        """Every region in the order of its nodes, those of the main graph first; `names` of rules by code."""
        found: list[Swept] = []
        for (path, nodes), chosen in sorted(self.known.items()):
            scope = next(planned[path] for _, planned in self.plans.values())
            answers = tuple(self.answer((path, nodes), value) for value in sorted(self.plans))
            program = chosen.built.program
            positions = tuple(scope.positions[k] for k in nodes)
            labels = tuple(scope.view.nodes[k].label for k in nodes)
            name, text = names.get(chosen.rules[0], ""), chosen.part[0]
            found.append(Swept(path, name, program.family, chosen.rules, positions, labels, text, answers))
        return tuple(found)


def _spread(values: range) -> list[int]:
    """All values of a short range; of a long one the ends and the powers of two between them."""
    low, high = values[0], values[-1]
    if len(values) <= MAX_ALL:
        return list(values)
    powers = [1 << k for k in range(high.bit_length()) if low < 1 << k < high]
    return [low, *powers, high]


def _why_not(judged: Judged, chosen: Chosen, scope: Planned) -> tuple[str, str]:
    """The engine's no; else what the plan has in its place, or why that was cheaper."""
    if judged.miss is not None:
        return judged.miss.code, judged.miss.message
    inside = set(chosen.nodes)
    if others := [c for c in scope.outcome.chosen if not inside.isdisjoint(c.nodes)]:
        first = scope.view.nodes[others[0].nodes[0]].label
        return "", f"in its place {', '.join(c.rules[0] for c in others)} from {first} on"
    miss = next((m.miss for m in scope.outcome.misses if m.node in inside), None)
    return (miss.code, miss.message) if miss else ("no-gain", "the plan costs less without it")
