"""From a view to the regions worth fusing: seed, grow, judge. Pure: nothing is edited here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_fuse.engine import Engine, Part
from ascend_fuse.estimate import Estimate, sized
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import View
from ascend_fuse.plan import Figures, NearMiss, Tiling, Totals
from ascend_fuse.reason import Figure, Miss
from ascend_fuse.region.build import Built
from ascend_fuse.region.grow import Grower, Growth, Profile
from ascend_fuse.region.step import Step, idiom, order, single
from ascend_fuse.rule.find import find
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.rule.match import Match
from ascend_fuse.verdict import refusal, tiling

CHAIN = "AF101"
PRODUCTS = frozenset("MatMul Gemm Conv ConvTranspose MatMulInteger ConvInteger".split())


@dataclass(frozen=True, slots=True)
class Chosen:
    """A region that pays: its steps, program, tiling and figures; `rules` begins with the one that names it."""

    steps: tuple[Step, ...]
    built: Built
    part: Part
    rules: tuple[str, ...]
    tiling: Tiling
    figures: Figures

    @property
    def nodes(self) -> tuple[int, ...]:
        """Node indices, ascending."""
        return tuple(sorted(n.index for s in self.steps for n in s.nodes))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What planning found in one graph."""

    chosen: tuple[Chosen, ...]
    misses: tuple[NearMiss, ...]
    before: Totals
    after: Totals


