"""What the user may bound: read as the engine reads it, recorded, and never more than a bound."""

from __future__ import annotations

import json

import pytest
from onnx import ModelProto
from onnx.parser import parse_model

import ascend_fuse
from ascend_fuse import UsageError, _engine
from ascend_fuse.config import BOUNDS, INTEGERS, OPTIONS, Settings
from ascend_fuse.plan import ProductTiling
from models import BUILDERS

ENDS = {
    "launch_us": (0.0, 1000.0), "min_gain": (0.0, 1.0), "min_gain_us": (0.0, 1e6), "ub_reserve": (0.0, 0.95),
    "l1_reserve": (0.0, 0.95), "min_tile_k": (1, 4096), "streams": (1, 2),
}  # fmt: skip
OTHERS = {
    "launch_us": 12.0, "min_gain": 0.05, "min_gain_us": 2.0, "ub_reserve": 0.3, "l1_reserve": 0.3, "min_tile_k": 32,
    "streams": 2,
}  # fmt: skip


def product() -> ModelProto:
    return parse_model("""<ir_version: 10, opset_import: ["" : 17]>
    m (float16[512, 4096] x, float16[4096, 4096] w, float16[4096] b) => (float16[512, 4096] y) {
      p = MatMul (x, w) s = Add (p, b) y = Tanh (s)
    }""")


def tiling(**bounds: float) -> ProductTiling:
    (region,) = ascend_fuse.optimize(product(), soc="Ascend910B1", **bounds).plan.regions  # pyright: ignore
    assert isinstance(region.tiling, ProductTiling)
    return region.tiling


def test_every_bound_of_the_engine_is_an_option() -> None:
    engine = _engine.Bounds()
    assert {n for n in dir(engine) if not n.startswith("_")} == set(BOUNDS) == ENDS.keys() == OTHERS.keys()
    assert {n: getattr(Settings(), n) for n in BOUNDS} == {n: getattr(engine, n) for n in BOUNDS}


@pytest.mark.parametrize("name", BOUNDS)
def test_ranges_are_those_of_the_engine(name: str) -> None:
    step = 1 if name in INTEGERS else 1e-3
    for end, beyond in zip(ENDS[name], (ENDS[name][0] - step, ENDS[name][1] + step), strict=True):
        assert OPTIONS[name](end) == getattr(_engine.Bounds(**{name: end}), name)  # pyright: ignore
        with pytest.raises(ValueError, match="from"):
            OPTIONS[name](beyond)
        with pytest.raises(ValueError, match=name):
            _engine.Bounds(**{name: beyond})  # pyright: ignore


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_recorded(name: str) -> None:
    """In the report, and in the model: the same again is nothing to do, another is planned anew."""
    given = {name: OTHERS[name]}
    first = ascend_fuse.optimize(product(), **given)  # pyright: ignore
    assert first.plan.bounds[name] == OTHERS[name]
    assert json.loads(first.report("json"))["bounds"][name] == OTHERS[name]
    for form in ("text", "markdown"):
        assert f"{name}={OTHERS[name]:g}" in first.report(form).replace("\\", "")
    assert ascend_fuse.optimize(first.model, **given).plan.already_fused  # pyright: ignore
    again = ascend_fuse.optimize(first.model).plan
    assert (again.already_fused, again.bounds[name]) == (False, getattr(Settings(), name))


def test_a_reserve_of_l1_bounds_the_tiles() -> None:
    free, kept = tiling(), tiling(l1_reserve=0.7)
    assert kept.l1_budget == pytest.approx(0.3 * free.l1_budget, abs=64)
    assert kept.l1_bytes <= kept.l1_budget < free.l1_bytes
    assert kept != free


def test_tiles_are_at_least_as_deep_as_is_said() -> None:
    assert tiling(l1_reserve=0.7).tile_k < 128 <= tiling(l1_reserve=0.7, min_tile_k=128).tile_k
    refused = ascend_fuse.optimize(product(), soc="Ascend910B1", l1_reserve=0.7, min_tile_k=192).plan
    assert [r.family for r in refused.regions] == [
        "elementwise"
    ]  # a bound may cost the fusion, the judge still decides
    assert [m.miss.code for m in refused.misses] == ["no-gain"]


def test_two_streams_give_up_less() -> None:
    """Where launches overlap, the time before is less: the gain of the same fusion is smaller or gone."""
    one = ascend_fuse.optimize(product(), soc="Ascend910B1").plan
    two = ascend_fuse.optimize(product(), soc="Ascend910B1", streams=2).plan
    (r1,) = one.regions
    gains = [r.figures.before.time_us - r.figures.after.time_us for r in two.regions] or [0.0]
    assert sum(gains) < r1.figures.before.time_us - r1.figures.after.time_us


def test_a_bound_is_told_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"optimize\(\): min_tile_k cannot be 0; give an integer from 1 to 4096"):
        ascend_fuse.optimize(product(), min_tile_k=0)


@pytest.mark.parametrize("bound", [{"min_gain": 0.8}, {"min_gain": 1.0}, {"min_gain_us": 100.0}])
def test_a_bar_that_nothing_reaches_is_no_error(bound: dict[str, float]) -> None:
    """What is refused for its gain is grown from once, not again and again."""
    plan = ascend_fuse.optimize(BUILDERS["bert-layer"](), **bound).plan
    assert plan.totals_after.launches > 15


def test_a_reserve_is_kept_from_fused_nodes_only() -> None:
    """What stands before is a library's kernels, which have all of the buffers."""
    free, bound = (ascend_fuse.optimize(BUILDERS["bert-layer"](), ub_reserve=r, l1_reserve=r).plan for r in (0.0, 0.9))
    assert free.totals_before.time_us == pytest.approx(bound.totals_before.time_us, rel=1e-12)
    assert free.totals_after.time_us < bound.totals_after.time_us
