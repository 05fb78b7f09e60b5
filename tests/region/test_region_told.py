"""What a reason says: the node, the value or the rule that decides, the shapes as they are, the cost of the node."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from onnx import helper
from region_case import NO_GAIN, Case, T, gelu, told

from ascend_fuse.graph.view import View
from ascend_fuse.plan import to_json
from ascend_fuse.reason import Miss
from ascend_fuse.region.convex import SEARCH_LIMIT, Detour, Reach
from ascend_fuse.region.refusal import not_convex
from ascend_fuse.region.space import Space
from ascend_fuse.region.step import single

ROWS = f"g ({T} x, float[1024] w) => ({T} y) {{ a = Add (x, w)\n b = Relu (a)\n s = Softmax (b)\n y = Mul (s, w) }}"
MOVES = """g (float[64,1024] x) => (float[64,1024] y) {
    a, b = Split <axis = 1> (x)
    n = Neg (b)
    y = Concat <axis = 1> (n, a)
}"""


@pytest.mark.parametrize("options", [{"ignore": ["AF101"]}, {"select": ["AF3*"]}], ids=["ignored", "not-selected"])
def test_a_chain_that_was_not_chosen_is_the_reason(options: dict[str, list[str]]) -> None:
    graph = f"g ({T} x, {T} u) => ({T} y, {T} z) {{ a = Relu (x)\n y = Tanh (a)\n z = Softmax (u) }}"
    plan = Case("rule-ignored", "y", graph, ("", ""), {}, options).plan()
    assert plan.regions == ()
    for node in "ay":
        (miss,) = (m.miss for m in told(plan, node).values())
        assert (miss.code, miss.rule, miss.figures) == ("rule-ignored", "AF101", {"rule": "AF101"})
    assert "rule-ignored" not in told(plan, "z")


def test_moves_that_only_a_chain_takes() -> None:
    case = Case("rule-ignored", "y", MOVES, ("", ""), {}, opset=13)
    assert len(case.plan().regions) == 1
    plan = replace(case, options={"ignore": ["AF1*"]}).plan()
    assert {m.op: m.miss.code for m in plan.misses} == dict.fromkeys(("Split", "Neg", "Concat"), "rule-ignored")


def test_without_the_chain_rule_a_region_around_an_anchor_stays() -> None:
    plan = Case("rule-ignored", "y", ROWS, ("", ""), {}, {"ignore": ["AF101"]}).plan()
    assert [len(r.nodes) for r in plan.regions] == [4]
    assert plan.misses == ()


def test_a_lone_node_is_not_told_of_the_chain_rule() -> None:
    """It would stay with the rule, too."""
    graph = f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Trilu (a) }}"
    plan = Case("nothing-to-join", "a", graph, ("", ""), {}, {"ignore": ["AF101"]}).plan()
    assert set(told(plan, "a")) == {"nothing-to-join"}


def test_a_bias_between_a_product_whose_rule_is_ignored_and_a_view() -> None:
    graph = (
        "g (float[4,64,256] x, float[256,256] w, float[256] v) => (float[4,64,8,32] y) <int64[4] s = {4,64,8,32}> "
        "{ p = MatMul (x, w)\n a = Add (p, v)\n y = Reshape (a, s) }"
    )
    plan = Case("nothing-to-join", "a", graph, ("", ""), {}, {"ignore": ["AF401"]}).plan()
    miss = told(plan, "a")["nothing-to-join"].miss
    assert miss.figures == {"neighbour": "MatMul(p)", "why": "rule-ignored"}
    said = "its only neighbour is a product, MatMul(p): rule AF401 was not chosen, which covers MatMul"
    assert miss.message == said
    assert told(plan, "p")["rule-ignored"].miss.figures == {"rule": "AF401"}


def test_a_view_at_the_border_is_no_neighbour() -> None:
    graph = (
        f"g ({T} x) => (float[4,256,8,128] y) <int64[4] s = {{4,256,8,128}}> {{ a = Relu (x)\n y = Reshape (a, s) }}"
    )
    miss = told(Case("nothing-to-join", "a", graph, ("", ""), {}).plan(), "a")["nothing-to-join"].miss
    assert miss.figures == {"neighbour": "", "why": "none"}


@pytest.mark.parametrize(
    ("body", "said"),
    [("y = Concat <axis = 1> (a, a)", "Concat joins along axis 1 of 3"),
     ("y, z = Split <axis = 1> (a)", "Split splits along axis 1 of 3")],
)  # fmt: skip
def test_a_movement_along_an_inner_axis(body: str, said: str) -> None:
    plan = Case("axis-not-trailing", "y", f"g ({T} x) => (y) {{ a = Relu (x)\n {body} }}", ("", ""), {}).plan()
    assert told(plan, "y")["axis-not-trailing"].miss.message == said


def test_sizes_that_differ_are_shown_whole() -> None:
    space = Space()
    frame = space.frame([], (8, 32, 64))
    assert not isinstance(frame, Miss)
    assert space.put("a", frame, (8, 32, 64)) is None
    miss = space.put("b", frame, (8, 16, 64))
    assert miss is not None
    assert (miss.message, miss.figures) == ("16 is not 32", {"shape": "[8, 16, 64]", "space": "[8, 32, 64]"})


def test_each_miss_has_the_cost_of_its_node() -> None:
    """What is left and what is fused make the total."""
    graph = f"g ({T} x, {T} u) => ({T} y, {T} z) {{ a = Relu (x)\n y = Tanh (a)\n z = Trilu (u) }}"
    plan = Case("own-kernel", "z", graph, ("", ""), {}).plan()
    (miss,) = plan.misses
    (region,) = plan.regions
    assert miss.cost.hbm_bytes == 2 * 4 * 4 * 256 * 1024
    assert miss.cost.time_us > 0
    assert region.figures.after + miss.cost == plan.totals_after
    (entry,) = cast("list[dict[str, object]]", to_json(plan)["misses"])
    assert (entry["hbm_bytes"], entry["time_us"]) == (miss.cost.hbm_bytes, round(miss.cost.time_us, 3))


def test_an_idiom_that_stays_costs_what_its_nodes_cost() -> None:
    plan = Case("no-gain", "y", gelu(), ("", ""), {}, NO_GAIN).plan()
    assert [m.cost for m in plan.misses] == [plan.totals_after]
    assert plan.totals_after.launches == 5


def detoured(length: int) -> tuple[Reach, int]:
    """x → Relu → `length` Tanh → Add with the Relu; and the Add's index."""
    nodes = [helper.make_node("Relu", ["x"], ["v0"])]
    nodes += [helper.make_node("Tanh", [f"v{k}"], [f"v{k + 1}"]) for k in range(length)]
    nodes.append(helper.make_node("Add", ["v0", f"v{length}"], ["y"]))
    return Reach(View(helper.make_graph(nodes, "g", [], []), 18, {})), length + 1


def test_the_node_by_which_a_path_leaves_is_named() -> None:
    reach, last = detoured(3)
    assert reach.detour({0}, {last}) == Detour(1)
    assert reach.detour({last}, {0}) == Detour(3)
    assert reach.detour({0, 1, 2, 3}, {last}) is None


def test_a_search_that_was_given_up_does_not_claim_a_path() -> None:
    reach, last = detoured(SEARCH_LIMIT + 10)
    found = reach.detour({0}, {last})
    assert found is not None
    assert not found.proven
    step = single(reach.view.nodes[last])
    assert "was not decided" in not_convex(found, reach.view, step).message
