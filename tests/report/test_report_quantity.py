"""Shares as people read them."""

from __future__ import annotations

import pytest

from ascend_fuse.report import quantity
from ascend_fuse.report.quantity import share


def test_nouns_and_portions() -> None:
    assert [quantity.counted(n, "launch", "es") for n in (0, 1, 1411)] == ["0 launches", "1 launch", "1,411 launches"]
    assert [quantity.portion(p) for p in (0, 0.254, 1)] == ["0 %", "25 %", "100 %"]


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(41, 100, "-41 %"), (-3, 100, "+3 %"), (0, 100, "0 %"), (0.4, 100, "0 %"), (-0.4, 100, "0 %"), (1, 0, "")],
)
def test_a_share_has_a_sign_unless_it_is_nothing(part: float, whole: float, shown: str) -> None:
    assert share(part, whole) == shown
