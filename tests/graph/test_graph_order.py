"""Topological order and names."""

from __future__ import annotations

import random

import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import NodeProto, helper

from ascend_fuse.error import ModelError
from ascend_fuse.graph.name import Names
from ascend_fuse.graph.order import sorted_nodes


@st.composite
def graphs(draw: st.DrawFn) -> list[NodeProto]:
    """Nodes in a topological order; each reads some earlier values."""
    count = draw(st.integers(1, 12))
    out: list[NodeProto] = []
    for k in range(count):
        known = ["x", *(f"v{j}" for j in range(k))]
        reads = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        out.append(helper.make_node("Sum", reads, [f"v{k}"], name=f"n{k}"))
    return out


@settings(deadline=None)
@given(graphs())
def test_a_sorted_list_stays(nodes: list[NodeProto]) -> None:
    assert [n.name for n in sorted_nodes(nodes)] == [n.name for n in nodes]


@settings(deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_a_shuffled_list_is_sorted_and_whole(nodes: list[NodeProto], rng: random.Random) -> None:
    shuffled = list(nodes)
    rng.shuffle(shuffled)
    out = sorted_nodes(shuffled)
    assert sorted(n.name for n in out) == sorted(n.name for n in nodes)
    made: set[str] = {"x"}
    for n in out:
        assert made.issuperset(n.input)
        made.update(n.output)


def test_only_what_must_move_moves() -> None:
    """b waits for c; a and d keep their places around it."""
    nodes = [
        helper.make_node("Neg", ["x"], ["va"], name="a"), helper.make_node("Neg", ["vc"], ["vb"], name="b"),
        helper.make_node("Neg", ["x"], ["vc"], name="c"), helper.make_node("Neg", ["x"], ["vd"], name="d"),
    ]  # fmt: skip
    assert [n.name for n in sorted_nodes(nodes)] == ["a", "c", "b", "d"]


def test_a_subgraph_waits_for_what_it_captures() -> None:
    model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["": 18]>
g (float[2] x, bool c) => (float[2] y)
{
  h = Neg (x)
  y = If (c) <then_branch = t () => (float[2] p) { p = Abs (h) }, else_branch = e () => (float[2] q) { q = Neg (x) }>
}
""")
    nodes = list(model.graph.node)[::-1]
    assert [n.op_type for n in sorted_nodes(nodes)] == ["Neg", "If"]


def test_a_cycle_is_an_error_that_names_a_node_on_it() -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["va"], name="before"),
        helper.make_node("Add", ["va", "vc"], ["vb"], name="round"),
        helper.make_node("Neg", ["vb"], ["vc"], name="about"),
    ]  # fmt: skip
    with pytest.raises(ModelError, match="the graph has a cycle") as caught:
        sorted_nodes(nodes)
    assert caught.value.where == "node round"
    assert caught.value.do
    with pytest.raises(ModelError) as unnamed:
        sorted_nodes([helper.make_node("Add", ["x", "y"], ["y"])])
    assert unnamed.value.where == "node Add(y)"


def test_the_cycle_is_named_not_what_waits_behind_it() -> None:
    nodes = [
        helper.make_node("Neg", ["vb"], ["vd"], name="behind"),
        helper.make_node("Add", ["x", "vc"], ["vb"], name="round"),
        helper.make_node("Neg", ["vb"], ["vc"], name="about"),
    ]  # fmt: skip
    with pytest.raises(ModelError) as caught:
        sorted_nodes(nodes)
    assert caught.value.where in ("node round", "node about")


def test_fresh_names_never_repeat_one_in_use() -> None:
    """Names of values, nodes, initializers, inputs, also in subgraphs."""
    model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["": 18]>
g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}>
{
  h = Add (x, w)
  y = If (c) <then_branch = t () => (float[2] p) { p = Abs (h) },
    else_branch = e () => (float[2] q) <float[2] v = {1, 2}> { q = Add (x, v) }>
}
""")
    model.graph.node[0].name = "sum"
    names = Names.of(model)
    taken = ["x", "c", "y", "w", "h", "p", "q", "v", "sum"]
    made = [names.fresh(stem) for stem in taken * 2] + [names.fresh("free"), names.fresh("free")]
    assert made[-2:] == ["free", "free_1"]
    assert len(set(made)) == len(made)
    assert set(made).isdisjoint(taken)
