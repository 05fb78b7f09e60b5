"""Shares as people read them."""

from __future__ import annotations

import pytest

from ascend_fuse.report.quantity import share


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(41, 100, "-41 %"), (-3, 100, "+3 %"), (0, 100, "0 %"), (0.4, 100, "0 %"), (-0.4, 100, "0 %"), (1, 0, "")],
)
def test_a_share_has_a_sign_unless_it_is_nothing(part: float, whole: float, shown: str) -> None:
    assert share(part, whole) == shown
