"""Matching of one rule at one node: backtracking from the pattern's last output to its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Figure, Miss
from ascend_fuse.rule.load import Rule
from ascend_fuse.rule.pattern import Pattern, PatternNode
from ascend_fuse.rule.predicate import Site, check, effective
from ascend_fuse.rule.tell import PLAIN

MAX_STEPS = 4000  # goals tried at one node; no pattern of ours comes near


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern stands: `nodes` ascending (no Constant nodes), `inputs` pattern input → graph value.

    An omitted optional operand is missing from `inputs`; constants fixed by a `value` condition are in it.
    """

    rule: Rule
    pattern: Pattern
    nodes: tuple[int, ...]
    inputs: Mapping[str, str]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A near miss: how many of the pattern's nodes fitted, how many checks failed, where they stand."""

    miss: Miss
    nodes: frozenset[int]
    faults: int

    @property
    def order(self) -> tuple[int, int]:
        """Ascending from the nearest."""
        return (-len(self.nodes), self.faults)


Goal = tuple[str, str]  # pattern value, graph value


class _State(NamedTuple):  # made at each step: a tuple is cheaper than a dataclass
    bound: dict[str, str]
    placed: dict[int, int]
    faults: tuple[Miss, ...] = ()


def match_at(rule: Rule, view: View, node: int) -> Match | Miss | None:
    """The rule's largest match whose last output `node` makes; a Miss when half of a pattern fitted."""
    best: Match | None = None
    near: Near | None = None
    for pattern in rule.patterns:
        found = match_pattern(rule, pattern, view, node)
        if isinstance(found, Match):
            best = found if best is None or len(found.nodes) > len(best.nodes) else best
        elif found is not None:
            near = found if near is None or found.order < near.order else near
    return best or (near.miss if near else None)


def match_pattern(rule: Rule, pattern: Pattern, view: View, node: int) -> Match | Near | None:
    """The same for one pattern of the rule, a near miss with the nodes that fitted."""
    root = pattern.nodes[pattern.root]
    at = view.nodes[node]
    if at.op != root.op or at.domain:
        return None
    position = root.outputs.index(pattern.outputs[-1])
    if position >= len(at.outputs) or not at.outputs[position]:
        return None
    search = _Search(rule, pattern, view)
    state = search.solve(((pattern.outputs[-1], at.outputs[position]),), _State({}, {}))
    if state is None:
        near = search.near
        return None if near is None else replace(near, miss=replace(near.miss, node=node, rule=rule.code))
    return Match(
        rule,
        pattern,
        tuple(sorted(state.placed.values())),
        MappingProxyType({i: state.bound[i] for i in pattern.inputs if i in state.bound}),
        tuple(state.bound[o] for o in pattern.outputs if o in state.bound),
    )


