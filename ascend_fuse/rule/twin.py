"""Whether two patterns say the same: equal up to the names of values and the order of commutative operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ascend_fuse.rule.condition import Condition
from ascend_fuse.rule.pattern import Pattern, PatternNode

Names = Mapping[str, str]  # values of the one pattern → those of the other


def covers(wide: Pattern, narrow: Pattern) -> bool:
    """Whether `wide` matches wherever `narrow` does: the same nodes, and no condition that `narrow` lacks."""
    if len(wide.nodes) != len(narrow.nodes) or len(wide.outputs) != len(narrow.outputs):
        return False
    pairs = tuple(zip(wide.outputs[::-1], narrow.outputs[::-1], strict=True))
    return any(_no_stricter(wide, narrow, names) for names in _pair(wide, narrow, pairs, {}))


def _pair(a: Pattern, b: Pattern, goals: tuple[tuple[str, str], ...], names: Names) -> Iterator[Names]:
    """Every renaming under which the values of all goals are made alike."""
    if not goals:
        yield names
        return
    (left, right), rest = goals[0], goals[1:]
    if left in names or right in names.values():
        if names.get(left) == right:
            yield from _pair(a, b, rest, names)
        return
    if (left in a.producers) != (right in b.producers) or (left in a.optional) != (right in b.optional):
        return
    known = {**names, left: right}
    if left not in a.producers:
        yield from _pair(a, b, rest, known)
        return
    one, other = a.nodes[a.producers[left]], b.nodes[b.producers[right]]
    if not _alike(one, other) or one.outputs.index(left) != other.outputs.index(right):
        return
    for order in other.orders:
        operands = tuple(zip(one.inputs, (other.inputs[k] for k in order), strict=True))
        if all(bool(x) == bool(y) for x, y in operands):
            yield from _pair(a, b, (*((x, y) for x, y in operands if x), *rest), known)


def _alike(one: PatternNode, other: PatternNode) -> bool:
    same = one.op == other.op and sorted(one.attributes) == sorted(other.attributes)
    return same and (len(one.inputs), len(one.outputs)) == (len(other.inputs), len(other.outputs))


def _no_stricter(wide: Pattern, narrow: Pattern, names: Names) -> bool:
    has = {_key(c, {}) for c in narrow.conditions}
    return all(_key(c, names) in has for c in wide.conditions)


def _key(c: Condition, names: Names) -> tuple[object, ...]:
    of = tuple(names.get(v, v) for v in c.of)
    return (c.kind, of, names.get(c.to, c.to), c.name, repr(c.equals), tuple(map(repr, c.one_of)))
