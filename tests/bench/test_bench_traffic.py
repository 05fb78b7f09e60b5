"""What bench/traffic.py says: launches move what the engine promised, and docs/traffic.md is of this engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.fusion_block import BLOCKS, Block
from bench.traffic import TARGETS
from bench.traffic_case import cases, distinct, promise, run
from bench.traffic_page import HEAD, page, space

PAGE = Path(__file__).parents[2] / "docs/traffic.md"
SMALL = (
    Block("attention", "bert-layer", 0, {"seq": 17, "hidden": 64, "heads": 2}),
    Block("decode", "llama-block", 0, {"hidden": 64, "heads": 2, "kv_heads": 2, "inner": 96, "seq": 1, "past": 20}),
    Block("convolution", "mobilenet-block", 0, {"channels": 16, "inner": 48, "size": 6}, "blocks"),
)
PLANNED = ("ResNet bottleneck", "MobileNetV3 block", "LLaMA layer, decode")  # those that plan in a second


@pytest.mark.parametrize("block", SMALL, ids=lambda block: block.name)
@pytest.mark.parametrize(("soc", "dtype"), TARGETS)
def test_launches_move_what_was_promised_and_are_right(block: Block, soc: str, dtype: str) -> None:
    rows = [run(case) for case in cases(block, soc, dtype)]
    assert rows
    for row in rows:
        assert row.kept and row.share <= 1, row
        if not row.refused and not row.case.program.startswith("matmul "):
            assert (row.distinct.loaded, row.distinct.stored) == (row.least.loaded, row.least.stored), row


def test_a_row_that_broke_its_promise_is_told() -> None:
    (row, *_) = (run(case) for case in cases(SMALL[2], *TARGETS[0]))
    assert row.kept
    broken = replace(row, moved=replace(row.moved, loaded=row.moved.loaded + 1))
    assert not broken.kept
    assert f"0 of 1 moved what was promised and lie within their bounds; not {space(row.case)}" in page(
        [("chip", "float32", [broken])]
    )


@pytest.mark.parametrize(("soc", "dtype"), TARGETS)
def test_the_page_is_of_this_engine(soc: str, dtype: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    section = text.split(f"## {soc}, {dtype}\n")[1].split("\n## ")[0]
    for block in (block for block in BLOCKS if block.name in PLANNED):
        for case in distinct(cases(block, soc, dtype)):
            promised, refused = promise(case)
            if refused:
                continue
            figures = (space(case), f"{promised.loaded} + {promised.stored}", str(promised.ub))
            assert any(all(f"| {f} |" in line for f in figures) for line in section.splitlines()), figures
