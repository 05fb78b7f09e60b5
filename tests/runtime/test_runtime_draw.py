"""Dropout as it is trained: masks drawn on chip, in every spelling and family, never in GM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser

import ascend_fuse
import models
from ascend_fuse import runtime
from ascend_fuse.config import Settings
from ascend_fuse.preparation import prepare
from ascend_fuse.verify.kernels import verify_kernels

Array = npt.NDArray[Any]
HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
SHAPE = "float[64,256]"
SPELLINGS = {
    "dropout": "y = Dropout <seed = 5> (a, ratio, on)",
    "dropout-unseeded": "y = Dropout (a, ratio, on)",
    "uniform-less": "u = RandomUniformLike <dtype = 1> (a)\n k = Less (u, keep)\n m = Cast <to = 1> (k)\n d = Mul (a, m)\n y = Div (d, keep)",
    "uniform-greater": "u = RandomUniformLike <seed = 5.0> (a)\n k = Greater (u, ratio)\n z = Where (k, a, zero)\n y = Div (z, keep)",
    "bernoulli": "p = Mul (a, zero)\n q = Add (p, ratio)\n k = Bernoulli <dtype = 9> (q)\n z = Where (k, a, zero)\n y = Div (z, keep)",
}
FAMILIES = {
    "elementwise": ("", "b = Add (x, one)\n a = Max (b, one)"),
    "rowwise": ("", "b = Softmax <axis = -1> (x)\n a = Mul (b, many)"),
    "matmul": (", float[256,256] w", "b = MatMul (x, w)\n c = Mul (b, zero)\n a = Add (c, one)"),
}
RATIO = 0.25


def model(family: str, spelling: str) -> onnx.ModelProto:
    more, body = FAMILIES[family]
    return parser.parse_model(
        f"{HEADER} g ({SHAPE} x{more}) => ({SHAPE} y) <float ratio = {{{RATIO}}}, float keep = {{{1 - RATIO}}}, bool on = {{1}},"
        f" float zero = {{0}}, float one = {{1}}, float many = {{4096}}> {{ {body}\n {SPELLINGS[spelling]} }}"
    )


def feeds(family: str) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 256)).astype(np.float32)
    return {"x": x} | ({"w": np.eye(256, dtype=np.float32)} if family == "matmul" else {})


def runs(path: Path, family: str, count: int = 2, outputs: Sequence[str] | None = None) -> list[Array]:
    session = runtime.session(path)
    return [session.run(outputs, feeds(family))[0] for _ in range(count)]


def independent(a: Array, b: Array, share: float) -> bool:
    """Whether two masks agree as often as independent ones do, within five standard deviations."""
    chance = share**2 + (1 - share) ** 2
    return abs((a == b).mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / a.size)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_draws_on_chip(tmp_path: Path, family: str, spelling: str) -> None:
    source, out = tmp_path / "m.onnx", tmp_path / "f.onnx"
    onnx.save(model(family, spelling), source)
    result = ascend_fuse.optimize(source, output=out)
    assert [r.family for r in result.plan.regions] == [family], result.plan.misses
    assert result.plan.totals_after.launches == 1
    runtime.reset_counters()
    first, second = runs(out, family)
    (node,) = runtime.counters().nodes
    shape = (64, 256)
    for got in (first, second):
        kept = got != 0
        assert kept.shape == shape
        assert abs(kept.mean() - (1 - RATIO)) < 5 * np.sqrt(RATIO * (1 - RATIO) / kept.size)
        np.testing.assert_allclose(
            got[kept].min() * (1 - RATIO), 1 if family != "rowwise" else got[kept].min() * 0.75, rtol=1e-5
        )
    assert independent(first != 0, second != 0, 1 - RATIO)  # of two runs
    assert independent((first != 0)[:, :-1], (first != 0)[:, 1:], 1 - RATIO)  # of neighbours
    assert independent((first != 0)[:-1], (first != 0)[1:], 1 - RATIO)  # of rows
    inputs = sum(a.nbytes for a in feeds(family).values())
    # what is loaded and stored is inputs and output alone: no mask in GM (a split chip's product goes through it)
    assert node.distinct_loaded_bytes / node.runs == inputs or family == "matmul"
    assert node.distinct_stored_bytes / node.runs == first.nbytes or family == "matmul"
    found = verify_kernels(source, out, prepare(Settings()), {})
    assert found.ok, found.failures()


def test_a_seed_gives_the_same_masks_in_every_session(tmp_path: Path) -> None:
    source, out = tmp_path / "m.onnx", tmp_path / "f.onnx"
    onnx.save(model("rowwise", "dropout"), source)
    ascend_fuse.optimize(source, output=out)
    first, again = runs(out, "rowwise", 3), runs(out, "rowwise", 3)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    onnx.save(model("rowwise", "dropout-unseeded"), source)
    ascend_fuse.optimize(source, output=out)
    one, other = runs(out, "rowwise", 1)[0], runs(out, "rowwise", 1)[0]
    assert independent(one != 0, other != 0, 1 - RATIO)


def test_two_draws_of_a_node_are_independent(tmp_path: Path) -> None:
    text = f"""{HEADER} g ({SHAPE} x) => ({SHAPE} y, bool[64,256] m, bool[64,256] n) <float ratio = {{0.25}}, bool on = {{1}}>
    {{ a, m = Dropout (x, ratio, on)
       b = Add (a, x)
       y, n = Dropout (b, ratio, on) }}"""
    source, out = tmp_path / "m.onnx", tmp_path / "f.onnx"
    onnx.save(parser.parse_model(text), source)
    assert ascend_fuse.optimize(source, output=out).plan.totals_after.launches == 1
    _, m, n = runtime.session(out).run(None, {"x": np.ones((64, 256), np.float32)})
    assert independent(m, n, 0.75)
    assert abs(m.mean() - 0.75) < 0.02


def test_halves_are_scaled_by_what_was_asked_for(tmp_path: Path) -> None:
    """1 / 0.9 as a half is 1.11133: every element would be 2e-4 too large."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float16[64,256] x) => (float16[64,256] y)
    <float ratio = {0.1}, bool on = {1}> { a = Abs (x)\n y = Dropout <seed = 3> (a, ratio, on) }"""
    source, out = tmp_path / "m.onnx", tmp_path / "f.onnx"
    onnx.save(parser.parse_model(text), source)
    assert ascend_fuse.optimize(source, output=out).plan.totals_after.launches == 1
    x = (np.random.default_rng(0).random((64, 256)) + 0.5).astype(np.float16)
    (y,) = runtime.session(out).run(None, {"x": x})
    kept = y != 0
    exact = x[kept].astype(np.float64) / 0.9
    np.testing.assert_array_equal(y[kept], exact.astype(np.float16))


@pytest.mark.parametrize("form", ["dropout", "dropout_mask", "random_uniform"])
def test_a_training_attention_block_is_one_node(tmp_path: Path, form: Any) -> None:
    source, out = tmp_path / "m.onnx", tmp_path / "f.onnx"
    models.save(models.attention_training(form, heads=4, seq=64), source)
    plan = ascend_fuse.optimize(source, output=out).plan
    assert [r.family for r in plan.regions] == ["rowwise"]
    assert plan.totals_after.launches == 1
    runtime.reset_counters()
    scores = np.zeros((1, 4, 64, 64), np.float32)
    outputs = runtime.session(out).run(None, {"scores": scores, "mask": np.zeros((1, 1, 1, 64), np.float32)})
    (node,) = runtime.counters().nodes
    weights = outputs[-1]
    stored = scores.nbytes + (scores.size if form == "dropout_mask" else 0)  # a mask is a byte where it is used
    assert node.distinct_stored_bytes == stored
    np.testing.assert_allclose(weights[weights != 0], 1 / 64 / 0.9, rtol=1e-5)
    assert abs((weights != 0).mean() - 0.9) < 0.02
