"""Convexity on the contracted graph: claimed regions are one node each, so that no two wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ascend_fuse.graph.view import View, captures, subgraphs

SEARCH_LIMIT = 4096  # nodes visited before a doubtful step is left out: planning stays near-linear


@dataclass(frozen=True, slots=True)
class Detour:
    """Why a step does not join: `through` is the outside node of a path that leaves the region and comes back.

    Not `proven`: the search was given up at that node.
    """

    through: int
    proven: bool = True


class Reach:
    """Who reads whom, by node index, and which nodes are claimed together."""

    def __init__(self, view: View) -> None:
        self.view = view
        count = len(view.nodes)
        self.group: list[int] = [-1] * count
        self.members: list[tuple[int, ...]] = []
        self._low = np.arange(count, dtype=np.int64)
        self._high = np.arange(count, dtype=np.int64)

    @cached_property
    def before(self) -> list[tuple[int, ...]]:
        """Producers of each node's operands and captures."""
        made = self.view.producers
        out: list[tuple[int, ...]] = []
        for n in self.view.nodes:
            names = [*n.inputs, *(c for _, g in subgraphs(n.proto) for c in captures(g))]
            out.append(tuple(dict.fromkeys(made[i] for i in names if i in made and made[i] != n.index)))
        return out

    @cached_property
    def after(self) -> list[tuple[int, ...]]:
        """Readers of each node's results."""
        out: list[list[int]] = [[] for _ in self.view.nodes]
        for k, producers in enumerate(self.before):
            for p in producers:
                out[p].append(k)
        return [tuple(o) for o in out]

    def claim(self, nodes: Iterable[int]) -> None:
        """Make the nodes one in all later searches."""
        kept = tuple(sorted(nodes))
        for n in kept:
            self.group[n] = len(self.members)
        self.members.append(kept)
        low, high = kept[0], kept[-1]
        span = slice(low, high + 1)
        np.minimum(self._low[span], low, out=self._low[span])
        np.maximum(self._high[span], high, out=self._high[span])

    def release(self, nodes: Iterable[int]) -> None:
        """Make claimed nodes single ones again; each group as a whole."""
        for n in nodes:
            self.group[n] = -1

    def _bound(self, index: int, table: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
        while int(table[index]) != index:
            index = int(table[index])
        return index

    def detour(self, region: set[int], step: set[int]) -> Detour | None:
        """A path by which region with the step would not be convex, the region being convex; None when it is."""
        forward = {k for n in step for k in self.after[n] if k not in region and k not in step}
        if forward:
            high = self._bound(max(max(region), max(step)), self._high)
            found = self._reaches(forward, region, self.after, lambda k: k <= high)
            if found is not None:
                return found
        backward = {k for n in step for k in self.before[n] if k not in region and k not in step}
        if not backward:
            return None
        low = self._bound(min(min(region), min(step)), self._low)
        return self._reaches(backward, region, self.before, lambda k: k >= low)

    def _reaches(
        self, start: set[int], targets: set[int], edges: list[tuple[int, ...]], inside: Callable[[int], bool]
    ) -> Detour | None:
        stack = [k for k in start if inside(k)]
        seen: set[int] = set()
        while stack:
            k = stack.pop()
            if k in seen:
                continue
            nodes = self.members[self.group[k]] if self.group[k] >= 0 else (k,)
            seen.update(nodes)
            if len(seen) > SEARCH_LIMIT:
                return Detour(k, proven=False)
            for n in nodes:
                for other in edges[n]:
                    if other in targets:
                        return Detour(n)
                    if other not in seen and inside(other):
                        stack.append(other)
        return None
