"""How long `ascend-fuse --help` takes: prints the median of 20 starts in milliseconds, and the spread.

python bench/cli_start.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

STARTS = 20
LIMIT_MS = 300  # what we hold ourselves to; printed, not asserted: the machine decides too


def start_ms() -> float:
    """The wall time of one start."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "ascend_fuse", "--help"], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    start_ms()  # writes the bytecode
    times = sorted(start_ms() for _ in range(STARTS))
    print(
        f"ascend-fuse --help: median {statistics.median(times):.0f} ms, "
        f"least {times[0]:.0f}, most {times[-1]:.0f}, limit {LIMIT_MS}"
    )


if __name__ == "__main__":
    main()
