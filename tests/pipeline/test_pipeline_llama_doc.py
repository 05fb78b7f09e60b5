"""The page of the LLaMA-7B block is what its command writes today."""

from __future__ import annotations

from pathlib import Path

from bench.llama_block import render

PAGE = Path(__file__).resolve().parents[2] / "docs" / "llama-7b.md"


def test_the_page_of_the_llama_block_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render(), "run `python bench/llama_block.py > docs/llama-7b.md`"
