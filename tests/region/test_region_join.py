"""Independent regions that read a common tensor share a launch, or stay two launches."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import onnx.parser
import pytest
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.plan import Plan

T = "float[4,64,64]"
HEAD = '<ir_version: 10, opset_import: ["": 18]>'


def rotary(q: str) -> str:
    """The embedding of the value q, in values that begin with its name."""
    return f"""
      {q}1 = Mul ({q}, cos)
      {q}2 = Slice ({q}, zero, half, last)
      {q}3 = Slice ({q}, half, full, last)
      {q}4 = Neg ({q}3)
      {q}5 = Concat <axis = -1> ({q}4, {q}2)
      {q}6 = Mul ({q}5, sin)
      {q}7 = Add ({q}1, {q}6)
    """


def attention(heads: int, expand: str) -> ModelProto:
    """Rotary on 8 heads of queries and on some of keys, over a batch and a length that are symbolic."""
    return onnx.parser.parse_model(
        f"""{HEAD}
    g (float[b,8,s,64] q, float[b,{heads},s,64] k, float[1,1,s,64] cos, float[1,1,s,64] sin) => (y, z)
    <int64[1] zero = {{0}}, int64[1] half = {{32}}, int64[1] full = {{64}}, int64[1] last = {{-1}},
     int64[1] two = {{2}}, int64[5] group = {{1, 1, 2, 1, 1}}>
    {{ {rotary("q")} {rotary("k")} y = Identity (q7) {expand} }}"""
    )


def planned(model: ModelProto | str) -> Plan:
    """The plan; the fused model computes the same bits, and applying the plan gives the same model."""
    proto = onnx.parser.parse_model(HEAD + model) if isinstance(model, str) else model
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        onnx.save(proto, path)
        result = ascend_fuse.optimize(path, verify=True)
        again = ascend_fuse.apply(path, result.plan)
    assert again.model.SerializeToString(deterministic=True) == result.model.SerializeToString(deterministic=True)
    return result.plan


@pytest.mark.parametrize(
    ("heads", "expand"),
    [(8, "z = Identity (k7)"), (4, "k8 = Unsqueeze (k7, two) k9 = Expand (k8, group) z = Identity (k9)")],
    ids=["equal heads", "grouped heads"],
)
def test_rotary_on_queries_and_keys(heads: int, expand: str) -> None:
    (region,) = planned(attention(heads, expand)).regions
    assert region.rules == ("AF102",)
    assert region.family == "rowwise"
    assert set(region.inputs) >= {"q", "k", "cos", "sin"}
    assert len(region.outputs) == 2


def test_other_heads_stay_apart() -> None:
    plan = planned(attention(4, "z = Identity (k7)"))
    assert [r.rules for r in plan.regions] == [("AF102",), ("AF102",)]


def test_figures_are_those_of_the_first_launches() -> None:
    plan = planned(attention(8, "z = Identity (k7)"))
    (region,) = plan.regions
    assert region.figures.before.launches == plan.totals_before.launches
    assert plan.totals_before.time_us == pytest.approx(region.figures.before.time_us)
    assert plan.totals_after.launches == 1


def test_chains_and_single_steps() -> None:
    plan = planned(
        f"g ({T} x) => ({T} y, {T} z, {T} w) {{ a = Exp (x) y = Neg (a) z = Tanh (x) b = Abs (x) w = Erf (b) }}"
    )
    assert [r.nodes for r in plan.regions] == [(0, 1, 2, 3, 4)]


def test_through_views() -> None:
    plan = planned(
        f"""g ({T} x) => (float[1,4,64,64] y, float[1,4,64,64] z) <int64[1] zero = {{0}}>
        {{ a = Unsqueeze (x, zero) y = Exp (a) b = Unsqueeze (x, zero) z = Neg (b) }}"""
    )
    assert [r.nodes for r in plan.regions] == [(1, 3)]


def test_what_waits_for_the_other_stays_apart() -> None:
    plan = planned(
        f"""g ({T} x) => ({T} y)
        {{ a = Exp (x) b = Neg (a) c = MatMul (b, b) d = MatMul (c, b) e = Mul (x, d) f = Sigmoid (e) y = Neg (f) }}"""
    )
    assert all(not {0, 5} <= set(r.nodes) for r in plan.regions)


@pytest.mark.parametrize(("shape", "regions"), [("a,b", 1), ("b,a", 2)])
@pytest.mark.parametrize("last", ["Tanh", "Softmax"])
def test_sizes_that_only_their_product_makes_equal(shape: str, regions: int, last: str) -> None:
    """As many elements, but as one program it would only run where a is b."""
    plan = planned(
        f"""g (float[a,b] x, float[{shape}] u, float[1] c) => (float[a,b] y, float[{shape}] z)
        {{ d = Mul (x, c) y = {last} (d) e = Mul (u, c) z = {last} (e) }}"""
    )
    assert len(plan.regions) == regions


def test_nothing_in_common() -> None:
    plan = planned(f"g ({T} x, {T} u) => ({T} y, {T} z) {{ a = Exp (x) y = Neg (a) b = Exp (u) z = Neg (b) }}")
    assert len(plan.regions) == 2


@pytest.mark.parametrize(("rows", "regions"), [(64, 1), (65536, 2)])
def test_it_has_to_pay(rows: int, regions: int) -> None:
    """A launch saved is little beside milliseconds of reading and writing; a bias is all that is shared."""
    big = f"float[{rows},4096]"
    text = f"""g ({big} x, {big} u, float[4096] c) => ({big} y, {big} z)
        {{ a = Add (x, c) y = Neg (a) b = Add (u, c) z = Neg (b) }}"""
    assert len(ascend_fuse.optimize(onnx.parser.parse_model(HEAD + text)).plan.regions) == regions


def test_crossed_regions_do_not_wait_for_each_other() -> None:
    """Each pair of u's and x's readers could be one launch, but not both."""
    plan = planned(
        f"""g ({T} x, {T} u) => ({T} y, {T} z)
        {{ a = Exp (x) c = MatMul (a, a) b = Exp (u) d = MatMul (b, b)
           e = Mul (d, x) y = MatMul (e, e) f = Mul (c, u) z = MatMul (f, f) }}"""
    )
    assert all(len(set(r.nodes) & {0, 2, 4, 6}) < 3 for r in plan.regions)


@pytest.mark.parametrize(("length", "regions"), [(31, 1), (40, 2)])
def test_programs_stay_short(length: int, regions: int) -> None:
    chains = [
        " ".join(f"{p}{k + 1} = {('Neg', 'Exp', 'Tanh')[k % 3]} ({p}{k if k else ''})" for k in range(length))
        for p in ("x", "u")
    ]
    text = f"g ({T} x) => ({T} x{length}, {T} u{length}) {{ {chains[0]} {chains[1].replace('(u)', '(x)')} }}"
    plan = ascend_fuse.optimize(onnx.parser.parse_model(HEAD + text)).plan
    assert len(plan.regions) == regions


def test_without_the_rule_of_chains() -> None:
    """Single steps are chains of one; a joined chain would be named by a rule that was not chosen."""
    text = f"g ({T} x) => ({T} y, {T} z) {{ y = Exp (x) z = Neg (x) }}"
    proto = onnx.parser.parse_model(HEAD + text)
    assert not ascend_fuse.optimize(proto, ignore="AF101").plan.regions
    assert len(ascend_fuse.optimize(proto).plan.regions) == 1


def test_a_saved_plan_has_it(tmp_path: Path) -> None:
    proto = attention(4, "k8 = Unsqueeze (k7, two) k9 = Expand (k8, group) z = Identity (k9)")
    result = ascend_fuse.optimize(proto, plan=tmp_path / "plan.json")
    again = ascend_fuse.apply(proto, tmp_path / "plan.json")
    assert again.model.SerializeToString(deterministic=True) == result.model.SerializeToString(deterministic=True)
