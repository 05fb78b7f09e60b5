"""What has to become exactly one node, in each of the three float types."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from onnx import ModelProto
from pipeline_model import feeds, fuse, launches, parse, run, same_bits, typed

T = "T[2,4,64,64]"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`text` in terms of a float type T; `rule` names the one region; `outputs` of its node; `seeded`: same numbers."""

    text: str
    rule: str
    outputs: int = 1
    seeded: bool = True


RMS = """q = Mul (h, h) m = ReduceMean <keepdims = 1> (q, axes) e = Add (m, eps) d = Sqrt (e) i = Reciprocal (d)
    n = Mul (h, i) y = Mul (n, gain)"""

WANTED = {
    "softmax-dropout-seeded": Wanted(
        f"g ({T} x) => ({T} y) <float ratio = {{0.25}}, bool on = {{1}}> "
        "{ a = Softmax (x) y = Dropout <seed = 5> (a, ratio, on) }",
        "AF303",
    ),
    "softmax-dropout": Wanted(
        f"g ({T} x) => ({T} y) <float ratio = {{0.25}}, bool on = {{1}}> "
        "{ a = Softmax (x) y = Dropout (a, ratio, on) }",
        "AF303", seeded=False,
    ),
    "softmax-dropout-mask-read": Wanted(
        f"g ({T} x) => ({T} y, bool[2,4,64,64] keep) <float ratio = {{0.25}}, bool on = {{1}}> "
        "{ a = Softmax (x) y, keep = Dropout <seed = 5> (a, ratio, on) }",
        "AF303", 2,
    ),
    "softmax-mask": Wanted(f"g ({T} x, {T} keep) => ({T} y) {{ a = Softmax (x) y = Mul (a, keep) }}", "AF304"),
    "scale-mask-softmax": Wanted(
        f"g ({T} x, T[2,1,64,64] mask) => ({T} y) <T scale = {{0.125}}> "
        "{ s = Mul (x, scale) m = Add (s, mask) y = Softmax (m) }",
        "AF302",
    ),
    "where-softmax": Wanted(
        f"g ({T} x, bool[2,1,64,64] keep) => ({T} y) <T fill = {{-10000.0}}> "
        "{ m = Where (keep, x, fill) y = Softmax (m) }",
        "AF302",
    ),
    "scale-mask-softmax-dropout": Wanted(
        f"g ({T} x, T[2,1,64,64] mask) => ({T} y) <T scale = {{0.125}}, float ratio = {{0.1}}, bool on = {{1}}> "
        "{ s = Mul (x, scale) m = Add (s, mask) a = Softmax (m) y = Dropout <seed = 5> (a, ratio, on) }",
        "AF303",
    ),
    "add-layer-norm": Wanted(
        "g (T[2,64,256] x, T[2,64,256] r, T[256] w, T[256] b) => (T[2,64,256] y, T[2,64,256] h) "
        "{ h = Add (x, r) y = LayerNormalization (h, w, b) }",
        "AF202", 2,
    ),
    "add-rms-norm": Wanted(
        "g (T[2,64,256] x, T[2,64,256] r, T[256] gain) => (T[2,64,256] y, T[2,64,256] h) "
        f"<T eps = {{0.00001}}, int64[1] axes = {{-1}}> {{ h = Add (x, r) {RMS} }}",
        "AF204", 2,
    ),
}  # fmt: skip


def model_of(wanted: Wanted, dtype: str) -> ModelProto:
    return typed(parse(wanted.text.replace("T[", "float[").replace("<T ", "<float ")), dtype)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", WANTED)
def test_one_node_and_the_same_bits(name: str, dtype: str) -> None:
    wanted = WANTED[name]
    model = model_of(wanted, dtype)
    result = fuse(model)
    assert launches(result.model) == ["ai.ascendfuse:FusedRowwise"]
    (region,) = result.plan.regions
    assert region.rules[0] == wanted.rule
    assert len(region.outputs) == wanted.outputs
    assert result.plan.misses == ()
    assert result.plan.totals_after.launches == 1
    if wanted.seeded:
        values = feeds(model)
        assert same_bits(run(model, values), run(result.model, values))


@pytest.mark.parametrize("name", WANTED)
def test_bf16_is_planned_and_proved(name: str) -> None:
    """ONNX Runtime's CPU provider has no bf16; the proof runs the body at f32."""
    result = fuse(model_of(WANTED[name], "bf16"))
    (region,) = result.plan.regions
    assert region.rules[0] == WANTED[name].rule
    assert "bf16[" in region.program


@pytest.mark.parametrize("name", WANTED)
def test_a_chip_without_bf16_refuses_it(name: str) -> None:
    plan = fuse(model_of(WANTED[name], "bf16"), soc="Ascend310P3").plan
    assert plan.regions == ()
    assert {m.miss.code for m in plan.misses} == {"dtype-unsupported"}


def test_an_unseeded_dropout_stays_random() -> None:
    """The fused node draws as the original does: about a quarter is dropped, the rest scaled by 4/3."""
    model = model_of(WANTED["softmax-dropout"], "f32")
    values = feeds(model)
    kept = run(fuse(model).model, values)[0]
    soft = run(parse(f"g ({T} x) => ({T} y) {{ y = Softmax (x) }}".replace("T[", "float[")), values)[0]
    dropped = kept == 0
    assert 0.2 < dropped.mean() < 0.3
    assert abs(kept[~dropped] / soft[~dropped] - 4 / 3).max() < 1e-5


def test_half_types_keep_their_rounding() -> None:
    """Softmax's exponentials run in f32 between casts, the tensors stay f16."""
    (region,) = fuse(model_of(WANTED["scale-mask-softmax"], "f16")).plan.regions
    assert region.program.count("= cast ") == 2
    assert ": f16[d0, d1, d2 | d3] = in" in region.program


def test_the_sum_of_a_residual_is_written_once_more_only_where_it_is_read() -> None:
    text = WANTED["add-layer-norm"].text
    one = fuse(parse(text.replace(", T[2,64,256] h) {", ") {").replace("T[", "float["))).plan.regions[0]
    two = fuse(parse(text.replace("T[", "float["))).plan.regions[0]
    assert (len(one.outputs), len(two.outputs)) == (1, 2)
    assert two.figures.after.hbm_bytes - one.figures.after.hbm_bytes == 2 * 64 * 256 * 4
