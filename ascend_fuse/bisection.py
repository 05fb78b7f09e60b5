"""Which fusions or cleanups break a model: parts of its plan are applied and judged (docs/design/0012)."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from ascend_fuse.config import Settings, check_settings
from ascend_fuse.delivery import Delivery, check_verifiable
from ascend_fuse.emit.inline import is_fused
from ascend_fuse.engine import is_file
from ascend_fuse.error import UsageError
from ascend_fuse.graph.load import read_model
from ascend_fuse.oracle import Opinion, Oracle
from ascend_fuse.plan import Cleanup, Plan, Region
from ascend_fuse.preparation import Preparation, prepare
from ascend_fuse.review import Review
from ascend_fuse.run import Progress
from ascend_fuse.search import MAX_CULPRITS, Answer, Culprit, Found, Search, unsteady
from ascend_fuse.task import Task, carry_out

WHERE = "bisect"


@dataclass(frozen=True, slots=True)
class Tried:
    """One model that was judged: what was applied of the plan, and the opinion."""

    regions: int
    cleanups: int
    answer: Answer
    why: str


@dataclass(frozen=True, slots=True)
class Blamed:
    """Regions or cleanups that break the model together. `is_minimal`: without any one of them it is not broken."""

    regions: tuple[Region, ...]
    cleanups: tuple[Cleanup, ...]
    is_minimal: bool
    why: str

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that name them."""
        named = [r.rules[0] for r in self.regions] + [c.rule for c in self.cleanups]
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True)
class Bisection:
    """What was found. `unfused`: the model is broken though nothing of the plan is applied, with the reason.

    `is_complete`: without all that is blamed it is not broken. `ignored`: rules without which it was planned again and
    judged, `ignoring` that opinion.
    """

    model: str
    plan: Plan
    blamed: tuple[Blamed, ...]
    tried: tuple[Tried, ...]
    unfused: str = ""
    is_complete: bool = True
    ignored: tuple[str, ...] = ()
    ignoring: Opinion | None = None

    @property
    def is_broken(self) -> bool:
        """Whether anything is wrong with the fused model."""
        return bool(self.blamed or self.unfused)

    @property
    def remedy(self) -> Plan:
        """The plan without all that is blamed."""
        regions = {id(r) for b in self.blamed for r in b.regions}
        cleanups = [c for b in self.blamed for c in b.cleanups]
        return replace(
            self.plan,
            regions=tuple(r for r in self.plan.regions if id(r) not in regions),
            cleanups=tuple(c for c in self.plan.cleanups if c not in cleanups),
        )


def bisect(
    model: str | os.PathLike[str],
    oracle: Oracle,
    settings: Settings | None = None,
    *,
    most: int = MAX_CULPRITS,
    strict: frozenset[str] | None = None,
    is_steady: bool = False,
    progress: Progress | None = None,
) -> Bisection:
    """Find what of the model's plan the oracle objects to; up to `most` culprits that have nothing in common.

    The oracle gets paths of models beside the original, first that of the original itself. Unless it `is_steady`, what
    decides is asked twice. `strict`: the sizes that the model has to have, None for all. Raises UsageError when the
    oracle objects to the original, cannot tell about the fused model, or answers differently about the same model; and
    what `optimize` raises.
    """
    settings = settings or Settings()
    check_settings(settings, "bisect()")
    source = check_verifiable(Path(model))
    if is_fused(read_model(source)):
        do = "give the original, or what `ascend-fuse inline` makes of it"
        raise UsageError("the model is fused already", where=str(source), do=do)
    bench = _Bench(source, replace(settings, verify=False), oracle, progress or _silent)
    with bench.probing():
        return bench.bisect(strict, most, is_steady)


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


