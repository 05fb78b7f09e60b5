"""What the values of options are read as; each reader raises ValueError that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

Weights = Literal["copy", "link"]
Verify = bool | Literal["kernels"]  # on the CPU provider; also through the kernels
Value = str | int | float | bool | tuple[str, ...]
Read = Callable[[object], Value]


def text(value: object) -> str:
    """A text with at least one character."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def path(value: object) -> str:
    """A path; an empty one is none."""
    if not isinstance(value, str):
        raise ValueError("a path")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of texts."""
    items = cast("list[object]", value) if isinstance(value, (list, tuple)) else [None]
    if not all(isinstance(i, str) and i for i in items):
        raise ValueError("a list of texts")
    return tuple(cast("list[str]", items))


def verify(value: object) -> Verify:
    """What is verified: nothing, on the CPU provider, or also through the kernels."""
    if value == "kernels":
        return "kernels"
    if value in ("no", "cpu"):
        return value == "cpu"
    if not isinstance(value, bool):
        raise ValueError('true, false or "kernels"')
    return value


def switch(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def weights(value: object) -> str:
    """What becomes of external weights."""
    if value not in ("copy", "link"):
        raise ValueError('"copy" or "link"')
    return cast(str, value)


def number(least: float, most: float) -> Read:
    """Reads a number in the range, its ends included."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise ValueError(f"a number from {least:g} to {most:g}")
        return float(value)

    return read


def integer(most: int, least: int = 1) -> Read:
    """Reads an integer in the range, its ends included."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"an integer from {least} to {most}")
        return value

    return read


def percent(most: int) -> Read:
    """Reads percents, as 30 or "30%". Raises ValueError for a fraction of one without the sign: it may be a share."""
    expected = f"percents from 0 to {most:,}, such as 30 or 30%"

    def read(value: object) -> float:
        signed = isinstance(value, str) and value.endswith("%")
        try:
            number = float(value.removesuffix("%")) if isinstance(value, str) else value
        except ValueError:
            raise ValueError(expected) from None
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= most:
            raise ValueError(expected)
        if 0 < number < 1 and not signed:
            raise ValueError(f"{number:g}% if percents are meant, {100 * number:g}% if it is a share of one")
        return float(number)

    return read
