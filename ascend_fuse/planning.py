"""From a view to the regions worth fusing: seed, grow, judge. Pure: nothing is edited here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from ascend_fuse.account import Outcome, account
from ascend_fuse.blame import blamed
from ascend_fuse.candidate import Candidate
from ascend_fuse.choice import choose
from ascend_fuse.engine import Engine, Part
from ascend_fuse.epilogue import attach, take_from_row, turns
from ascend_fuse.error import UsageError
from ascend_fuse.estimate import Estimate
from ascend_fuse.graph.size import Sizes
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import View
from ascend_fuse.join import join
from ascend_fuse.moving import MOVEMENT, cheaper, is_movement, move, moves
from ascend_fuse.neighbour import alone
from ascend_fuse.plan import Figures, ProductTiling, Tiling, Totals
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Built
from ascend_fuse.region.grow import Grower, Growth
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step, order, single
from ascend_fuse.rule.find import find
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.rule.match import Match
from ascend_fuse.seed import FAMILIES, seed_of, steps_of
from ascend_fuse.verdict import Alone, Judged, candidate, judge, unsupported
from ascend_fuse.wanted import take

CHAIN = "AF101"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A region that pays: its steps, program, tiling and figures; `rules` begins with the one that names it.

    `alone`: what is launched today in its place.
    """

    steps: tuple[Step, ...]
    built: Built
    alone: tuple[Alone, ...]
    part: Part
    rules: tuple[str, ...]
    tiling: Tiling | ProductTiling
    figures: Figures

    @property
    def nodes(self) -> tuple[int, ...]:
        """Node indices, ascending."""
        return tuple(sorted(n.index for s in self.steps for n in s.nodes))


