"""Sizes: an int, or a polynomial over named sizes that stays equal to itself under rearrangement.

`b*s` from a Reshape and `s*b` from another are one Dim; a size that nothing is known about is a fresh symbol, equal to
itself alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sym:
    """A polynomial with integer coefficients: `terms` sorted by monomial; never constant (that is an int)."""

    terms: tuple[tuple[Monomial, int], ...]

    def __str__(self) -> str:
        parts = ["*".join(([str(c)] if c != 1 or not m else []) + list(m)) for m, c in self.terms]
        return "+".join(parts)

    @property
    def symbols(self) -> frozenset[str]:
        """The names that the size depends on."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)


Dim = int | Sym


def symbol(name: str) -> Sym:
    """The size called `name`."""
    return Sym((((name,), 1),))


def _terms(d: Dim) -> dict[Monomial, int]:
    if isinstance(d, int):
        return {(): d} if d else {}
    return dict(d.terms)


def _dim(terms: Mapping[Monomial, int]) -> Dim:
    kept = tuple(sorted((m, c) for m, c in terms.items() if c))
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    return Sym(kept)


def add(a: Dim, b: Dim) -> Dim:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    out = _terms(a)
    for m, c in _terms(b).items():
        out[m] = out.get(m, 0) + c
    return _dim(out)


def mul(a: Dim, b: Dim) -> Dim:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    out: dict[Monomial, int] = {}
    for ma, ca in _terms(a).items():
        for mb, cb in _terms(b).items():
            m = tuple(sorted(ma + mb))
            out[m] = out.get(m, 0) + ca * cb
    return _dim(out)


def neg(a: Dim) -> Dim:
    """-a."""
    return mul(a, -1)


def product(dims: Iterable[Dim]) -> Dim:
    """The product of all, 1 for none."""
    out: Dim = 1
    for d in dims:
        out = mul(out, d)
    return out


def divide(a: Dim, b: Dim) -> Dim | None:
    """a / b where it is exact for every value of the symbols and b is a single term, else None."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    if a == b:
        return 1
    divisor = list(_terms(b).items())
    if len(divisor) != 1:
        return None
    (mono, coef) = divisor[0]
    out: dict[Monomial, int] = {}
    for m, c in _terms(a).items():
        rest = list(m)
        for name in mono:
            if name not in rest:
                return None
            rest.remove(name)
        if coef == 0 or c % coef:
            return None
        out[tuple(rest)] = c // coef
    return _dim(out)


def at_least(d: Dim) -> int:
    """A lower bound, as every named size is at least 0; for a negative coefficient a very small number."""
    if isinstance(d, int):
        return d
    if any(c < 0 for m, c in d.terms if m):
        return -(1 << 62)
    return sum(c for m, c in d.terms if not m)


def evaluate(d: Dim, sizes: Mapping[str, int]) -> int:
    """The value for the given sizes. Raises KeyError on a symbol without one."""
    if isinstance(d, int):
        return d
    total = 0
    for monomial, c in d.terms:
        for name in monomial:
            c *= sizes[name]
        total += c
    return total
