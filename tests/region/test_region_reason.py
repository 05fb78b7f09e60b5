"""Reason codes of nodes that are no products: a node that gets one, and the one change with which it goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_case import LATE_RULE, NO_GAIN, ROTARY, Case, T, casts, chain, gelu, sums, taps, told

CASES = (
    Case(
        "op-unsupported", "b", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n b = com.example.Odd (a)\n y = Relu (x) }}",
        ("com.example.Odd", "Tanh"), {"op": "Odd"}, label="domain",
    ),
    Case(
        "op-unsupported", "b", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n b = BitCast <to = 1> (a)\n y = Relu (b) }}",
        ("BitCast <to = 1>", "Tanh"), {"op": "BitCast"}, opset=26, label="operator",
    ),
    Case(
        "op-unsupported", "b", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n b = Erf (a)\n y = Relu (b) }}",
        {"opset": 9}, {"op": "Erf"}, opset=8, label="newer-than-opset",
    ),
    Case(
        "attribute-unsupported", "y",
        "g (float[4,256,1024] x, int64[1] axes) => (float[4,256,1] y) <float one = {1.0}> "
        "{ a = Relu (x)\n y = ReduceMean (a, axes) }",
        ("int64[1] axes) => (float[4,256,1] y) <", "int64[1] k) => (float[4,256,1] y) <int64[1] axes = {-1}, "),
        {"attribute": "axes"}, opset=18,
    ),
    Case(
        "dtype-unsupported", "a", "g (double[64,1024] x) => (double[64,1024] y) { a = Relu (x)\n y = Tanh (a) }",
        ("double", "float"), {"dtype": "f64"}, label="no-type-of-ours",
    ),
    Case(
        "dtype-unsupported", "a", "g (bfloat16[64,1024] x) => (bfloat16[64,1024] y) { a = Relu (x)\n y = Tanh (a) }",
        {"soc": "Ascend910B3"}, {"dtype": "bf16"}, {"soc": "Ascend310P3"}, label="not-on-this-chip",
    ),
    Case(
        "shape-unknown", "y",
        f"g ({T} x, int64[3] size) => ({T} y) <float one = {{1.0}}> {{ a = Relu (x)\n y = Expand (a, size) }}",
        ("int64[3] size) => (float[4,256,1024] y) <",
         "int64 k) => (float[4,256,1024] y) <int64[3] size = {4,256,1024}, "),
        {"axis": "all"},
    ),
    Case(
        "shape-mismatch", "z",
        f"g ({T} x, float[1024] w) => ({T} y, float[1024] z) {{ z = Relu (w)\n v = Tanh (z)\n y = Add (x, v) }}",
        (", float[1024] z)", ")"), {"shape": "[1024]", "space": "[4, 256, 1024]"},
    ),
    Case(
        "axis-not-trailing", "y", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Softmax <axis = 1> (a) }}",
        ("axis = 1", "axis = 2"), {"axis": "1", "rank": 3},
    ),
    Case(
        "crosses-reduction", "y",
        f"g ({T} x, float[1024] w) => ({T} y) "
        "{ a = Softmax (x)\n b = Relu (a)\n y = LayerNormalization <axis = 1> (b, w) }",
        ("axis = 1", "axis = 2"), {"row": 1},
    ),
    Case(
        "constant-mismatch", "y", gelu().replace("one = {1.0}", "one = {2.0}"), ("one = {2.0}", "one = {1.0}"),
        {"found": 2.0, "wanted": 1}, NO_GAIN,
    ),
    Case(
        "condition-failed", "y", gelu().replace(f"({T} x)", f"({T} x, {T} u)").replace("Mul (x, p)", "Mul (u, p)"),
        ("Mul (u, p)", "Mul (x, p)"), {"predicate": "same-value", "found": "x and u"}, NO_GAIN,
    ),
    Case(
        "value-escapes", "y", gelu().replace(f"({T} y)", f"({T} y, {T} e)"), (f", {T} e)", ")"),
        {"value": "e"}, NO_GAIN,
    ),
    Case(
        "opset-out-of-range", "y", f"g ({T} x) => ({T} y) {{ s = Sigmoid (x)\n y = Mul (x, s) }}", {"opset": 20},
        {"opset": 17, "range": "20 on"}, NO_GAIN | {"ignore": ["AF012"]},
    ),
    Case(
        "input-overridable", "y", gelu().replace(f"({T} x)", f"({T} x, float half)"), (", float half)", ")"),
        {"value": "half"}, NO_GAIN,
    ),
    Case(
        "not-convex", "y",
        f"g ({T} x) => ({T} y) "
        "{ a = Relu (x)\n b = Tanh (a)\n c = Trilu (b)\n y = Add (b, c) }",
        ("Trilu", "Tanh"), {"through": "Trilu(c)"},
    ),
    Case("limit-instructions", "y", chain(65), ("y = Tanh (t64)", "y = Transpose (t64)"), {"count": 65, "limit": 64}),
    Case("limit-inputs", "y", sums(17), ("x16) }", "x15) }"), {"count": 17, "limit": 16}),
    Case("limit-outputs", "a8", taps(9), (f", {T} a7", ""), {"count": 9, "limit": 8}),
    Case(
        "ub-overflow", "r", ROTARY, ("65536", "4096"), {"need_bytes": ..., "ub_bytes": ...}, opset=13,
        label="long-row",
    ),
    Case(
        "ub-overflow", "r", ROTARY.replace("65536", "4096"), {"ub_reserve": 0.2},
        {"need_bytes": ..., "ub_bytes": ...}, {"ub_reserve": 0.95}, opset=13, label="reserve",
    ),
    Case(
        "no-gain", "a", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Tanh (a) }}", {"min_gain": 0.3},
        {"before_us": ..., "after_us": ..., "gain_us": ...}, {"min_gain": 0.9},
    ),
    Case(
        "parallelism-lost", "y",
        "g (float[n,4000000] x) => (float[n,1] y) <int64[1] axes = {-1}> "
        "{ a = Relu (x)\n b = Tanh (a)\n y = ReduceSum (b, axes) }",
        {"dims": {"n": 40}}, {"cores_before": ..., "cores_after": 1}, {"dims": {"n": 1}},
    ),
    Case("conversion-cost", "t1", casts(31), {"min_gain": 0.9}, {"cast_us": ...}, {"min_gain": 0.965}),
    Case(
        "quantised", "q",
        f"g ({T} x, float s, uint8 z) => ({T} y) "
        "{ a = Relu (x)\n q = QuantizeLinear (a, s, z)\n d = DequantizeLinear (q, s, z)\n y = Relu (d) }",
        ("q = QuantizeLinear (a, s, z)\n d = DequantizeLinear (q, s, z)\n y = Relu (d)", "q = Tanh (a)\n y = Relu (q)"),
        {"scale": "s"},
    ),
    Case(
        "nothing-to-join", "a", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Trilu (a) }}",
        ("Trilu", "Tanh"), {"neighbour": "Trilu(y)", "why": "own-kernel"},
    ),
    Case(
        "rule-ignored", "y", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Softmax (a) }}", {"ignore": ()},
        {"rule": "AF301"}, {"ignore": ("AF3*",)},
    ),
    Case(
        "own-kernel", "y", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n y = Trilu (a) }}",
        ("Trilu", "Tanh"), {"op": "Trilu"},
    ),
)  # fmt: skip


def ident(case: Case) -> str:
    return f"{case.code}-{case.label}" if case.label else case.code


def fixed(case: Case) -> dict[str, object]:
    """Figures that no calibration of the engine moves."""
    return {k: v for k, v in case.figures.items() if v is not ...}


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's rule that holds from opset 20 on."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "USER001.toml").write_text(LATE_RULE)
    return folder


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_reason(case: Case, late: Path) -> None:
    rules = late if case.code == "opset-out-of-range" else None
    miss = told(case.plan(rules), case.node)[case.code].miss
    assert {k: miss.figures[k] for k, v in case.figures.items() if v is not ...} == fixed(case)
    assert all(float(miss.figures[k]) > 0 for k, v in case.figures.items() if v is ...)
    assert miss.message
    assert case.code not in told(case.changed(rules), case.node)


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_figure_stands_in_the_message_or_beside_it(case: Case, late: Path) -> None:
    """No reason without what decided it: an axis, a count, a time, a name."""
    rules = late if case.code == "opset-out-of-range" else None
    miss = told(case.plan(rules), case.node)[case.code].miss
    assert miss.figures
    assert all(v != "" for v in miss.figures.values())


def test_the_conversion_figure_is_the_cause() -> None:
    """Without the time of its conversions the region would pay: 0.965 of 31 launches and sweeps."""
    case = next(c for c in CASES if c.code == "conversion-cost")
    figures = told(case.plan(), case.node)["conversion-cost"].miss.figures
    before, after, cast = (float(figures[k]) for k in ("before_us", "after_us", "cast_us"))
    wanted = 0.965 * before
    assert before - after < wanted <= before - after + cast


def test_the_smallest_tile_is_larger_than_the_buffer() -> None:
    for case in (c for c in CASES if c.code == "ub-overflow"):
        figures = told(case.plan(), case.node)["ub-overflow"].miss.figures
        assert int(figures["need_bytes"]) > int(figures["ub_bytes"])


def test_a_region_that_nobody_reads_stays_as_it_is() -> None:
    """Dead nodes are no error and get no kernel: a program without an output is none."""
    case = Case(
        "nothing-to-join", "b", f"g ({T} x) => ({T} y) {{ a = Relu (x)\n b = Tanh (a)\n y = Trilu (x) }}", ("", ""), {}
    )
    plan = case.plan()
    assert plan.regions == ()
    assert told(plan, "b")["nothing-to-join"].miss.figures["why"] == "unread"


def test_a_step_beyond_a_region_is_told_why() -> None:
    """The reason of the region that did not take it, not that its neighbour is taken."""
    plan = next(c for c in CASES if c.code == "limit-inputs").plan()
    assert len(plan.regions) == 1
    assert len(plan.misses) == 1


def test_no_near_miss_of_an_idiom_that_matched() -> None:
    graph = next(c for c in CASES if c.code == "value-escapes")
    assert {m.miss.code for m in graph.changed().misses} == {"no-gain"}