class Planner:
    """Plans one view. `launches`: of each node; `values`: what shapes and constants say of small integer tensors;
    `measured`: µs of a launch by the node's name.
    """

    def __init__(
        self,
        view: View,
        launches: Sequence[int],
        values: Mapping[str, ShapeValue],
        rules: RuleSet,
        engine: Engine,
        sizes: Mapping[str, int],
        measured: Mapping[str, float] | None = None,
    ) -> None:
        self.view = view
        self.launches = launches
        self.rules = rules
        self.engine = engine
        self.sizes = sizes
        self.chain = any(r.code == CHAIN for r in rules.rules)
        self.movement = any(r.code == MOVEMENT for r in rules.rules)
        self.anchors, near_anchors = find(view, rules, "anchor")
        self.anchor_at = {n: m for m in self.anchors for n in m.nodes}  # matches of a role share no nodes
        idioms, near_idioms = find(view, rules, "idiom")
        self.near = (*near_idioms, *near_anchors)
        self.estimate = Estimate(view, engine, sizes, measured)
        self.grower = Grower(view, steps_of(view, idioms), values, partial(unsupported, self.estimate))
        self.seedable: frozenset[int] = frozenset()  # nodes that were free when the search began
        self.chosen: list[Chosen] = []
        self.candidates: dict[Candidate, None] = {}  # in the order in which they were judged, each once
        self.reasons: dict[int, Miss] = {}
        self.beyond: dict[int, Miss] = {}  # why a step did not join the chosen region beside it

    def run(self, only: Mapping[frozenset[int], str] | None = None) -> Outcome:
        """Regions in the best order of families where they touch; every launch that is left gets its reason.

        `only`: the nodes of the regions that a saved plan wants, with their programs. Each is taken whole or not at
        all, nothing else is, and only their nodes have misses.
        """
        if only is None:
            self.search(FAMILIES)
            choose(self)
            if self.movement:
                move(self)
            join(self)
            return account(self, self.view.nodes)
        for nodes, program in only.items():
            take(self, nodes, program)
        return account(self, [self.view.nodes[k] for k in sorted({k for nodes in only for k in nodes})])

    def search(self, order: Sequence[str]) -> None:
        """One greedy search over the whole graph, family by family."""
        self._gate_reductions()
        self.seedable = frozenset(self.grower.free)
        self.greedy(order, range(len(self.view.nodes)))

    def greedy(self, order: Sequence[str], nodes: Sequence[int]) -> None:
        """Regions around the anchors in the nodes (ascending) by family, chains behind the elementwise ones."""
        anchors = {m.nodes: m for k in nodes if (m := self.anchor_at.get(k)) is not None}
        for family in order:
            for match in sorted((m for m in anchors.values() if m.rule.family == family), key=lambda m: m.nodes):
                seed = seed_of(match, self.view, self.grower)
                if family == "matmul":
                    attach(self, seed)
                else:
                    self._try(seed)
            for k in nodes if family in ("elementwise", "transform") else ():
                step = self.grower.steps.get(k)
                if step is not None and step.index == k and self._starts(step, family):
                    self._try(step, chain=True)

    def _gate_reductions(self) -> None:
        """A reduction or a product belongs to a region only where a chosen rule names it."""
        covered = {n for m in self.anchors for n in m.nodes}
        dropped, _ = (
            find(self.view, RuleSet(self.rules.dropped), "anchor", near=False) if self.rules.dropped else ((), ())
        )
        codes = {n: m.rule.code for m in dropped for n in m.nodes}
        for step in dict.fromkeys(self.grower.steps.values()):
            if step.index in covered or not self.launches[step.index]:
                continue
            profile = self.grower.profile(step)
            if isinstance(profile, Miss) or not (profile.trait.reduces or profile.trait.product):
                continue
            self.grower.free.discard(step.index)
            code = codes.get(step.index, "none")
            why = "no rule covers" if code == "none" else f"rule {code} was not chosen, which covers"
            self.reasons[step.index] = Miss(
                "rule-ignored", f"{why} {step.node.op}", step.index, {"rule": code}, codes.get(step.index, "")
            )

    def _starts(self, step: Step, family: str) -> bool:
        if step.index not in self.grower.free or not self.launches[step.index] or step.index in self.reasons:
            return False
        return is_movement(self, step.index) if family == "transform" else self.is_elementwise(step)

    def is_elementwise(self, step: Step) -> bool:
        """Whether it may be a step of a chain."""
        profile = self.grower.profile(step)
        if isinstance(profile, Miss):
            return False
        t = profile.trait
        return not (t.reduces or t.moves or t.view or t.product or t.turns)

    def _try(self, seed: Step, chain: bool = False) -> None:
        """Grow and judge the region around the seed; a `chain` is not taken where its rule was not chosen."""
        if not self.grower.free.issuperset(n.index for n in seed.nodes):
            return
        profile = self.grower.profile(seed)
        if isinstance(profile, Miss):
            self.reasons[seed.index] = profile
            return
        growth = self.grower.grow(seed)
        closed = self.grower.close(growth.steps, growth.refused)
        if isinstance(closed, Miss):
            self._refuse(growth.steps, closed)
            return
        steps, built = cheaper(self, *closed, growth.refused)
        if self.launched(steps) < 2:
            self._refuse([seed], self.alone(seed, growth))
            return
        if built.program.family == "rowwise" and self._given_away(steps, built):
            return
        free = len(self.grower.free)
        if self.judge(steps, built, chain and not (self.movement if moves(self, steps) else self.chain)):
            for index, miss in growth.refused.items():
                other = self.grower.steps[index]
                later = turns(self, other) and not self.grower.turning
                if miss.code != "nothing-to-join" and not self.is_product(other) and not later:
                    self.beyond.setdefault(index, miss)
        elif seed.index not in self.reasons and len(self.grower.free) < free:  # without what was to blame
            self._try(seed, chain=True)

    def _given_away(self, steps: Sequence[Step], built: Built) -> bool:
        """Whether a product before it took a part of a region of rows that pays."""
        if not any(m.rule.family == "matmul" for m in self.anchors):
            return False
        verdict = self.verdict(steps, built)
        return isinstance(verdict, Judged) and take_from_row(self, steps, verdict.after_us)

    def is_product(self, step: Step) -> bool:
        profile = self.grower.profile(step)
        return isinstance(profile, Profile) and profile.trait.product

    def alone(self, seed: Step, growth: Growth) -> Miss:
        """Why nothing joined the seed."""
        return alone(self, seed, growth)

    def _refuse(self, steps: Sequence[Step], miss: Miss) -> None:
        for step in steps:
            self.reasons.setdefault(step.index, Miss(miss.code, miss.message, step.index, miss.figures, miss.rule))

    def launched_alone(self, steps: Sequence[Step]) -> tuple[Alone, ...]:
        """The nodes as they are launched today, an idiom's one by one."""
        found: list[Alone] = []
        for node in (n for step in order(steps) for n in step.nodes if self.launches[n.index]):
            own = self.profile_of(node.index)
            if isinstance(own, Profile):
                found.append(Alone(node.label, own.alone, self.estimate.measured_us(node)))
        return tuple(found)

    def profile_of(self, index: int) -> Profile | Miss:
        """What a node is by itself, also inside an idiom, to a library's kernel as well."""
        step = self.grower.steps[index]
        found = self.grower.profile(step) if len(step.nodes) == 1 else None
        return found if isinstance(found, Profile) else self.grower.plain(single(self.view.nodes[index]))

    def verdict(self, steps: Sequence[Step], built: Built) -> Judged | Miss:
        """The engine's answer for a region that pays, else why not.

        Raises UsageError when sizes that the user gave exceed what the engine counts.
        """
        alone = self.launched_alone(steps)
        try:
            found = judge(self.estimate, built, alone)
        except UsageError as e:
            if isinstance(self.sizes, Sizes) and self.sizes.given:  # else the model has such shapes
                raise
            return Miss("shape-mismatch", e.what)
        nodes = tuple(sorted(n.index for s in steps for n in s.nodes))
        names = tuple(self.view.nodes[k].label for k in nodes)
        self.candidates[candidate(self.estimate, nodes, names, built, alone)] = None
        return found if found.miss is None else found.miss

    def launched(self, steps: Sequence[Step]) -> int:
        """How many launches the steps are now."""
        return sum(self.launches[n.index] for s in steps for n in s.nodes)

    def cost(self, index: int) -> Totals:
        """What a node costs on its own."""
        profile = self.profile_of(index) if index in self.grower.steps else None
        cost = self.estimate.program(profile.alone) if isinstance(profile, Profile) else None
        node = self.view.nodes[index]
        return self.estimate.own(node, cost or self.estimate.opaque(node, self.launches[index]))

    def judge(self, steps: Sequence[Step], built: Built, ignored: bool) -> bool:
        """Choose the region if it pays; an `ignored` one is refused, yet kept from others as if it were chosen."""
        verdict = self.verdict(steps, built)
        if isinstance(verdict, Miss):
            self._refuse(blamed(self.grower, steps, verdict), verdict)
            return False
        if ignored:
            self._claim(steps)
            text = f"rule {CHAIN} was not chosen, which fuses it with its neighbours"
            self._refuse(steps, Miss("rule-ignored", text, -1, {"rule": CHAIN}, CHAIN))
            return False
        self.choose(steps, built, verdict)
        return True

    def choose(self, steps: Sequence[Step], built: Built, verdict: Judged) -> None:
        """Take the region."""
        nodes = self._claim(steps)
        part, names = self.estimate.part(built), self._named(steps, nodes)
        figures = verdict.tiling, verdict.figures
        self.chosen.append(Chosen(tuple(order(steps)), built, verdict.alone, part, names, *figures))

    def _claim(self, steps: Sequence[Step]) -> set[int]:
        nodes = {n.index for s in steps for n in s.nodes}
        self.grower.free -= nodes
        self.grower.reach.claim(nodes)
        return nodes

    def inside(self, nodes: Set[int]) -> list[Match]:
        """The anchors that lie in the nodes with all of theirs."""
        touched = {m.nodes: m for n in nodes if (m := self.anchor_at.get(n)) is not None}
        return [m for m in touched.values() if nodes >= set(m.nodes)]

    def _named(self, steps: Sequence[Step], nodes: set[int]) -> tuple[str, ...]:
        """The anchors inside, those of rows and the largest first, then the idioms; a chain when there is no anchor."""
        anchors = self.inside(nodes)
        anchors.sort(key=lambda m: (m.rule.family == "elementwise", -len(m.nodes), m.nodes))
        last = [MOVEMENT] if moves(self, steps) else []
        first = [m.rule.code for m in anchors] or last or [CHAIN]
        return tuple(dict.fromkeys([*first, *(s.rule for s in order(steps) if s.rule), *last]))
