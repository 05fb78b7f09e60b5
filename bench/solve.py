"""CPU milliseconds of one tiling of a product with its epilogue, over random products on each kind of chip.

python bench/solve.py [--count N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ascend_fuse import _engine
from bench.product_case import EPILOGUES, Case

CHIPS = ("Ascend910A", "Ascend310P3", "Ascend910B1", "Ascend950PR_9599")


def size(most: int) -> int:
    """Sizes of all magnitudes alike."""
    return int(most ** random.random())


def times(chip: str, count: int) -> list[float]:
    """Milliseconds, sorted."""
    soc, bounds, taken = _engine.soc(chip), _engine.Bounds(), list[float]()
    for _ in range(count):
        steps = EPILOGUES[random.choice(list(EPILOGUES))]
        case = Case(size(100), size(8192), size(16384), size(16384), steps, shared=random.random() < 0.5)
        program = case.program()
        begin = time.process_time_ns()
        _engine.solve_gemm(program, case.sizes, soc, bounds)
        taken.append((time.process_time_ns() - begin) / 1e6)
    return sorted(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    random.seed(0)
    print(f"{'chip':18} {'median':>7} {'99 %':>7} {'worst':>7}  ms of {count}")
    for chip in CHIPS:
        taken = times(chip, count)
        print(f"{chip:18} {statistics.median(taken):7.3f} {taken[int(0.99 * (count - 1))]:7.3f} {taken[-1]:7.3f}")


if __name__ == "__main__":
    main()