class Planner:
    """Plans one view. `launches`: of each node; `values`: what shapes and constants say of small integer tensors."""

    def __init__(
        self,
        view: View,
        launches: Sequence[int],
        values: Mapping[str, ShapeValue],
        rules: RuleSet,
        engine: Engine,
        sizes: Mapping[str, int],
    ) -> None:
        self.view = view
        self.launches = launches
        self.rules = rules
        self.engine = engine
        self.sizes = sizes
        self.chain = any(r.code == CHAIN for r in rules.rules)
        self.anchors, near_anchors = find(view, rules, "anchor")
        idioms, near_idioms = find(view, rules, "idiom")
        self.near = (*near_idioms, *near_anchors)
        self.grower = Grower(view, self._steps(idioms), values)
        self.estimate = Estimate(view, engine, sizes)
        self.chosen: list[Chosen] = []
        self.reasons: dict[int, Miss] = {}
        self.beyond: dict[int, Miss] = {}  # why a step did not join the chosen region beside it

    def _steps(self, idioms: Sequence[Match]) -> list[Step]:
        inside = {n: m for m in idioms for n in m.nodes}
        steps = [idiom(self.view, m, m.rule.code, m.rule.instruction) for m in idioms]
        for node in self.view.nodes:
            if node.index not in inside and node.op != "Constant" and node.outputs:
                steps.append(single(node))
        return steps

    def run(self) -> Outcome:
        """Regions around anchors first, then chains of what is left; every other launch gets its reason."""
        self._gate_reductions()
        for match in sorted(self.anchors, key=lambda m: m.nodes):
            self._try(self.grower.steps[match.nodes[-1]])
        for node in self.view.nodes:
            step = self.grower.steps.get(node.index)
            if step is not None and step.index == node.index and self._starts_chain(step):
                self._try(step, chain=True)
        return self._outcome()

    def _gate_reductions(self) -> None:
        """A reduction belongs to a region only where a chosen rule names it."""
        covered = {n for m in self.anchors for n in m.nodes}
        dropped, _ = find(self.view, RuleSet(self.rules.dropped), "anchor") if self.rules.dropped else ((), ())
        codes = {n: m.rule.code for m in dropped for n in m.nodes}
        for step in dict.fromkeys(self.grower.steps.values()):
            if step.index in covered or not self.launches[step.index]:
                continue
            profile = self.grower.profile(step)
            if isinstance(profile, Miss) or not profile.trait.reduces:
                continue
            self.grower.free.discard(step.index)
            code = codes.get(step.index, "none")
            why = "no rule covers" if code == "none" else f"rule {code} was not chosen, which covers"
            self.reasons[step.index] = Miss(
                "rule-ignored", f"{why} {step.node.op}", step.index, {"rule": code}, codes.get(step.index, "")
            )

    def _starts_chain(self, step: Step) -> bool:
        if step.index not in self.grower.free or not self.launches[step.index]:
            return False
        profile = self.grower.profile(step)
        if isinstance(profile, Miss):
            return False
        t = profile.trait
        return not (t.reduces or t.moves or t.view) and step.index not in self.reasons

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
        steps, built = closed
        if sum(self.launches[n.index] for s in steps for n in s.nodes) < 2:
            self._refuse([seed], self._alone(seed, growth))
            return
        if self._judge(steps, built, chain and not self.chain):
            for index, miss in growth.refused.items():
                if miss.code != "nothing-to-join":
                    self.beyond.setdefault(index, miss)

    def _alone(self, seed: Step, growth: Growth) -> Miss:
        """Why nothing joined: what the region beside it said of it, else the nearest neighbour and its own reason.

        A view is named only where no neighbour is launched: it is not what stands in the way.
        """
        if seed.index in self.beyond:
            return self.beyond[seed.index]
        near = sorted(growth.refused.items(), key=lambda item: abs(item[0] - seed.index))
        if not near:
            return Miss("nothing-to-join", "no neighbour", seed.index, {"neighbour": "", "why": "none"})
        launched = [item for item in near if self.launches[item[0]]]
        index, miss = (launched or near)[0]
        if miss.code == "nothing-to-join":  # not free: it has a region, or a reason of its own
            miss = self.reasons.get(index, miss)
        label = self.view.nodes[index].label
        figures: dict[str, Figure] = {"neighbour": label, "why": miss.code}
        message = f"its nearest neighbour {label} cannot join: {miss.message}"
        if launched and all(self.view.nodes[k].op in PRODUCTS for k, _ in launched):
            message = f"its only neighbour is a product, {label}: products take no epilogue in this version"
            if len(launched) > 1:
                message = f"its neighbours are products, {label} the nearest: they take no epilogue in this version"
        return Miss("nothing-to-join", message, seed.index, figures)

    def _refuse(self, steps: Sequence[Step], miss: Miss) -> None:
        for step in steps:
            self.reasons.setdefault(step.index, Miss(miss.code, miss.message, step.index, miss.figures, miss.rule))

    def _parts(self, steps: Sequence[Step]) -> list[Part]:
        """The programs of the nodes as they are launched today, an idiom's one by one."""
        parts: list[Part] = []
        for step in order(steps):
            for node in step.nodes:
                if not self.launches[node.index]:
                    continue
                alone = self.grower.profile(step) if len(step.nodes) == 1 else self._single(node.index)
                if isinstance(alone, Profile):
                    parts.append(sized(alone.alone, self.sizes))
        return parts

    def _single(self, index: int) -> Profile | Miss:
        return self.grower.plain(single(self.view.nodes[index]))

    def _judge(self, steps: Sequence[Step], built: Built, ignored: bool) -> bool:
        """Choose the region if it pays; an `ignored` one is refused, yet kept from others as if it were chosen."""
        part = sized(built, self.sizes)
        parts = self._parts(steps)
        verdict = self.engine.judge(part, parts)
        if not verdict.fuse:
            self._refuse(steps, refusal(verdict))
            return False
        nodes = {n.index for s in steps for n in s.nodes}
        self.grower.free -= nodes
        self.grower.reach.claim(nodes)
        if ignored:
            text = f"rule {CHAIN} was not chosen, which fuses it with its neighbours"
            self._refuse(steps, Miss("rule-ignored", text, -1, {"rule": CHAIN}, CHAIN))
            return False
        before = Totals(len(parts), int(verdict.before_bytes), verdict.before_us)
        after = Totals(1, int(verdict.after_bytes), verdict.after_us)
        figures = Figures(before, after, verdict.assumed_share, verdict.cost.bound)
        chosen = Chosen(tuple(order(steps)), built, part, self._named(steps, nodes), tiling(verdict), figures)
        self.chosen.append(chosen)
        return True

    def _named(self, steps: Sequence[Step], nodes: set[int]) -> tuple[str, ...]:
        """The anchors inside, the largest first, then the idioms; a chain when there is no anchor."""
        anchors = [m for m in self.anchors if nodes.issuperset(m.nodes)]
        anchors.sort(key=lambda m: (-len(m.nodes), m.nodes))
        first = [m.rule.code for m in anchors] or [CHAIN]
        return tuple(dict.fromkeys([*first, *(s.rule for s in order(steps) if s.rule)]))

    def _outcome(self) -> Outcome:
        fused = {n for c in self.chosen for n in c.nodes}
        before = after = Totals()
        misses: list[NearMiss] = []
        costs: dict[int, Totals] = {}
        for c in self.chosen:
            before, after = before + c.figures.before, after + c.figures.after
        for node in self.view.nodes:
            if node.index in fused or not self.launches[node.index]:
                continue
            cost = costs[node.index] = self._cost(node.index)
            before, after = before + cost, after + cost
            step = self.grower.steps.get(node.index)
            if step is not None and step.index == node.index:
                misses.append(self._told(node.index, self._reason(step), costs))
        told = {(m.node, m.miss.code) for m in misses}
        misses += [
            self._told(m.node, m, costs) for m in self.near if m.node not in fused and (m.node, m.code) not in told
        ]
        chosen = sorted(self.chosen, key=lambda c: c.nodes)
        return Outcome(tuple(chosen), tuple(sorted(misses, key=lambda m: m.node)), before, after)

    def _told(self, index: int, miss: Miss, costs: Mapping[int, Totals]) -> NearMiss:
        """The miss with what its node costs, an idiom's last node standing for all of them."""
        node = self.view.nodes[index]
        step = self.grower.steps.get(index)
        nodes = step.nodes if step is not None and step.index == index else (node,)
        cost = sum((costs[n.index] for n in nodes if n.index in costs), Totals())
        return NearMiss("", index, node.label, node.op, miss, cost)

    def _reason(self, step: Step) -> Miss:
        """Its own reason, the verdict of the region that it was in, or why no region took it."""
        profile = self.grower.profile(step)
        if isinstance(profile, Miss):
            return profile
        if step.index in self.reasons:
            return self.reasons[step.index]
        growth = self.grower.grow(step) if step.index in self.grower.free else None
        if growth is not None:
            return self._alone(step, growth)
        return Miss("nothing-to-join", "no region took it", step.index, {"neighbour": "", "why": "none"})

    def _cost(self, index: int) -> Totals:
        step = self.grower.steps.get(index)
        if step is not None:
            profile = self.grower.profile(step) if len(step.nodes) == 1 else self._single(index)
            if isinstance(profile, Profile):
                cost = self.estimate.program(profile.alone)
                if cost is not None:
                    return cost
        return self.estimate.opaque(self.view.nodes[index], self.launches[index])
