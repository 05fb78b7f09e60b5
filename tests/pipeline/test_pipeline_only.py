"""Planning only the regions that a saved plan wants."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

from ascend_fuse.account import Outcome
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.graph.launch import launches_by_node
from ascend_fuse.graph.scope import infer, scopes, view_of
from ascend_fuse.graph.size import Sizes
from ascend_fuse.planning import Planner
from ascend_fuse.rule.load import load_rules


def model() -> ModelProto:
    """Two chains of three, a product between them."""
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [64, 64]) for n in ("x", "w", "y")]
    nodes = [
        helper.make_node(op, ins, [out])
        for op, ins, out in (
            ("Tanh", ["x"], "a"), ("Exp", ["a"], "b"), ("Abs", ["b"], "c"), ("MatMul", ["c", "w"], "d"),
            ("Tanh", ["d"], "e"), ("Exp", ["e"], "f"), ("Abs", ["f"], "y"),
        )
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "g", info[:2], info[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def plan(only: list[frozenset[int]] | None) -> Outcome:
    proto = model()
    inference = infer(proto)[""]
    view = view_of(scopes(proto)[-1], inference, overridable=True)
    engine = Engine(load_soc("Ascend910B3"), bounds())
    planner = Planner(view, launches_by_node(proto), inference.values, load_rules().choose((), ()), engine, Sizes({}))
    return planner.run(None if only is None else dict.fromkeys(only, ""))


def test_all_regions_without_a_plan() -> None:
    assert [c.nodes for c in plan(None).chosen] == [(0, 1, 2), (3, 4, 5, 6)]


@pytest.mark.parametrize("nodes", [{3, 4}, {3, 4, 5, 6}])
def test_a_product_with_a_part_of_what_follows(nodes: set[int]) -> None:
    (chosen,) = plan([frozenset(nodes)]).chosen
    assert set(chosen.nodes) == nodes
    assert chosen.built.program.family == "matmul"


def test_the_wanted_region_and_no_other() -> None:
    outcome = plan([frozenset({4, 5, 6})])
    assert [c.nodes for c in outcome.chosen] == [(4, 5, 6)]
    assert not outcome.misses
    assert outcome.after.launches == 5


def test_a_part_of_a_chain_is_not_grown() -> None:
    assert [c.nodes for c in plan([frozenset({0, 1})]).chosen] == [(0, 1)]


def test_a_region_across_a_product_is_a_miss_of_its_nodes() -> None:
    outcome = plan([frozenset({2, 4}), frozenset({5, 6})])
    assert [c.nodes for c in outcome.chosen] == [(5, 6)]
    assert {m.node for m in outcome.misses} == {2, 4}


def test_regions_that_share_a_node_are_not_both_taken() -> None:
    outcome = plan([frozenset({0, 1}), frozenset({1, 2})])
    assert [c.nodes for c in outcome.chosen] == [(0, 1)]
    assert {m.node for m in outcome.misses} == {2}
