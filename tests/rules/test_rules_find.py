"""Searching a whole view: the larger match stays, misses are told once, long graphs take seconds."""

from __future__ import annotations

import numpy as np
import pytest
import rule_case

from ascend_fuse.rule import constant
from ascend_fuse.rule.find import find
from ascend_fuse.rule.load import load_rules

NORM = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] a, float[2,8] b, float[8] w) => (float[2,8] y, float[2,8] s)
<float two = {2}, float eps = {1e-6}>
{
  s = Add (a, b)
  p = Pow (s, two)
  m = ReduceMean <axes = [-1]> (p)
  g = Add (m, eps)
  r = Sqrt (g)
  i = Reciprocal (r)
  n = Mul (s, i)
  y = Mul (w, n)
}"""
TWO_GELUS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x) => (float[2,8] y)
<float sqrt2 = {1.41421356}, float one = {1}, float half = {0.5}, float off = {0.51}>
{
  a = Div (x, sqrt2)
  b = Erf (a)
  c = Add (b, one)
  d = Mul (x, c)
  e = Mul (d, half)
  f = Div (e, sqrt2)
  g = Erf (f)
  h = Add (g, one)
  i = Mul (e, h)
  y = Mul (i, off)
}"""


def test_the_larger_pattern_names() -> None:
    matches, misses = find(rule_case.view(NORM), load_rules(), "anchor")
    assert [(m.rule.code, m.nodes, m.outputs) for m in matches] == [("AF204", tuple(range(8)), ("s", "y"))]
    assert misses == ()


def test_the_next_rule_names_when_the_first_is_ignored() -> None:
    rules = load_rules().choose([], ["AF204", "AF203"])
    matches, _ = find(rule_case.view(NORM), rules, "anchor")
    assert [m.rule.code for m in matches] == ["AF209"]


def test_idioms_and_their_near_misses() -> None:
    view = rule_case.view(TWO_GELUS)
    matches, misses = find(view, load_rules(), "idiom")
    assert [(m.rule.code, m.nodes, dict(m.inputs)["x"], m.outputs) for m in matches] == [
        ("AF010", (0, 1, 2, 3, 4), "x", ("e",))
    ]
    assert [(m.rule, m.code, m.node) for m in misses] == [("AF010", "constant-mismatch", 9)]
    assert misses[0].figures["found"] == pytest.approx(0.51) and misses[0].figures["wanted"] == 0.5
    assert find(view, load_rules(), "idiom") == (matches, misses)


def test_builtins_find_nothing() -> None:
    assert find(rule_case.view(NORM), load_rules(), "chain") == ((), ())


@pytest.mark.parametrize(
    ("dtype", "value", "wanted", "same"),
    [
        ("float32", np.nextafter(np.float32(0.5), np.float32(1)), 0.5, True),
        ("float32", 0.5 + 3 * 2.0**-24, 0.5, False),
        ("float16", 1.4140625, 2**0.5, True),
        ("float64", np.float64(np.float32(2**0.5)), 2**0.5, False),
        ("int64", 3, 3, True),
        ("int64", 2, 3, False),
        ("bool", True, True, True),
        ("bool", True, 1, False),
        ("float32", 1.0, True, False),
        ("float32", np.nan, 0.5, False),
        ("float32", np.inf, 0.5, False),
    ],
)
def test_constants_by_value(dtype: str, value: float, wanted: float, same: bool) -> None:
    assert constant.equals(np.asarray(value, dtype), wanted) is same
