"""All places of a view where rules of one role match, without overlaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.rule.load import Rule, RuleSet
from ascend_fuse.rule.match import Match, Near, match_pattern
from ascend_fuse.rule.pattern import Pattern
from ascend_fuse.rule.tell import bits, marks, masks


@dataclass(frozen=True, slots=True)
class _Entry:
    rule: Rule
    pattern: Pattern
    mask: int  # the operators that mark the pattern
    least: int  # how many of them must be there


def find(view: View, rules: RuleSet, role: str, near: bool = True) -> tuple[tuple[Match, ...], tuple[Miss, ...]]:
    """Matches of the rules of that role, ordered by their nodes, and the near misses outside of them.

    Where matches share nodes the larger one stays, then the one with the smaller code. Of near misses that
    share nodes only the nearest is told. Rules without a pattern (builtins) find nothing. Without `near` the near
    misses are not looked for.
    """
    chosen = [(r, p) for r in rules.rules if r.role == role and r.status != "removed" for p in r.patterns]
    bit = bits([p for _, p in chosen])
    index = _index(chosen, bit)
    seen = masks(view, bit) if index else []
    matches: list[Match] = []
    nears: list[Near] = []
    for node in view.nodes:
        entries = index.get(node.op) if not node.domain else None
        if not entries:
            continue
        above = _above(node, view)
        for entry in entries:
            if (seen[node.index] & entry.mask).bit_count() < entry.least:
                continue
            if entry.pattern.heads and entry.pattern.heads.isdisjoint(above):
                continue
            found = match_pattern(entry.rule, entry.pattern, view, node.index, near)
            if isinstance(found, Match):
                matches.append(found)
            elif found is not None:
                nears.append(found)
    kept, taken = _disjoint(matches)
    return kept, _nearest(nears, taken) if near else ()


def _index(chosen: list[tuple[Rule, Pattern]], bit: Mapping[str, int]) -> Mapping[str, list[_Entry]]:
    index: dict[str, list[_Entry]] = {}
    for rule, pattern in chosen:
        mark = marks(pattern)
        entry = _Entry(rule, pattern, sum(bit[op] for op in mark), (len(mark) + 1) // 2)
        index.setdefault(pattern.nodes[pattern.root].op, []).append(entry)
    return index


def _above(node: Node, view: View) -> frozenset[str]:
    makers = view.producers
    return frozenset(view.nodes[makers[i]].op for i in node.inputs if i in makers)


def _disjoint(matches: list[Match]) -> tuple[tuple[Match, ...], set[int]]:
    taken: set[int] = set()
    kept: list[Match] = []
    for match in sorted(matches, key=lambda m: (-len(m.nodes), m.rule.code, m.nodes)):
        if taken.isdisjoint(match.nodes):
            taken.update(match.nodes)
            kept.append(match)
    return tuple(sorted(kept, key=lambda m: m.nodes)), taken


def _nearest(nears: list[Near], taken: set[int]) -> tuple[Miss, ...]:
    told: set[int] = set()
    kept: list[Miss] = []
    for near in sorted(nears, key=lambda n: (*n.order, n.miss.rule, n.miss.node)):
        if near.miss.node not in taken and near.miss.node not in told:
            told |= near.nodes
            kept.append(near.miss)
    return tuple(sorted(kept, key=lambda m: (m.node, m.rule)))