class _Search:
    """One search; remembers the nearest failure."""

    def __init__(self, rule: Rule, pattern: Pattern, view: View) -> None:
        self.rule = rule
        self.pattern = pattern
        self.view = view
        self.near: Near | None = None
        self.steps = 0

    def solve(self, goals: tuple[Goal, ...], state: _State) -> _State | None:
        """The first state that fulfils all goals without a fault."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            return None
        if not goals:
            return self._judge(state)
        (wanted, value), rest = goals[0], goals[1:]
        if wanted in state.bound:
            return self._again(wanted, value, rest, state)
        if wanted in self.pattern.producers:
            return self._place(goals[0], rest, state)
        return self.solve(rest, _State({**state.bound, wanted: value}, state.placed, state.faults))

    def _again(self, wanted: str, value: str, rest: tuple[Goal, ...], state: _State) -> _State | None:
        if state.bound[wanted] == value:
            return self.solve(rest, state)
        if state.faults:
            return None
        fault = _mismatch("same-value", f"{state.bound[wanted]} and {value}", f"{wanted} twice")
        return self.solve(rest, _State(state.bound, state.placed, (fault,)))

    def _may_be_constant(self, value: str) -> bool:
        return self.view.constant(value) is not None or self.view.is_overridable(value)

    def _place(self, goal: Goal, rest: tuple[Goal, ...], state: _State) -> _State | None:
        wanted, value = goal
        maker = self.pattern.producers[wanted]
        model, node = self.pattern.nodes[maker], self.view.producer(value)
        if node is not None and node.op == model.op and not node.domain:
            placed = self._with(maker, goal, node, state)
            if placed is not None and (done := self._each_order(model, node, rest, placed)):
                return done
        elif not model.optional:
            self._fell_short(state, node.op if node else value, model.op, "operator")
        if not model.optional:
            return None
        # The node is missing: its value is its first operand.
        skipped = _State({**state.bound, wanted: value}, state.placed, state.faults)
        return self.solve(((model.inputs[0], value), *rest), skipped)

    def _each_order(self, model: PatternNode, node: Node, rest: tuple[Goal, ...], placed: _State) -> _State | None:
        for order in model.orders:
            goals = self._operands(model, node, order, placed)
            if goals is not None and (done := self.solve(goals + rest, placed)):
                return done
        return None

    def _with(self, maker: int, goal: Goal, node: Node, state: _State) -> _State | None:
        """The state with the node placed and its outputs bound; None where it cannot stand there."""
        model = self.pattern.nodes[maker]
        at_output = node.outputs.index(goal[1]) == model.outputs.index(goal[0])
        if not at_output or node.index in state.placed.values():
            return None
        bound = dict(state.bound)
        for name, value in zip(model.outputs, node.outputs, strict=False):
            if name and value and bound.setdefault(name, value) != value:
                return None
        faults = state.faults
        for name, value in model.attributes:
            found = effective(node, name, self.view.opset)
            if found != value:
                faults = (*faults, _mismatch(f"attribute {name}", str(found), str(value)))
        return _State(bound, {**state.placed, maker: node.index}, faults)

    def _operands(
        self, model: PatternNode, node: Node, order: tuple[int, ...], state: _State
    ) -> tuple[Goal, ...] | None:
        """Goals for the operands in that order, the largest part first; None where they do not fit."""
        if order != model.orders[0] and len(node.inputs) != len(order):
            return None
        goals: list[Goal] = []
        for k, name in enumerate(model.inputs):
            value = node.inputs[order[k]] if order[k] < len(node.inputs) else ""
            if name and value:
                if name in self.pattern.constants and not self._may_be_constant(value):
                    self._fell_short(state, value, str(self.pattern.constants[name]), "constant")
                    return None
                goals.append((name, value))
            elif value or (name and name not in self.pattern.optional):
                return None
        if any(node.inputs[len(model.inputs) :]):
            return None
        makers = self.pattern.producers
        goals.sort(key=lambda g: -self.pattern.nodes[makers[g[0]]].size if g[0] in makers else 0)
        return tuple(goals)

    def _judge(self, state: _State) -> _State | None:
        """The state itself when every condition holds and nothing escapes."""
        site = Site(self.view, self.pattern, self._present(state), state.placed)
        misses = list(state.faults)
        misses += [m for c in self.pattern.conditions if (m := check(c, site)) is not None]
        if not misses and self.rule.role == "idiom" and (escape := self._escape(state)):
            misses.append(escape)
        if not misses and (range_miss := self._opset()):
            misses.append(range_miss)
        if not misses:
            return state
        # A misplaced operand weighs more than a wrong constant: the latter is what a person can mend.
        faults = len(misses) + len(state.faults)
        self._remember(Near(misses[0], frozenset(state.placed.values()), faults))
        return None

    def _present(self, state: _State) -> dict[str, str]:
        """Bound values without those of missing nodes: no condition speaks of them."""
        makers = self.pattern.producers
        return {n: v for n, v in state.bound.items() if n not in makers or makers[n] in state.placed}

    def _escape(self, state: _State) -> Miss | None:
        inside = set(state.placed.values())
        kept = {state.bound[o] for o in self.pattern.outputs if o in state.bound}
        for index in sorted(inside):
            for value in self.view.nodes[index].outputs:
                if not value or value in kept:
                    continue
                if self.view.is_output(value) or any(r not in inside for r in self.view.readers(value)):
                    message = f"the inner value {value} is used elsewhere"
                    return Miss("value-escapes", message, figures={"value": value})
        return None

    def _opset(self) -> Miss | None:
        first, last = self.rule.opset
        opset = self.view.opset
        if first <= opset and (last is None or opset <= last):
            return None
        said = f"{first} to {last}" if last is not None else f"{first} on"
        message = f"the rule holds for opset {said}"
        return Miss("opset-out-of-range", message, figures={"opset": opset, "range": said})

    def _fell_short(self, state: _State, found: str, wanted: str, predicate: str) -> None:
        """A structural failure counts when half of the pattern or more fitted, a telling operator in it."""
        if len(state.placed) < 2 or 2 * len(state.placed) < self.pattern.needed:
            return
        if all(self.pattern.nodes[i].op in PLAIN for i in state.placed):
            return
        faults = len(state.faults) + len(self.pattern.conditions) + 1
        self._remember(Near(_mismatch(predicate, found, wanted), frozenset(state.placed.values()), faults))

    def _remember(self, near: Near) -> None:
        if self.near is None or near.order < self.near.order:
            self.near = near


def _mismatch(predicate: str, found: str, wanted: str) -> Miss:
    figures: dict[str, Figure] = {"predicate": predicate, "found": found, "wanted": wanted}
    return Miss("condition-failed", f"{predicate}: {found} where the rule has {wanted}", figures=figures)
