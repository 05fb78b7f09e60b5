"""Which fusions of a baseline stopped firing, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ascend_fuse.gate.baseline import Fusion, fusion_of
from ascend_fuse.plan import NearMiss, Plan


@dataclass(frozen=True, slots=True)
class Regression:
    """A fusion that was expected and is none any more. `node`, `code`: of the near miss that says why, "" without."""

    fusion: Fusion
    why: str
    node: str = ""
    code: str = ""

    @property
    def message(self) -> str:
        """`AF202 residual-layer-norm no longer fuses /layer.0/Add … /layer.0/LayerNorm (Add, …): why`."""
        f = self.fusion
        ends = " … ".join(dict.fromkeys((f.nodes[0], f.nodes[-1]))) if f.nodes else "its nodes"
        ops = ", ".join(f"{n} {op}" if n > 1 else op for op, n in f.ops)
        where = f"{f.graph}: " if f.graph else ""
        return f"{', '.join(f.rules)} {f.label} no longer fuses {where}{ends} ({ops}): {self.why}"


@dataclass(frozen=True, slots=True)
class Compared:
    """What of a baseline is lost, and what fuses that it does not expect."""

    lost: tuple[Regression, ...]
    more: tuple[Fusion, ...]


def compare(expected: Sequence[Fusion], plan: Plan) -> Compared:
    """Each expected fusion is there as it was, or inside a larger one of its rules, or under other names; else lost.

    The same nodes under the same rules come first, then what has grown, then the same operators of the same rules in
    the scope: an export that names nodes anew is no regression.
    """
    found = Counter(map(fusion_of, plan.regions))
    same = Counter(expected) & found
    left, free = sorted((Counter(expected) - same).elements()), sorted((found - same).elements())
    left = _without_grown(left, found)
    left = [f for f in _without_renamed(left, free) if not _take_larger(f, free)]
    more = tuple(f for f in free if not any(_holds(f, e) for e in expected))
    reason = _Reason(plan)
    return Compared(tuple(reason.of(f) for f in left), more)


def _holds(larger: Fusion, f: Fusion) -> bool:
    """Whether a fusion has all nodes and rules of another."""
    return larger.graph == f.graph and set(larger.nodes) >= set(f.nodes) and set(larger.rules) >= set(f.rules)


def _without_grown(expected: Iterable[Fusion], found: Iterable[Fusion]) -> list[Fusion]:
    """The expected ones that no fusion holds whole."""
    at: dict[tuple[str, str], list[Fusion]] = defaultdict(list)
    for f in found:
        for name in f.nodes:
            at[f.graph, name].append(f)
    return [e for e in expected if not (e.nodes and any(_holds(f, e) for f in at[e.graph, e.nodes[0]]))]


def _without_renamed(expected: Iterable[Fusion], free: list[Fusion]) -> list[Fusion]:
    """The expected ones without a free fusion of their kind; each that is taken leaves `free`."""
    at: dict[tuple[object, ...], list[Fusion]] = defaultdict(list)
    for f in free:
        at[f.kind].append(f)
    left = [e for e in expected if not (at[e.kind] and at[e.kind].pop(0))]
    free[:] = sorted(f for others in at.values() for f in others)
    return left


def _take_larger(e: Fusion, free: list[Fusion]) -> bool:
    """Whether a free fusion of the scope has the rules and the operators and more of them, under other names."""
    for f in free:
        if f.graph == e.graph and set(f.rules) >= set(e.rules) and Counter(dict(f.ops)) >= Counter(dict(e.ops)):
            free.remove(f)
            return True
    return False


class _Reason:
    """Why a fusion of the baseline is none: its rule, its nodes' near misses, or what took its nodes."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.misses = _by_place(plan.misses)
        self.passed = _by_place(plan.passed)
        self.fused = {(r.graph, name): r.rules for r in plan.regions for name in r.names}

    def of(self, f: Fusion) -> Regression:
        """The nearest reason that the plan has."""
        places = [(f.graph, name) for name in f.nodes]
        known = [m for place in places for m in self.misses.get(place, ())]
        known += [m for place in places for m in self.passed.get(place, ()) if m.miss.rule in f.rules]
        ours = sorted(known, key=lambda m: (m.miss.rule not in f.rules, m.miss.code != "rule-ignored"))
        if gone := self._gone(f):
            return Regression(f, gone, *_at(ours))
        if ours:
            m = ours[0]
            rule = f" ({m.miss.rule})" if m.miss.rule else ""
            now = self._now(f)
            told = f"{m.name}: {m.miss.code}{rule}: {m.miss.message}{now and f'; {now}'}"
            return Regression(f, told, *_at(ours))
        return Regression(f, self._now(f) or self._absent(f))

    def _gone(self, f: Fusion) -> str:
        """What became of the first of its rules that is not in force, "" when all are."""
        code = next((c for c in f.rules if c not in self.plan.rule_names), "")
        if not code:
            return ""
        name = f.label if code == f.rules[0] else ""
        if by := _matching(code, name, self.plan.ignore):
            return f"{code} is ignored (--ignore {by})"
        if self.plan.select and not _matching(code, name, self.plan.select):
            return f"{code} is not selected (--select {', '.join(self.plan.select)})"
        return f"there is no rule {code} any more"

    def _now(self, f: Fusion) -> str:
        """Which fusions have its nodes, "" when none does."""
        others = [self.fused[f.graph, name] for name in f.nodes if (f.graph, name) in self.fused]
        told = "; ".join(sorted({", ".join(rules) for rules in others}))
        count = "all" if len(others) == len(f.nodes) else "some"
        return f"{count} of its nodes are in fusions by {told} now" if told else ""

    def _absent(self, f: Fusion) -> str:
        near = next(
            (m for m in (*self.plan.misses, *self.plan.passed) if m.graph == f.graph and m.miss.rule in f.rules), None
        )
        if near is not None:
            told = f"{near.name}: {near.miss.code}: {near.miss.message}"
            return f"none of its nodes is launched any more; nearest is {told}"
        return "none of its nodes is launched any more: if the export has changed, run with --update-baseline"


def _by_place(misses: Iterable[NearMiss]) -> Mapping[tuple[str, str], list[NearMiss]]:
    found: dict[tuple[str, str], list[NearMiss]] = defaultdict(list)
    for m in misses:
        found[m.graph, m.name].append(m)
    return found


def _at(misses: Sequence[NearMiss]) -> tuple[str, str]:
    return (misses[0].name, misses[0].miss.code) if misses else ("", "")


def _matching(code: str, name: str, entries: Iterable[str]) -> str:
    """The first entry of --select or --ignore that means the rule, "" when none does."""
    return next((e for e in entries if fnmatchcase(code, e.upper()) or (name and name == e.lower())), "")
