"""Regions that are convex each and would wait for each other."""

from __future__ import annotations

import random
from collections.abc import Iterable

import onnx.parser
import pytest
from onnx import helper

import ascend_fuse
from ascend_fuse.graph.order import sorted_nodes
from ascend_fuse.graph.view import View
from ascend_fuse.region.convex import Reach

T = "float[4,256,1024]"
# A1 → B1 and B2 → A2: {A1, A2} and {B1, B2} are convex, but neither could run first.
CROSSED = f"""
<ir_version: 10, opset_import: ["": 18]>
g ({T} x, {T} u) => ({T} y, {T} z) {{
  a1 = Relu (x)
  b2 = Tanh (u)
  b1 = Sub (b2, a1)
  a2 = Sub (a1, b2)
  y = Neg (b1)
  z = Neg (a2)
}}
"""


def random_view(rng: random.Random, count: int) -> View:
    """A graph of random sums over earlier values."""
    nodes = []
    for k in range(count):
        known = ["x", *(f"v{j}" for j in range(max(0, k - 5), k))]
        nodes.append(helper.make_node("Sum", rng.sample(known, min(len(known), rng.randint(1, 3))), [f"v{k}"]))
    return View(helper.make_graph(nodes, "g", [], []), 18, {})


def runs(view: View, groups: Iterable[Iterable[int]]) -> bool:
    """Whether the graph can be ordered with each group as one node: the definition, by trying."""
    home = {k: k for k in range(len(view.nodes))}
    for group in groups:
        members = sorted(group)
        home.update(dict.fromkeys(members, members[0]))
    waits: dict[int, set[int]] = {h: set() for h in home.values()}
    for node in view.nodes:
        for name in node.inputs:
            if name in view.producers and home[view.producers[name]] != home[node.index]:
                waits[home[node.index]].add(home[view.producers[name]])
    while ready := [h for h, w in waits.items() if not w]:
        for h in ready:
            del waits[h]
        for w in waits.values():
            w.difference_update(ready)
    return not waits


@pytest.mark.parametrize("seed", range(40))
def test_joins_exactly_what_could_run(seed: int) -> None:
    """Every answer of the search, on random graphs with claimed regions, against the definition."""
    rng = random.Random(seed)
    view = random_view(rng, 18)
    reach = Reach(view)
    free, claimed = set(range(18)), list[set[int]]()
    while free:
        region = {rng.choice(sorted(free))}
        for _ in range(6):
            around = {k for n in region for k in (*reach.before[n], *reach.after[n])} & free - region
            if not around:
                break
            step = {rng.choice(sorted(around))}
            could = runs(view, [*claimed, region | step])
            assert (reach.detour(region, step) is None) == could
            if could:
                region |= step
        free -= region
        if len(region) > 1:
            reach.claim(region)
            claimed.append(region)
    assert runs(view, claimed)


def test_regions_that_would_wait_for_each_other() -> None:
    model = onnx.parser.parse_model(CROSSED)
    view = View(model.graph, 18, {})
    assert runs(view, [{0, 3}]) and runs(view, [{1, 2}])
    assert not runs(view, [{0, 3}, {1, 2}])
    reach = Reach(view)
    assert reach.detour({0}, {3}) is None
    reach.claim({0, 3})
    assert reach.detour({1}, {2}) is not None
    result = ascend_fuse.optimize(model)
    assert [n.op_type.split("_")[0] for n in sorted_nodes(result.model.graph.node)] == ["FusedElementwise"]


@pytest.mark.parametrize("seed", range(12))
def test_random_models_are_planned_without_overlap_or_deadlock(seed: int) -> None:
    """Movements between elementwise nodes force several regions; what comes out runs, node for node once."""
    rng = random.Random(seed)
    body: list[str] = []
    for k in range(30):
        a, b = (rng.choice(["x", *(f"v{j}" for j in range(max(0, k - 6), k))]) for _ in range(2))
        move = f"Trilu ({a})"
        body.append(f"v{k} = {rng.choice((f'Add ({a}, {b})', f'Tanh ({a})', f'Mul ({a}, {b})', move))}")
    text = f'<ir_version: 10, opset_import: ["": 18]> g ({T} x) => ({T} v29) {{ ' + "\n".join(body) + " }"
    result = ascend_fuse.optimize(onnx.parser.parse_model(text))
    nodes = [k for r in result.plan.regions for k in r.nodes]
    assert len(nodes) == len(set(nodes))
    view = View(onnx.parser.parse_model(text).graph, 18, {})
    assert runs(view, [r.nodes for r in result.plan.regions])
    assert len(sorted_nodes(result.model.graph.node)) == 30 - len(nodes) + len(result.plan.regions)