class _Bench:
    """Writes models with parts of the plan under a temporary name, beside the original, and has them judged."""

    def __init__(self, source: Path, settings: Settings, oracle: Oracle, tell: Progress) -> None:
        self.source, self.settings, self.oracle, self.tell = source, settings, oracle, tell
        self.probe = source.parent / f".{source.name[:40]}.{os.getpid()}.bisect.onnx"
        self.tried: list[Tried] = []
        self.reasons: dict[tuple[tuple[int, ...], tuple[int, ...]], str] = {}  # by regions and cleanups

    @contextmanager
    def probing(self) -> Generator[None]:
        """The temporary model is gone afterwards."""
        try:
            yield
        finally:
            with suppress(OSError):
                self.probe.unlink(missing_ok=True)

    def bisect(self, strict: frozenset[str] | None, most: int, is_steady: bool) -> Bisection:
        self._check_original()
        plan, ready = self._planned(strict)
        whole = _Parts(plan, ready)
        n, m = len(plan.regions), len(plan.cleanups)
        opinion = self._judge(whole, range(n), range(m))
        if opinion.answer is Answer.SKIP:
            self._cannot_tell("the fused model", opinion)
        if opinion.answer is Answer.GOOD:
            return Bisection(str(self.source), plan, (), tuple(self.tried))
        bare = self._judge(whole, (), ()) if n or m else opinion
        if bare.answer is Answer.SKIP:
            self._cannot_tell("the model with nothing fused", bare)
        if bare.answer is Answer.BAD:
            return Bisection(str(self.source), plan, (), tuple(self.tried), unfused=bare.why)
        cleanups = self._search(whole, m, lambda found: ((), found), most, is_steady)
        kept = sorted(set(range(m)) - {e for c in cleanups.culprits for e in c.elements})
        regions = Found((), False)
        if cleanups.is_complete:
            known = Answer.BAD if n and not cleanups.culprits else None  # that was the first model
            regions = self._search(whole, n, lambda found: (found, kept), most, is_steady, known)
        blamed = (
            *(self._blamed(whole, c, (), c.elements) for c in cleanups.culprits),
            *(self._blamed(whole, c, c.elements, kept) for c in regions.culprits),
        )
        if not blamed:
            raise unsteady(Answer.BAD, Answer.GOOD)
        result = Bisection(str(self.source), plan, blamed, (), is_complete=regions.is_complete)
        return self._without_rules(result, strict)

    def _check_original(self) -> None:
        opinion = self.oracle(self.source)
        if opinion.answer is Answer.GOOD:
            return
        what = "the original is not good itself" if opinion.answer is Answer.BAD else "the original cannot be judged"
        do = "nothing that is fused is to blame: correct the evaluation, its limits or inputs"
        raise UsageError(f"{what}: {opinion.why}", where=str(self.source), do=do)

    def _planned(self, strict: frozenset[str] | None) -> tuple[Plan, Preparation]:
        """The plan, and what applies parts of it."""
        self.tell("plan", 0, 0)
        plan = carry_out(self.source, Task(self.settings, Delivery(self.source, None), strict=strict)).plan
        soc = self.settings.soc if is_file(self.settings.soc) else ""
        same = replace(Review(plan).settings(soc), rules=self.settings.rules, profile=self.settings.profile)
        return plan, prepare(same)

    def _judge(self, whole: _Parts, regions: Sequence[int], cleanups: Sequence[int], left: int = 1) -> Opinion:
        """What the oracle says of the model with these parts of the plan."""
        self.tell(f"{len(regions)} fusions, {len(cleanups)} cleanups", len(self.tried), len(self.tried) + left)
        carry_out(self.source, whole.task(self.settings, regions, cleanups, self._delivery()), ready=whole.ready)
        opinion = self._ask(len(regions), len(cleanups))
        self.reasons[tuple(regions), tuple(cleanups)] = opinion.why
        return opinion

    def _delivery(self) -> Delivery:
        return Delivery(self.source, self.probe)

    def _ask(self, regions: int, cleanups: int) -> Opinion:
        opinion = self.oracle(self.probe)
        opinion = Opinion(opinion.answer, opinion.why.replace(str(self.probe), "the model"))
        self.tried.append(Tried(regions, cleanups, opinion.answer, opinion.why))
        return opinion

    def _search(
        self,
        whole: _Parts,
        count: int,
        parts: Callable[[Sequence[int]], tuple[Sequence[int], Sequence[int]]],
        most: int,
        is_steady: bool,
        known: Answer | None = None,
    ) -> Found:
        """The culprits among so many elements, each of which stands for parts of the plan."""
        left = [1]

        def hear(tests: int) -> None:
            left[0] = tests

        def test(elements: frozenset[int]) -> Answer:
            return self._judge(whole, *parts(sorted(elements)), left[0]).answer

        search = Search(test, hear)
        search.learn((), Answer.GOOD)
        if known is not None:
            search.learn(range(count), known)
        found = search.find(range(count), most)
        if found.culprits and not is_steady:
            blamed = {e for c in found.culprits for e in c.elements}
            search.confirm(found.culprits[0].elements)
            search.confirm([e for e in range(count) if e not in blamed])
        return found

    def _blamed(self, whole: _Parts, culprit: Culprit, regions: Sequence[int], cleanups: Sequence[int]) -> Blamed:
        removed = () if regions else tuple(whole.plan.cleanups[k] for k in cleanups)
        why = self.reasons[tuple(regions), tuple(cleanups)]
        return Blamed(tuple(whole.plan.regions[k] for k in regions), removed, culprit.is_minimal, why)

    def _without_rules(self, found: Bisection, strict: frozenset[str] | None) -> Bisection:
        """With what the oracle says when the first rule of each culprit is ignored."""
        rules = tuple(dict.fromkeys(b.rules[0] for b in found.blamed))
        settings = replace(self.settings, ignore=(*self.settings.ignore, *rules))
        plan = carry_out(self.source, Task(settings, self._delivery(), strict=strict)).plan
        opinion = self._ask(len(plan.regions), len(plan.cleanups))
        return replace(found, tried=tuple(self.tried), ignored=rules, ignoring=opinion)

    def _cannot_tell(self, what: str, opinion: Opinion) -> NoReturn:
        do = "let it end with 0 or another code than 125 on that model"
        raise UsageError(f"the evaluation cannot tell about {what}: {opinion.why}", where=str(self.source), do=do)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A plan of which parts are applied."""

    plan: Plan
    ready: Preparation

    def task(self, settings: Settings, regions: Sequence[int], cleanups: Sequence[int], delivery: Delivery) -> Task:
        """Fuse these alone."""
        part = replace(
            self.plan, regions=tuple(self.plan.regions[k] for k in regions),
            cleanups=tuple(self.plan.cleanups[k] for k in cleanups),
        )  # fmt: skip
        return Task(settings, delivery, Review(part))
