"""On random graphs a plan costs no more than any greedy order of families makes, and is the same each time."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx.parser
import pytest

from ascend_fuse.account import Outcome, account
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
BETTER = (2_000_005, 2_000_187, 2_000_387)  # models in which it matters
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


def told_of(plan: Outcome) -> object:
    """What a plan says, without the identity of its steps."""
    return [(c.nodes, c.part, c.rules, c.tiling, c.figures) for c in plan.chosen], plan.misses, plan.before, plan.after


def compare(model: onnx.ModelProto) -> bool:
    """Whether the plan is better than the first order; asserts what holds for each."""
    fresh = planners(model)
    plan = fresh().run()
    totals = [greedy(fresh, order).after.time_us for order in ORDERS]
    assert plan.after.time_us <= min(totals) + 1e-6
    assert told_of(fresh().run()) == told_of(plan)
    fused = {k for c in plan.chosen for k in c.nodes}
    told = {m.node for m in plan.misses if m.miss.message}
    view, launches = fresh().view, launches_by_node(model)
    steps = fresh().grower.steps
    left = {steps[n.index].index for n in view.nodes if n.index in steps and launches[n.index]} - fused
    assert left <= told
    return plan.after.time_us < totals[0] - 1.0


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_order_is_better(batch: int) -> None:
    for seed in range(FIRST + batch * EACH, FIRST + (batch + 1) * EACH):
        try:
            compare(random_model(seed).model())
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("seed", BETTER)
def test_it_is_better_than_the_first_order(seed: int) -> None:
    """Where elements that grow first take what rows would have split."""
    assert compare(random_model(seed).model())
