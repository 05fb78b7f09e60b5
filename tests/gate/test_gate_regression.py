"""What of a baseline is lost and why; what an export that names its nodes anew, or a larger fusion, does not lose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gate_model
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascend_fuse
from ascend_fuse.gate.baseline import Fusion, expectation
from ascend_fuse.gate.regression import compare
from ascend_fuse.plan import Plan

BROKEN = gate_model.RULE.replace("equals = 2.0", "equals = 3.0")


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Plan]:
    """The plan of the model with its rule, as the text of the rule says now; without AF209, which takes any row."""

    def plan(model: Path | None = None, rule: str = gate_model.RULE, ignore: str = "AF209", select: str = "") -> Plan:
        folder = gate_model.write_rule(tmp_path / "rules", rule)
        model = gate_model.write_model(tmp_path / "m.onnx") if model is None else model
        chosen = (select,) if select else ()
        return ascend_fuse.optimize(model, rules=folder, ignore=("AF209", ignore), select=chosen).plan

    return plan


def test_nothing_is_lost_of_itself(planned: Callable[..., Plan]) -> None:
    plan = planned()
    assert [f.rules for f in expectation(plan).fusions] == [("MY001",), ("MY001",)]
    found = compare(expectation(plan).fusions, plan)
    assert (found.lost, found.more) == ((), ())


def test_a_broken_pattern_is_named_with_the_near_miss(planned: Callable[..., Plan]) -> None:
    expected = expectation(planned()).fusions
    found = compare(expected, planned(rule=BROKEN))
    first, second = found.lost
    assert first.message.startswith(
        "MY001 row-floor no longer fuses /layer.0/abs … /layer.0/mul (Abs, Mul, ReduceMin, Sub)"
    )
    assert (first.code, first.node) == ("constant-mismatch", "/layer.0/mul")
    assert "/layer.0/mul: constant-mismatch (MY001): " in first.why
    assert second.node == "/layer.1/mul"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ignore": "MY0*"}, "MY001 is ignored (--ignore MY0*)"),
        ({"ignore": "row-floor"}, "MY001 is ignored (--ignore ROW-FLOOR)"),
        ({"select": "AF101"}, "MY001 is not selected (--select AF101)"),
    ],
)
def test_a_rule_that_is_not_chosen_is_the_reason(
    options: dict[str, str], why: str, planned: Callable[..., Plan]
) -> None:
    found = compare(expectation(planned()).fusions, planned(**options))
    assert [r.why for r in found.lost] == [why, why]


def test_a_rule_that_is_gone_is_the_reason(planned: Callable[..., Plan], tmp_path: Path) -> None:
    expected = expectation(planned()).fusions
    plan = ascend_fuse.optimize(tmp_path / "m.onnx").plan
    assert {r.why for r in compare(expected, plan).lost} == {"there is no rule MY001 any more"}


def test_other_names_lose_nothing(planned: Callable[..., Plan], tmp_path: Path) -> None:
    expected = expectation(planned()).fusions
    found = compare(expected, planned(gate_model.write_model(tmp_path / "other.onnx", prefix="node_")))
    assert (found.lost, found.more) == ((), ())


def test_a_layer_less_is_one_fusion_less_and_a_layer_more_is_told(planned: Callable[..., Plan], tmp_path: Path) -> None:
    two = expectation(planned()).fusions
    found = compare(two, planned(gate_model.write_model(tmp_path / "one.onnx", layers=1)))
    (lost,) = found.lost
    assert lost.fusion.nodes[0] == "/layer.1/abs"
    assert "none of its nodes is launched any more" in lost.why
    found = compare(two, planned(gate_model.write_model(tmp_path / "three.onnx", layers=3)))
    assert found.lost == ()
    assert [f.nodes[-1] for f in found.more] == ["/layer.2/mul"]


def test_a_larger_fusion_holds_a_smaller_one(planned: Callable[..., Plan], tmp_path: Path) -> None:
    plan = planned()
    expected = [
        replace(f, nodes=f.nodes[1:], ops=tuple(x for x in f.ops if x[0] != "Abs")) for f in expectation(plan).fusions
    ]
    found = compare(expected, plan)
    assert (found.lost, found.more) == ((), ())
    renamed = planned(gate_model.write_model(tmp_path / "other.onnx", prefix="node_"))
    found = compare(expected, renamed)
    assert (found.lost, found.more) == ((), ())


def test_a_rule_that_takes_over_is_named(planned: Callable[..., Plan], tmp_path: Path) -> None:
    expected = expectation(planned()).fusions
    rules = gate_model.write_rule(tmp_path / "rules", BROKEN)
    found = compare(expected, ascend_fuse.optimize(tmp_path / "m.onnx", rules=rules).plan)
    for r in found.lost:
        assert r.code == "constant-mismatch"
        assert r.why.endswith("; all of its nodes are in fusions by AF209 now")


def test_nodes_that_another_rule_fuses_are_no_longer_its_own(planned: Callable[..., Plan]) -> None:
    plan = planned()
    other = Fusion("", ("AF102",), "x", (("Abs", 1),), ("/layer.0/abs",))
    rules = {**plan.rule_names, "AF102": "x"}
    (lost,) = compare([other], replace(plan, rule_names=rules)).lost
    assert lost.why == "all of its nodes are in fusions by MY001 now"


TEXT = st.text(max_size=3)
FUSIONS = st.builds(
    Fusion, TEXT, st.lists(st.sampled_from(["AF1", "AF2"]), min_size=1, max_size=2, unique=True).map(tuple), TEXT,
    st.dictionaries(st.sampled_from("ab"), st.integers(1, 2), min_size=1).map(lambda d: tuple(sorted(d.items()))),
    st.lists(TEXT, max_size=3, unique=True).map(tuple),
)  # fmt: skip


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("plan")
    rules = gate_model.write_rule(folder / "rules")
    return ascend_fuse.optimize(gate_model.write_model(folder / "m.onnx"), rules=rules).plan


@given(st.lists(FUSIONS, max_size=6), st.data())
def test_every_fusion_is_there_or_lost_and_none_twice(plan: Plan, fusions: list[Fusion], data: st.DataObject) -> None:
    """Plans of any fusions, against any subset in any order, and against more than there are."""
    (region, *_) = plan.regions
    made = [
        replace(
            region,
            graph=f.graph,
            rules=f.rules,
            label=f.label,
            names=f.nodes,
            ops=tuple(o for o, n in f.ops for _ in range(n)),
        )
        for f in fusions
    ]
    names = {"AF1": "x", "AF2": "y"}
    changed = replace(plan, regions=tuple(made), misses=(), rule_names=names)
    some = data.draw(st.permutations(fusions).map(lambda p: p[: data.draw(st.integers(0, len(p)))]))
    assert compare(some, changed).lost == ()
    empty = compare(fusions, replace(changed, regions=()))
    assert sorted(r.fusion for r in empty.lost) == sorted(fusions)
    assert all(r.why for r in empty.lost)
    assert sorted(compare([], changed).more) == sorted(fusions)


def test_the_model_runs_as_it_is_written(tmp_path: Path) -> None:
    onnx.checker.check_model(gate_model.write_model(tmp_path / "m.onnx"), full_check=True)
