"""Matching of one rule at one node: backtracking from the pattern's last output to its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Figure, Miss
from ascend_fuse.rule import constant
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


def match_pattern(rule: Rule, pattern: Pattern, view: View, node: int, near: bool = True) -> Match | Near | None:
    """The same for one pattern of the rule, a near miss with the nodes that fitted.

    Without `near` the search is shorter, and what it says of near misses is not complete.
    """
    root = pattern.nodes[pattern.root]
    at = view.nodes[node]
    if at.op != root.op or at.domain:
        return None
    position = root.outputs.index(pattern.outputs[-1])
    if position >= len(at.outputs) or not at.outputs[position]:
        return None
    search = _Search(rule, pattern, view, near)
    if not search.may_start(at):
        return None
    if not search.solve(((pattern.outputs[-1], at.outputs[position]),)):
        if search.near is None:
            return None
        miss = search.near.miss
        return replace(search.near, miss=Miss(miss.code, miss.message, node, miss.figures, rule.code))
    bound = search.bound
    return Match(
        rule,
        pattern,
        tuple(sorted(search.placed.values())),
        MappingProxyType({i: bound[i] for i in pattern.inputs if i in bound}),
        tuple(bound[o] for o in pattern.outputs if o in bound),
    )


class _Search:
    """One search: what it has `bound` and `placed` so far and the `faults` of that; remembers the nearest failure.

    Each method that returns False leaves these three as it found them.
    """

    def __init__(self, rule: Rule, pattern: Pattern, view: View, lenient: bool) -> None:
        self.rule = rule
        self.pattern = pattern
        self.view = view
        self.lenient = lenient  # a wrong constant is a near miss and not the end
        self.near: Near | None = None
        self.steps = 0
        self.bound: dict[str, str] = {}
        self.placed: dict[int, int] = {}
        self.faults: list[Miss] = []

    def solve(self, goals: tuple[Goal, ...]) -> bool:
        """Fulfil all goals without a fault."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            return False
        if not goals:
            return self._judge()
        (wanted, value), rest = goals[0], goals[1:]
        if wanted in self.bound:
            return self._again(wanted, value, rest)
        if wanted in self.pattern.producers:
            return self._place(goals[0], rest)
        self.bound[wanted] = value
        if self.solve(rest):
            return True
        del self.bound[wanted]
        return False

    def _again(self, wanted: str, value: str, rest: tuple[Goal, ...]) -> bool:
        if self.bound[wanted] == value:
            return self.solve(rest)
        if self.faults:
            return False
        self.faults.append(_mismatch("same-value", f"{self.bound[wanted]} and {value}", f"{wanted} twice"))
        if self.solve(rest):
            return True
        self.faults.pop()
        return False

    def may_start(self, root: Node) -> bool:
        """Whether some order of the root's operands gets beyond its constants and its first part."""
        given = root.inputs
        for fixed, first, op in self.pattern.starts:
            maker = self.view.producer(given[first]) if op and first < len(given) else None
            if op and (maker is None or maker.op != op):
                continue
            if all(self._may_be(n, given[k]) for n, k in fixed if k < len(given)):
                return True
        return False

    def _may_be(self, name: str, value: str) -> bool:
        """Whether the value may be the pattern's constant."""
        known = self.view.constant(value)
        if self.lenient or known is None:
            return known is not None or (self.lenient and self.view.is_overridable(value))
        return constant.equals(known, self.pattern.constants[name])

    def _place(self, goal: Goal, rest: tuple[Goal, ...]) -> bool:
        wanted, value = goal
        maker = self.pattern.producers[wanted]
        model, node = self.pattern.nodes[maker], self.view.producer(value)
        if node is not None and node.op == model.op and not node.domain:
            if self._with(maker, goal, node, rest):
                return True
        elif not model.optional:
            self._fell_short(node.op if node else value, model.op, "operator")
        if not model.optional:
            return False
        # The node is missing: its value is its first operand.
        self.bound[wanted] = value
        if self.solve(((model.inputs[0], value), *rest)):
            return True
        del self.bound[wanted]
        return False

    def _each_order(self, model: PatternNode, node: Node, rest: tuple[Goal, ...]) -> bool:
        for order in model.orders:
            goals = self._operands(model, node, order)
            if goals is not None and self.solve(goals + rest):
                return True
        return False

    def _with(self, maker: int, goal: Goal, node: Node, rest: tuple[Goal, ...]) -> bool:
        """Solve with the node placed and its outputs bound, if it can stand there."""
        model = self.pattern.nodes[maker]
        at_output = node.outputs.index(goal[1]) == model.outputs.index(goal[0])
        if not at_output or node.index in self.placed.values():
            return False
        fresh: list[str] = []
        fits = True
        for name, value in zip(model.outputs, node.outputs, strict=False):
            if name and value and name not in self.bound:
                self.bound[name] = value
                fresh.append(name)
            elif name and value and self.bound[name] != value:
                fits = False
        count = len(self.faults)
        for name, value in model.attributes if fits else ():
            found = effective(node, name, self.view.opset)
            if found != value:
                self.faults.append(_mismatch(f"attribute {name}", str(found), str(value)))
        self.placed[maker] = node.index
        if fits and self._each_order(model, node, rest):
            return True
        del self.placed[maker], self.faults[count:]
        for name in fresh:
            del self.bound[name]
        return False

    def _operands(self, model: PatternNode, node: Node, order: tuple[int, ...]) -> tuple[Goal, ...] | None:
        """Goals for the operands in that order, the largest part first; None where they do not fit."""
        given = node.inputs
        if order is not model.orders[0] and len(given) != len(order):
            return None
        constants, count = self.pattern.constants, len(given)
        values = [given[k] if k < count else "" for k in order]
        for name, value in zip(model.inputs, values, strict=True):
            if name and value:
                if name in constants and not self._may_be(name, value):
                    self._fell_short(value, str(constants[name]), "constant")
                    return None
            elif value or (name and name not in self.pattern.optional):
                return None
        if count > len(order) and any(given[len(order) :]):
            return None
        return tuple((model.inputs[k], values[k]) for k in model.largest_first if model.inputs[k] and values[k])

    def _judge(self) -> bool:
        """Whether every condition holds and nothing escapes."""
        site = Site(self.view, self.pattern, self._present(), self.placed)
        misses = list(self.faults)
        misses += [m for c in self.pattern.conditions if (m := check(c, site)) is not None]
        if not misses and self.rule.role == "idiom" and (escape := self._escape()):
            misses.append(escape)
        if not misses and (range_miss := self._opset()):
            misses.append(range_miss)
        if not misses:
            return True
        # A misplaced operand weighs more than a wrong constant: the latter is what a person can mend.
        faults = len(misses) + len(self.faults)
        self._remember(misses[0], faults)
        return False

    def _present(self) -> dict[str, str]:
        """Bound values without those of missing nodes: no condition speaks of them."""
        makers = self.pattern.producers
        return {n: v for n, v in self.bound.items() if n not in makers or makers[n] in self.placed}

    def _escape(self) -> Miss | None:
        inside = set(self.placed.values())
        kept = {self.bound[o] for o in self.pattern.outputs if o in self.bound}
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

    def _fell_short(self, found: str, wanted: str, predicate: str) -> None:
        """A structural failure counts when half of the pattern or more fitted, a telling operator in it."""
        if len(self.placed) < 2 or 2 * len(self.placed) < self.pattern.needed:
            return
        if all(self.pattern.nodes[i].op in PLAIN for i in self.placed):
            return
        faults = len(self.faults) + len(self.pattern.conditions) + 1
        if self.near is None or (-len(self.placed), faults) < self.near.order:
            self._remember(_mismatch(predicate, found, wanted), faults)

    def _remember(self, miss: Miss, faults: int) -> None:
        near = Near(miss, frozenset(self.placed.values()), faults)
        if self.near is None or near.order < self.near.order:
            self.near = near


def _mismatch(predicate: str, found: str, wanted: str) -> Miss:
    figures: dict[str, Figure] = {"predicate": predicate, "found": found, "wanted": wanted}
    return Miss("condition-failed", f"{predicate}: {found} where the rule has {wanted}", figures=figures)
