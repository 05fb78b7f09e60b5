"""On random graphs a plan costs no more than any greedy order of families makes, and is the same each time."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx.parser
import pytest

from ascend_fuse.account import Outcome, account
from ascend_fuse.choice import choose
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.graph.launch import launches_by_node
from ascend_fuse.graph.scope import infer, scopes, view_of
from ascend_fuse.graph.size import Sizes
from ascend_fuse.planning import Planner
from ascend_fuse.rule.load import load_rules
from ascend_fuse.seed import ORDERS
from tests.attack.property import CHEAP, random_model

BATCHES, EACH = 8, 30
FIRST = 2_000_000
ENGINE = Engine(load_soc("Ascend910B3"), bounds(**CHEAP))


def planners(model: onnx.ModelProto) -> Callable[[], Planner]:
    """Fresh planners of the main graph."""
    inference = infer(model)[""]
    view = view_of(scopes(model)[-1], inference, overridable=True)
    launches, rules = launches_by_node(model), load_rules().choose((), ())
    return lambda: Planner(view, launches, inference.sure_values, rules, ENGINE, Sizes({}))


def greedy(fresh: Callable[[], Planner], order: tuple[str, ...]) -> Outcome:
    """What one order makes of the whole graph."""
    planner = fresh()
    planner.search(order)
    return account(planner, planner.view.nodes)


def unexplained(planner: Planner, plan: Outcome) -> set[int]:
    """Steps that stay launches without a reason."""
    fused = {k for c in plan.chosen for k in c.nodes}
    steps = planner.grower.steps.values()
    left = {s.index for s in steps if planner.launches[s.index] and s.index not in fused}
    return left - {m.node for m in plan.misses if m.miss.message}


def told_of(plan: Outcome) -> object:
    """What a plan says, without the identity of its steps."""
    return [(c.nodes, c.part, c.rules, c.tiling, c.figures) for c in plan.chosen], plan.misses, plan.before, plan.after


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_order_is_better(batch: int) -> None:
    for seed in range(FIRST + batch * EACH, FIRST + (batch + 1) * EACH):
        fresh = planners(random_model(seed).model())
        plan = fresh().run()
        totals = [greedy(fresh, order).after.time_us for order in ORDERS]
        assert plan.after.time_us <= min(totals) + 1e-6, f"seed {seed}"
        assert told_of(fresh().run()) == told_of(plan), f"seed {seed}"
        assert not unexplained(fresh(), plan), f"seed {seed}"


def test_it_matters() -> None:
    """Some graph is better than in the first order: elements that grow first take what rows would have split."""
    assert any(is_better(random_model(seed).model()) for seed in range(FIRST, FIRST + BATCHES * EACH))


def is_better(model: onnx.ModelProto) -> bool:
    """The later joins left out."""
    fresh = planners(model)
    planner = fresh()
    planner.search(ORDERS[0])
    choose(planner)
    chosen = account(planner, planner.view.nodes)
    assert not unexplained(fresh(), chosen)
    return chosen.after.time_us < greedy(fresh, ORDERS[0]).after.time_us - 1.0
