"""What fused nodes did, as the library counts it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ascend_fuse.runtime.library import load


@dataclass(frozen=True, slots=True)
class NodeCounters:
    """One node of one session, or a sum of them.

    Bytes are those that cores moved between GM and UB or the cube, counted as often as they moved; `distinct_…`
    count each byte of a tensor once a launch (0 of a device, which does not tell). `ub_peak` is the largest of all
    launches. `verdict` is the engine's for the sizes of the last run. Times are in ONNX Runtime's profile.
    """

    runs: int
    fused_runs: int
    launches: int
    loaded_bytes: int
    stored_bytes: int
    distinct_loaded_bytes: int
    distinct_stored_bytes: int
    ub_peak: int
    session: int = 0
    node: str = ""
    family: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Counters:
    """All nodes that ran since the last reset, in the order in which they were compiled."""

    total: NodeCounters
    nodes: tuple[NodeCounters, ...]


def read_node(document: Mapping[str, Any]) -> NodeCounters:
    """The counters of a JSON object of the library."""
    return NodeCounters(**document)


def counters() -> Counters:
    """What the fused nodes of this process did, sessions that ended included."""
    document = json.loads(load().ascend_fuse_counters())
    return Counters(read_node(document["total"]), tuple(read_node(n) for n in document["nodes"]))


def reset_counters() -> None:
    """Counts from zero; nodes of sessions that ended are forgotten."""
    load().ascend_fuse_reset_counters()
