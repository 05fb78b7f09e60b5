"""Python's cycle collector while a graph is planned: tens of objects a node are made, all live to the end, in no cycle.

At its usual pace it walks all of them again and again: a third of the time at 100,000 nodes.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_SELDOM = 200_000  # objects made before the collector looks


@contextmanager
def collecting_seldom() -> Generator[None]:
    """Let it look seldom, and as before behind this; also a decorator."""
    usual = gc.get_threshold()
    gc.set_threshold(max(_SELDOM, usual[0]) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
