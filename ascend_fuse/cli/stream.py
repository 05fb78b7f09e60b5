"""Standard error and streams that nobody reads."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def say(sentence: str) -> None:
    """One line on standard error, if anybody reads that."""
    from ascend_fuse.report.github import harmless
    from ascend_fuse.report.page import printable

    line = harmless(printable(" ".join(sentence.splitlines())))
    try:
        print(f"ascend-fuse: {line}", file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def silence(stream: object) -> None:
    """What is still in the stream's buffer goes nowhere, instead of failing at exit."""
    with suppress(OSError, ValueError):
        if isinstance(stream, io.TextIOWrapper):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
