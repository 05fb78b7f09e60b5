"""A fixed set of random models; `python -m tests.attack.run --seeds 0:10000` tries as many as wished."""

from __future__ import annotations

from dataclasses import replace

import onnx.parser
import pytest

from ascend_fuse import optimize
from tests.attack.property import CHEAP, Seen, Violation, check, check_equal, check_regions, random_model

BATCHES, EACH = 10, 20
FIRST = 1_000_000  # apart from the seeds that the command is given


def batch_of(batch: int) -> list[Seen]:
    found: list[Seen] = []
    for seed in range(FIRST + batch * EACH, FIRST + (batch + 1) * EACH):
        graph = random_model(seed)
        try:
            found.append(check(graph, graph.model()))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    return found


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_models(batch: int) -> None:
    found = batch_of(batch)
    assert sum(seen.fused for seen in found) >= EACH // 2


def test_the_models_have_every_kind() -> None:
    """A set without bodies, functions or reshapes would show less than it says."""
    models = [random_model(FIRST + k).model() for k in range(BATCHES * EACH)]
    ops = {node.op_type for model in models for node in model.graph.node}
    assert {"If", "Loop", "Reshape", "Dropout", "Identity", "Softmax", "Erf", "Reciprocal", "Concat"} <= ops
    assert sum(len(model.functions) > 0 for model in models) > BATCHES
    assert {model.opset_import[0].version for model in models} >= {11, 13, 17, 21}


CHAIN = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 17]>
    g (float[N,4] x) => (float[N,4] z, float[N,4] k) <int64 axis = {1}>
    { a = Exp (x) b = Neg (a) k = CumSum (b, axis) c = Add (a, k) z = Neg (c) }"""
)


@pytest.mark.parametrize(
    ("regions", "kind"), [([(0, 1), (3, 4)], ""), ([(0, 1), (1, 4)], "overlap"), ([(0, 3, 4)], "not convex")]
)
def test_bad_plans_are_seen(regions: list[tuple[int, ...]], kind: str) -> None:
    plan = optimize(CHAIN, **CHEAP).plan
    assert [r.nodes for r in plan.regions] == [(0, 1), (3, 4)]
    changed = replace(plan, regions=tuple(replace(plan.regions[0], nodes=nodes) for nodes in regions))
    if not kind:
        check_regions(CHAIN, changed)
        return
    with pytest.raises(Violation, match=kind):
        check_regions(CHAIN, changed)


def test_a_changed_model_is_seen() -> None:
    graph = next(g for g in map(random_model, range(FIRST, FIRST + 100)) if any(n.op_type == "Tanh" for n in g.nodes))
    model = graph.model()
    other = onnx.ModelProto()
    other.CopyFrom(model)
    check_equal(graph, model, other)
    next(node for node in other.graph.node if node.op_type == "Tanh").op_type = "Sigmoid"
    with pytest.raises(Violation, match="differ"):
        check_equal(graph, model, other)
