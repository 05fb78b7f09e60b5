"""What a cleanup finds: a node that goes, and what stands in for its output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ascend_fuse.graph.view import Constant
from ascend_fuse.plan import Cleanup


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """One node of a scope that goes.

    `kept` is the value that takes the place of `output`, `constant` the value that `output` always has; a node whose
    outputs nobody reads any more because of other claims has neither, and no `what` of its own.
    """

    rule: str
    node: int
    label: str
    output: str
    kept: str
    constant: Constant | None
    what: str

    @property
    def is_dead(self) -> bool:
        """Whether nothing takes the output's place, as nobody reads it."""
        return not self.kept and self.constant is None


def cleanups(claims: Iterable[Claim], graph: str = "") -> tuple[Cleanup, ...]:
    """As the report lists them; `graph` is the scope's path."""
    return tuple(Cleanup(graph, c.rule, c.label, c.what) for c in claims if c.what)
