"""What a plan says of the model that came out: fused nodes by name, sizes that were assumed."""

from __future__ import annotations

import json

import pytest
from pipeline_model import fuse, parse

from ascend_fuse.graph.size import by_use
from ascend_fuse.plan import to_json

T = "float[4,256,1024]"
CHAIN = f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Tanh (a) }}"


def test_a_region_has_the_name_of_its_node_and_of_its_sources() -> None:
    model = parse(CHAIN)
    model.graph.node[0].name = "first"
    result = fuse(model)
    (region,) = result.plan.regions
    assert [n.name for n in result.model.graph.node] == [region.name]
    assert region.names == ("first", "Tanh(y)")
    text = result.report("text")
    assert region.name in text
    assert "Tanh(y)" in text
    assert json.loads(result.report("json"))["regions"][0]["name"] == region.name


def test_a_second_run_reports_that_there_is_nothing_to_do() -> None:
    again = fuse(fuse(parse(CHAIN)).model)
    assert again.plan.already_fused
    for form in ("text", "markdown"):
        report = again.report(form)
        assert "nothing to do" in report
        assert "0 µs" not in report
        assert "0 B" not in report
    assert json.loads(again.report("json"))["totals"]["after"] == {"launches": 1}
    assert not fuse(again.model, min_gain=0.01).plan.already_fused


@pytest.mark.parametrize(
    ("inputs", "used"),
    [
        ("int64[s10,s11] ids, int64[s10,s11] mask", {"s10": 1, "s11": 128}),
        ("float[s1,3,8,8] x", {"s1": 1}),
        ("float[s1,8] x, float[8,s1] u", {}),
        ("float[s1] x", {}),
        ("float[s1,s2] x", {"s1": 1}),
        ("int32[s1,s2,8] x", {"s1": 1}),
    ],
)
def test_what_inputs_say_of_a_size(inputs: str, used: dict[str, int]) -> None:
    name = inputs.split("]")[1].split(",")[0].strip()
    model = parse(f"g ({inputs}) => (y) {{ y = Identity ({name}) }}")
    assert by_use(model.graph) == used


def test_a_name_says_more_than_a_use() -> None:
    graph = "g (float[num_tokens,8] x, float[s1,8] u) => (y, z) { a = Relu (x)\n y = Tanh (a)\n b = Relu (u)\n z = Tanh (b) }"
    plan = fuse(parse(graph)).plan
    assert dict(plan.dims) == {"num_tokens": 128, "s1": 1}
    assert dict(fuse(parse(graph), dims={"s1": 7}).plan.dims) == {"num_tokens": 128, "s1": 7}


def test_a_size_that_no_input_declares_is_counted_only() -> None:
    graph = "g (float[8,64] x, bool[8] keep) => (y) { c = Compress <axis = 0> (x, keep)\n a = Relu (c)\n y = Tanh (a) }"
    plan = fuse(parse(graph)).plan
    assert len(plan.regions) == 1
    assert plan.dims == {}
    assert plan.assumed_dims == ()
    assert plan.undeclared_dims == 1
    assert to_json(plan)["undeclared_dims"] == 1
