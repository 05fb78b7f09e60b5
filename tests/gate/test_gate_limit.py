"""The gates that are numbers, each just kept and just failed; what growth and unfused launches count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gate_model
import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data

import ascend_fuse
from ascend_fuse.config import Gates
from ascend_fuse.gate.limit import BEYOND, gain_percent, judge, unfused
from ascend_fuse.growth import Growth
from ascend_fuse.plan import NearMiss, Plan, Totals
from ascend_fuse.reason import CODES, Miss


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ascend_fuse.Result:
    folder = tmp_path_factory.mktemp("limit")
    model = gate_model.write_model(folder / "m.onnx")
    rules = gate_model.write_rule(folder / "rules")
    return ascend_fuse.optimize(model, rules=rules, output=folder / "out.onnx", reports=folder / "r.json")


def judged(plan: Plan, growth: Growth, **gates: float) -> bool:
    (judgement,) = judge(Gates(**gates), plan, growth)  # pyright: ignore[reportArgumentType]
    assert judgement.gate.replace("-", "_") in gates
    return judgement.ok


def test_each_gate_is_kept_at_its_limit_and_fails_beyond(result: ascend_fuse.Result) -> None:
    plan, growth = result.plan, Growth(1000, 1200)
    gain = gain_percent(plan)
    limits = {
        "min_fusions": (2, 3), "max_launches": (plan.totals_after.launches, plan.totals_after.launches - 1),
        "max_unfused": (unfused(plan), unfused(plan) - 1), "max_growth": (20.01, 19.99),
        "min_gain": (gain - 0.01, gain + 0.01),
    }  # fmt: skip
    for gate, (kept, failed) in limits.items():
        assert judged(plan, growth, **{gate: kept})
        assert not judged(plan, growth, **{gate: failed})
    assert list(judge(Gates(), plan, growth)) == []
    assert set(limits) | {"expect"} == set(Gates.__dataclass_fields__)


def test_the_launches_that_stay_are_counted_once_and_only_where_a_kernel_exists(result: ascend_fuse.Result) -> None:
    def miss(node: int, code: str, launches: int = 1, graph: str = "") -> NearMiss:
        return NearMiss(graph, node, f"n{node}", "Op", Miss(code, "why", node), Totals(launches, 1, 1.0))

    cases = (
        ((), 0),
        ((miss(1, "no-gain"),), 1),
        ((miss(1, "no-gain"), miss(1, "constant-mismatch")), 1),  # one node, two reasons
        ((miss(1, "no-gain"), miss(1, "no-gain", graph="If.then_branch")), 2),
        ((miss(1, "nothing-to-join", 3),), 3),  # an idiom's nodes
        ((miss(1, "constant-mismatch"), miss(1, "own-kernel")), 0),
    )
    for misses, wanted in cases:
        assert unfused(replace(result.plan, misses=misses)) == wanted
    assert set(CODES) > BEYOND


def test_the_launches_that_are_too_many_are_named(result: ascend_fuse.Result) -> None:
    nodes = [NearMiss("", k, f"n{k}", "Op", Miss("no-gain", "why", k), Totals(1, 1, 1.0)) for k in range(5)]
    own = NearMiss("", 9, "own", "Op", Miss("own-kernel", "why", 9), Totals(1, 1, 1.0))
    plan = replace(result.plan, misses=(own, *nodes))
    (failed,) = judge(Gates(max_unfused=4), plan, Growth(1, 1))
    assert failed.message == "5 unfused launches, wanted at most 4: n0, n1, n2 and 2 more"
    (kept,) = judge(Gates(max_unfused=5), plan, Growth(1, 1))
    assert kept.message == "5 unfused launches, wanted at most 5"


def test_growth_is_that_of_the_files(result: ascend_fuse.Result, tmp_path: Path) -> None:
    assert result.growth is not None and result.source is not None and result.path is not None
    assert result.growth == Growth(result.source.stat().st_size, result.path.stat().st_size)
    assert result.growth.percent == pytest.approx(100 * (result.path.stat().st_size / result.source.stat().st_size - 1))


def test_weights_beside_the_model_are_counted_once(tmp_path: Path) -> None:
    model = onnx.load(gate_model.write_model(tmp_path / "inline.onnx"))
    del model.graph.input[1]
    weight = np.ones((512, 512), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
    (tmp_path / "in").mkdir()
    onnx.save(model, tmp_path / "in" / "m.onnx")
    result = ascend_fuse.optimize(tmp_path / "in" / "m.onnx", output=tmp_path / "m.onnx")
    before, after = ((tmp_path / f / "m.onnx").stat().st_size for f in ("in", "."))
    data = (tmp_path / "in" / "weights.bin").stat().st_size
    assert result.growth == Growth(before + data, after + data)


def test_what_is_already_fused_does_not_grow(result: ascend_fuse.Result, tmp_path: Path) -> None:
    assert result.path is not None
    rules = gate_model.write_rule(tmp_path / "rules")
    again = ascend_fuse.optimize(result.path, rules=rules)
    assert again.unchanged
    assert again.growth is not None and again.growth.percent == 0
