"""The page of verdicts is what its command writes today."""

from __future__ import annotations

from pathlib import Path

from bench.verdicts import render

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verdicts.md"


def test_the_page_of_verdicts_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render(), "run `python bench/verdicts.py > docs/verdicts.md`"
