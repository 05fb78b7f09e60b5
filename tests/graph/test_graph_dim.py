"""The algebra of sizes against the integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_fuse.graph.dim import Dim, Sym, add, at_least, divide, evaluate, mul, neg, product, symbol

NAMES = ("b", "s", "?1")
LEAVES = st.one_of(st.integers(-4, 9), st.sampled_from(NAMES).map(symbol))
DIMS: st.SearchStrategy[Dim] = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from((add, mul)), inner, inner).map(lambda p: p[0](p[1], p[2])),
    max_leaves=5,
)  # fmt: skip
SIZES = st.fixed_dictionaries({n: st.integers(0, 7) for n in NAMES})


@given(DIMS, DIMS, SIZES)
def test_sums_and_products(a: Dim, b: Dim, sizes: dict[str, int]) -> None:
    x, y = evaluate(a, sizes), evaluate(b, sizes)
    assert evaluate(add(a, b), sizes) == x + y
    assert evaluate(mul(a, b), sizes) == x * y
    assert evaluate(neg(a), sizes) == -x
    assert evaluate(product([a, b, 3]), sizes) == x * y * 3


@given(DIMS, DIMS, DIMS)
def test_equal_under_rearrangement(a: Dim, b: Dim, c: Dim) -> None:
    """Equality is structural, so a normal form must exist."""
    assert add(a, b) == add(b, a)
    assert mul(a, b) == mul(b, a)
    assert add(add(a, b), c) == add(a, add(b, c))
    assert mul(mul(a, b), c) == mul(a, mul(b, c))
    assert mul(a, add(b, c)) == add(mul(a, b), mul(a, c))
    assert add(a, neg(a)) == 0


@given(DIMS, DIMS, SIZES)
def test_a_quotient_is_exact_for_every_size(a: Dim, b: Dim, sizes: dict[str, int]) -> None:
    found = divide(a, b)
    assert found is None or evaluate(found, sizes) * evaluate(b, sizes) == evaluate(a, sizes)


@given(DIMS, st.sampled_from((2, 3, symbol("b"), mul(2, symbol("s")), mul(symbol("b"), symbol("s")))))
def test_a_product_divides_by_its_factor(a: Dim, b: Dim) -> None:
    assert divide(mul(a, b), b) == a


@given(DIMS, SIZES)
def test_the_lower_bound_holds(a: Dim, sizes: dict[str, int]) -> None:
    assert at_least(a) <= evaluate(a, sizes)


@given(DIMS)
def test_a_constant_is_an_int(a: Dim) -> None:
    assert isinstance(a, int) or (isinstance(a, Sym) and a.symbols)


@given(DIMS, DIMS)
def test_equal_polynomials_of_equal_values(a: Dim, b: Dim) -> None:
    """On a grid larger than the degree, equal values mean the same polynomial: none is equal by another name."""
    grid = [dict(zip(NAMES, p, strict=True)) for p in ((x, y, z) for x in range(6) for y in range(6) for z in range(6))]
    agree = all(evaluate(a, s) == evaluate(b, s) for s in grid)
    assert agree == (a == b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (7, 2), (symbol("b"), 2), (symbol("b"), symbol("s")), (add(symbol("b"), 1), symbol("b")),
        (5, 0), (symbol("b"), 0),
    ],
)  # fmt: skip
def test_what_does_not_divide_for_every_size(a: Dim, b: Dim) -> None:
    assert divide(a, b) is None


def test_a_missing_size_is_an_error() -> None:
    with pytest.raises(KeyError):
        evaluate(symbol("b"), {})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: mul(symbol("b"), 2), "2*b"), (lambda: add(symbol("b"), 3), "3+b"),
        (lambda: mul(symbol("s"), symbol("b")), "b*s"), (lambda: symbol("?1"), "?1"),
    ],
)  # fmt: skip
def test_text(make: Callable[[], Dim], text: str) -> None:
    assert str(make()) == text
