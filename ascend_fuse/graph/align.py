"""Which node of one graph is which of another, by structure: a name decides only between nodes that are alike in it.

What is computed from the same is the same node; so is what serves the same, as far as the outputs. Between two places
that differ neither holds: from there on, nodes are followed from neighbour to neighbour, beginning at those that are
known and at weights that only one node reads. Each step looks at a node a bounded number of times.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Place = tuple[int, int]  # a node and which of its outputs
ENDS = (-1, -1)  # stands for a pair of nodes around both graphs
Intern = Callable[[Hashable], int]


@dataclass(frozen=True, slots=True)
class Atom:
    """A node as it is compared: its operator, what its attributes say, its operands and outputs by name ("": none)."""

    operator: str
    attributes: Hashable
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""


@dataclass(slots=True)
class Side:
    """One graph: atoms in order, results, and what its other values are: equal where those of two sides correspond."""

    atoms: Sequence[Atom]
    leaves: Mapping[str, Hashable]
    results: Sequence[tuple[str, Hashable]]
    weights: frozenset[str] = frozenset()  # leaves that hold what was learned: few nodes read the same
    makers: dict[str, Place] = field(default_factory=dict[str, Place])
    readers: dict[str, list[Place]] = field(default_factory=dict[str, "list[Place]"])
    _strict: list[Hashable] = field(default_factory=list[Hashable])

    open: dict[Hashable, list[Place]] = field(default_factory=dict[Hashable, "list[Place]"])  # readers of leaves

    def __post_init__(self) -> None:
        for i, atom in enumerate(self.atoms):
            self.makers.update((name, (i, k)) for k, name in enumerate(atom.outputs) if name)
        for i, atom in enumerate(self.atoms):
            for k, name in enumerate(atom.inputs):
                if name in self.makers:
                    self.readers.setdefault(name, []).append((i, k))
                elif name in self.leaves:
                    self.open.setdefault(self.leaves[name], []).append((i, k))
            own = tuple(self.leaf(name) for name in atom.inputs)
            self._strict.append((atom.operator, atom.attributes, len(atom.outputs), own))

    def leaf(self, name: str) -> Hashable:
        """What the value is when no node makes it, else nothing."""
        return None if name in self.makers else self.leaves.get(name, ("unknown", name)) if name else ("none",)

    def strict(self, i: int) -> Hashable:
        """All that a node is but for the nodes around it."""
        return self._strict[i]

    def loose(self, i: int) -> Hashable:
        """Its operator alone."""
        return self.atoms[i].operator


@dataclass(frozen=True, slots=True)
class Alignment:
    """`pairs`: positions in `b` by those in `a`; a pair of different operators stands in the same place on both sides.

    `origins_a`, `origins_b`: of each node a number for what it is computed from, equal where that is.
    """

    pairs: Mapping[int, int]
    origins_a: Sequence[int]
    origins_b: Sequence[int]


def align(a: Side, b: Side) -> Alignment:
    """The nodes that correspond."""
    pairing = _Pairing(a, b)
    known: dict[Hashable, int] = {}

    def intern(key: Hashable) -> int:
        return known.setdefault(key, len(known))

    origins = _origins(a, intern), _origins(b, intern)
    pairing.zip(*origins)
    pairing.zip(_fates(a, intern), _fates(b, intern))
    pairing.follow()
    pairing.alone(lambda side, i: side.strict(i) if side.weights.intersection(side.atoms[i].inputs) else None)
    pairing.follow()
    pairing.replaced()
    pairing.follow()
    pairing.alone(Side.strict)
    return Alignment(dict(sorted(pairing.pairs.items())), *origins)


def _origins(side: Side, intern: Intern) -> list[int]:
    """Of each node a number for what it is computed from, equal on both sides when that is."""
    found: list[int] = []
    known: dict[str, int] = {}
    for i, atom in enumerate(side.atoms):
        operands = tuple(known.get(name, -1) if name in side.makers else 0 for name in atom.inputs)
        found.append(intern(("origin", side.strict(i), operands)))
        known.update((name, intern((found[i], k))) for k, name in enumerate(atom.outputs))
    return found


def _fates(side: Side, intern: Intern) -> list[int | None]:
    """Of each node a number for what becomes of its outputs; None for one that nobody reads."""
    uses: dict[str, list[Hashable]] = {}
    for name, identity in side.results:
        uses.setdefault(name, []).append(intern(("result", identity)))
    found: list[int | None] = [None] * len(side.atoms)
    for i in reversed(range(len(side.atoms))):
        atom = side.atoms[i]
        behind = tuple(tuple(sorted(uses.get(name, ()), key=repr)) for name in atom.outputs)
        if not any(behind):
            continue
        fate = found[i] = intern(("fate", side.strict(i), behind))
        for k, name in enumerate(atom.inputs):
            uses.setdefault(name, []).append((fate, k))
    return found


class _Pairing:
    """The pairs so far."""

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.pairs: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self._new: deque[tuple[int, int]] = deque()  # whose neighbours were not looked at
        self._seen: deque[tuple[int, int]] = deque()  # whose neighbours of any attributes were not
        self._new.append(ENDS)

    def pair(self, i: int, j: int) -> None:
        self.pairs[i], self.back[j] = j, i
        self._new.append((i, j))

    def zip(self, of_a: Sequence[Hashable], of_b: Sequence[Hashable]) -> None:
        """Pair nodes of equal keys: those of one name, then the others in their order."""
        left: dict[Hashable, list[int]] = {}
        waiting: dict[Hashable, list[int]] = {}
        for nodes, keys, taken in ((left, of_a, self.pairs), (waiting, of_b, self.back)):
            for k, key in enumerate(keys):
                if key is not None and k not in taken:
                    nodes.setdefault(key, []).append(k)
        for key, nodes in left.items():
            others = waiting.get(key, [])
            named = self._named(nodes, others)
            for i, j in named:
                self.pair(i, j)
            if len(named) < min(len(nodes), len(others)):
                rest = (i for i in nodes if i not in self.pairs), (j for j in others if j not in self.back)
                for i, j in zip(*rest, strict=False):
                    self.pair(i, j)

    def _named(self, of_a: Sequence[int], of_b: Sequence[int]) -> list[tuple[int, int]]:
        """Those that make a value of the same name."""
        at = {self.b.atoms[j].name: j for j in of_b}
        return [(i, at[name]) for i in of_a if (name := self.a.atoms[i].name) in at]

    def alone(self, key: Callable[[Side, int], Hashable]) -> None:
        """Pair nodes that are the only ones left of their key on each side."""
        left_a = {i: key(self.a, i) for i in range(len(self.a.atoms)) if i not in self.pairs}
        left_b = {j: key(self.b, j) for j in range(len(self.b.atoms)) if j not in self.back}
        count_a, count_b = Counter(left_a.values()), Counter(left_b.values())
        at_b = {k: j for j, k in left_b.items()}
        for i, k in left_a.items():
            if k is not None and count_a[k] == count_b[k] == 1:
                self.pair(i, at_b[k])

    def follow(self) -> None:
        """Go on from pairs to their neighbours, by all that these are as long as that leads on, then by operator."""
        while self._new or self._seen:
            if self._new:
                i, j = self._new.popleft()
                self._seen.append((i, j))
                found = self._neighbours(i, j, Side.strict)
            else:
                found = self._neighbours(*self._seen.popleft(), Side.loose)
            for x, y in found:
                if x not in self.pairs and y not in self.back:
                    self.pair(x, y)

    def _neighbours(self, i: int, j: int, key: Callable[[Side, int], Hashable]) -> Iterator[tuple[int, int]]:
        """Unpaired makers of the same operand, and readers of the same output, that are alike."""
        if (i, j) == ENDS:
            yield from self._at_ends(key)
            return
        one, other = self.a.atoms[i], self.b.atoms[j]
        for x, y in zip(one.inputs, other.inputs, strict=False):
            p, q = self.a.makers.get(x), self.b.makers.get(y)
            if p is not None and q is not None and p[1] == q[1]:
                yield from self._alike([(p[0], 0)], [(q[0], 0)], key)
        for x, y in zip(one.outputs, other.outputs, strict=False):
            yield from self._alike(self.a.readers.get(x, []), self.b.readers.get(y, []), key)

    def _at_ends(self, key: Callable[[Side, int], Hashable]) -> Iterator[tuple[int, int]]:
        """The same of what the graphs are given and give."""
        makers = {identity: self.b.makers[name] for name, identity in self.b.results if name in self.b.makers}
        for name, identity in self.a.results:
            p, q = self.a.makers.get(name), makers.get(identity)
            if p is not None and q is not None and p[1] == q[1]:
                yield from self._alike([(p[0], 0)], [(q[0], 0)], key)
        for leaf, readers in self.a.open.items():
            yield from self._alike(readers, self.b.open.get(leaf, []), key)

    def _alike(
        self, of_a: Sequence[Place], of_b: Sequence[Place], key: Callable[[Side, int], Hashable]
    ) -> Iterator[tuple[int, int]]:
        left: dict[Hashable, list[int]] = {}
        for i, k in of_a:
            if i not in self.pairs:
                left.setdefault((k, key(self.a, i)), []).append(i)
        waiting: dict[Hashable, list[int]] = {}
        for j, k in of_b if left else ():
            if j not in self.back:
                waiting.setdefault((k, key(self.b, j)), []).append(j)
        for k, nodes in left.items():
            others = waiting.get(k, [])
            if len(others) == len(nodes):
                yield from zip(nodes, others, strict=True)
            else:  # which one is new is open
                yield from self._named(nodes, others)

    def replaced(self) -> None:
        """Pair nodes of different operators that have equal operands and equal readers, the only ones that do."""
        self.alone(self._surroundings)

    def _surroundings(self, side: Side, i: int) -> Hashable:
        atom, known = side.atoms[i], self.pairs if side is self.a else None

        def node(k: int) -> Hashable:
            if known is not None:
                return k if k in known else None
            return self.back.get(k)

        operands = tuple(
            (node(side.makers[n][0]), side.makers[n][1]) if n in side.makers else side.leaf(n) for n in atom.inputs
        )
        readers = tuple(sorted({(node(r), k) for n in atom.outputs for r, k in side.readers.get(n, ())}, key=repr))
        at = tuple(identity for name, identity in side.results if name in atom.outputs)
        if not atom.inputs or any(isinstance(o, tuple) and o[:1] == (None,) for o in operands):
            return None
        return (operands, readers, at) if all(r[0] is not None for r in readers) else None
