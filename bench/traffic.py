"""GM bytes of fused nodes: promised by the engine, moved on the emulator, and the least possible: `docs/traffic.md`.

    python bench/traffic.py [--blocks NAME ...] > docs/traffic.md

The page goes to standard output, progress to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.fusion_block import BLOCKS
from bench.traffic_case import Row, cases, distinct, run
from bench.traffic_page import page, space

TARGETS = (
    ("Ascend910B3", "float32"),
    ("Ascend910B3", "float16"),
    ("Ascend310P3", "float16"),
    ("Ascend910A", "float16"),
    ("Ascend950PR_9599", "float16"),
)


def rows_of(soc: str, dtype: str, names: Sequence[str]) -> list[Row]:
    """The rows of a chip."""
    rows: list[Row] = []
    for case in distinct(case for block in BLOCKS if block.name in names for case in cases(block, soc, dtype)):
        print(soc, dtype, case.block, space(case), file=sys.stderr, flush=True)
        rows.append(run(case))
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = tuple(block.name for block in BLOCKS)
    parser.add_argument("--blocks", nargs="*", choices=names, default=names, metavar="NAME")
    return parser


def main() -> None:
    options = _parser().parse_args()
    sys.stdout.write(page([(*target, rows_of(*target, options.blocks)) for target in TARGETS]))


if __name__ == "__main__":
    main()
