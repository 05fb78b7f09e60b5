"""A look before the search: which telling operators stand above each node, as bit masks.

Arithmetic is everywhere and idioms are not: a pattern is only tried where at least half of the operators that
mark it (Erf, Tanh, Sqrt, …) stand within `DEPTH` steps above the node. That keeps `find` near-linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_fuse.graph.view import View
from ascend_fuse.rule.pattern import Pattern

DEPTH = 5
# Any arithmetic has these: alone they mark no pattern.
PLAIN = frozenset({"Add", "Sub", "Mul", "Div", "Cast"})


def marks(pattern: Pattern) -> frozenset[str]:
    """The telling operators within DEPTH steps of the root, optional nodes counted as there."""
    found: set[str] = set()
    level = {pattern.root}
    for _ in range(DEPTH + 1):
        found |= {pattern.nodes[i].op for i in level if not pattern.nodes[i].optional}
        level = {pattern.producers[p] for i in level for p in pattern.nodes[i].inputs if p in pattern.producers}
    return frozenset(found - PLAIN)


def bits(patterns: Sequence[Pattern]) -> Mapping[str, int]:
    """One bit for each operator that marks one of the patterns."""
    return {op: 1 << k for k, op in enumerate(sorted({op for p in patterns for op in marks(p)}))}


def masks(view: View, bit: Mapping[str, int]) -> list[int]:
    """For each node the bits of the operators at most DEPTH steps above it, its own among them."""
    makers = view.producers
    own = [0 if n.domain else bit.get(n.op, 0) for n in view.nodes]
    above = [tuple({makers[i] for i in n.inputs if i in makers}) for n in view.nodes]
    seen = own
    for _ in range(DEPTH):
        seen = [_union(mine, seen, a) for mine, a in zip(own, above, strict=True)]
    return seen


def _union(mask: int, seen: list[int], above: tuple[int, ...]) -> int:
    for i in above:
        mask |= seen[i]
    return mask
