"""The regions that were judged, and what they are now: what `explain` needs to ask the engine again."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_fuse.engine import Part, Times


@dataclass(frozen=True, slots=True)
class Candidate:
    """One region that was judged, chosen or not: its nodes as a plan counts them, in the order of the list.

    `fused` is its program at the sizes it was judged for, `launches` the programs of its nodes, each with its name,
    `times` what was measured of them.
    A node that was judged with no other is one with itself: nothing was judged.
    """

    graph: str
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    fused: Part
    launches: tuple[tuple[str, Part], ...]
    times: Times = ()

    @property
    def judged(self) -> bool:
        """Whether it is more than one node by itself."""
        return len(self.launches) > 1
