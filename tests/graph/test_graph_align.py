"""Matching nodes by structure: random graphs, random names, random edits."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_fuse.graph.align import Atom, Side, align

OPERATORS = ("Add", "Mul", "Relu", "Exp", "Concat")
Nodes = list[Atom]


def graph(seed: int, size: int) -> Nodes:
    """A graph that reads the value `x` and weights; every node has one output."""
    draw = random.Random(seed)
    made, nodes = ["x"], Nodes()
    for k in range(size):
        inputs = tuple(draw.choice([*made[-4:], f"w{draw.randrange(6)}"]) for _ in range(draw.choice((1, 2))))
        nodes.append(Atom(draw.choice(OPERATORS), draw.randrange(3), inputs, (f"v{k}",), f"v{k}"))
        made.append(f"v{k}")
    return nodes


def side(nodes: Nodes) -> Side:
    read = {name for n in nodes for name in n.inputs}
    results = [o for n in nodes for o in n.outputs if o not in read]
    leaves = {name: name for name in ("x", *(f"w{k}" for k in range(6)))}
    return Side(nodes, leaves, [(name, k) for k, name in enumerate(results)], frozenset(leaves) - {"x"})


def renamed(nodes: Nodes, seed: int) -> Nodes:
    """The same graph under other names."""
    names = list({o for n in nodes for o in n.outputs})
    random.Random(seed).shuffle(names)
    new = {old: f"n{k}" for k, old in enumerate(names)}
    return [
        Atom(n.operator, n.attributes, tuple(new.get(i, i) for i in n.inputs), (new[n.outputs[0]],), new[n.name])
        for n in nodes
    ]


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_graph_under_other_names_is_matched_whole(seed: int, size: int, names: int) -> None:
    nodes = graph(seed, size)
    found = align(side(nodes), side(renamed(nodes, names)))
    assert sorted(found.pairs) == sorted(found.pairs.values()) == list(range(size))
    assert all(found.origins_a[i] == found.origins_b[j] for i, j in found.pairs.items())


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(0, 39), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_pairs_are_one_to_one_and_one_changed_attribute_loses_none(seed: int, size: int, at: int, names: int) -> None:
    nodes = graph(seed, size)
    changed = renamed(nodes, names)
    n = changed[at % size]
    changed[at % size] = Atom(n.operator, "other", n.inputs, n.outputs, n.name)
    found = align(side(nodes), side(changed))
    assert len(set(found.pairs.values())) == len(found.pairs) == size
    assert all(nodes[i].operator == changed[j].operator for i, j in found.pairs.items())
    assert align(side(nodes), side(changed)) == found


def chain(length: int, inserted: tuple[int, ...] = ()) -> Nodes:
    """Layers that are all alike but for their weight, with a node put behind some of them."""
    nodes, last = Nodes(), "x"
    for k in range(length):
        for operator, inputs in (("MatMul", (last, f"w{k % 6}")), ("Add", (f"m{k}", last)), ("Relu", (f"a{k}",))):
            out = {"MatMul": f"m{k}", "Add": f"a{k}", "Relu": f"r{k}"}[operator]
            nodes.append(Atom(operator, None, inputs, (out,), out))
        last = f"r{k}"
        if k in inserted:
            nodes.append(Atom("Identity", None, (last,), (f"i{k}",), f"i{k}"))
            last = f"i{k}"
    return nodes


@given(st.sets(st.integers(0, 11), max_size=4))
@settings(max_examples=40, deadline=None)
def test_what_is_inserted_is_new_and_all_else_is_found(places: set[int]) -> None:
    nodes, more = chain(12), chain(12, tuple(places))
    found = align(side(nodes), side(more)).pairs
    assert sorted(found) == list(range(len(nodes)))
    assert {more[j].operator for j in range(len(more)) if j not in found.values()} <= {"Identity"}
    assert all(nodes[i].name == more[j].name for i, j in found.items())
    back = align(side(more), side(nodes)).pairs
    assert {j: i for i, j in back.items()} == found


def test_an_operator_in_the_place_of_another_is_its_counterpart() -> None:
    nodes = chain(4)
    other = list(nodes)
    other[5] = Atom("Sigmoid", None, nodes[5].inputs, nodes[5].outputs, nodes[5].name)
    assert align(side(nodes), side(other)).pairs[5] == 5
