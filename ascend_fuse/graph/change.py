"""What differs between two models, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs: `kind` says of what, "" in `before` or `after` means absent."""

    kind: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that is `added`, `removed` or `changed`, or `rewired`: only by a neighbour that is new or gone.

    `graph`: path of its scope; `operator`: as it is in `b`, if it is there; `a` and `b`: its name, "" where it is not.
    """

    graph: str
    what: str
    operator: str
    a: str
    b: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Nodes:
    """All nodes of two models, without fused ones: what differs, and how many have a counterpart.

    `values`: types that differ. `twins`: by scope of `a` and value, what the value is called in `b`.
    """

    changes: tuple[NodeChange, ...] = ()
    values: tuple[Change, ...] = ()
    matched: int = 0
    twins: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


def compared(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> tuple[Change, ...]:
    """What differs between two tables of texts, in the order of the first, then of the second."""
    names = dict.fromkeys([*a, *b])
    return tuple(Change(kind, n, a.get(n, ""), b.get(n, "")) for n in names if a.get(n) != b.get(n))
