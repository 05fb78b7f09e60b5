"""Counters and profiles."""

from __future__ import annotations

import json
from pathlib import Path

import onnxruntime
import pytest

from ascend_fuse import runtime
from tests.runtime.runtime_model import PROVIDER, arrays, fused_model, open_session


def test_counters_add_up_and_start_again() -> None:
    runtime.reset_counters()
    model = fused_model()
    model.graph.node[1].name = 'odd "name"\\\n\tü'
    session = open_session(model)
    for rows in (5, 5, 8):
        session.run(None, arrays(rows))
    found = runtime.counters()
    (node,) = found.nodes
    assert node.node == 'odd "name"\\\n\tü'
    assert node.verdict.startswith("fuse: saves ")
    assert (node.runs, node.launches, node.stored_bytes) == (3, 3, (5 + 5 + 8) * 16 * 4)
    assert (found.total.runs, found.total.loaded_bytes) == (3, node.loaded_bytes)
    assert 0 < node.ub_peak < 192 * 1024
    runtime.reset_counters()
    assert [n.runs for n in runtime.counters().nodes] == [0]  # the session lives
    del session
    runtime.reset_counters()
    assert runtime.counters().nodes == ()


def test_a_profile_has_an_event_for_each_run_of_a_fused_node(tmp_path: Path) -> None:
    if tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 25):
        pytest.skip("providers have profilers from onnxruntime 1.25 on")
    settings = onnxruntime.SessionOptions()
    settings.enable_profiling = True
    settings.profile_file_prefix = str(tmp_path / "profile")
    session = runtime.session(fused_model(), session_options=settings)
    for _ in range(3):
        session.run(None, arrays())
    events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    own = [e for e in events if e.get("args", {}).get("provider") == PROVIDER and e["name"] == "fused"]
    assert [e["args"]["launches"] for e in own] == ["1", "1", "1"]
    assert all(e["cat"] == "Kernel" and e["args"]["stored_bytes"] == str(5 * 16 * 4) for e in own)
    nodes = [e for e in events if e["cat"] == "Node" and e["name"].endswith("kernel_time")]
    assert min(e["ts"] for e in nodes) <= own[0]["ts"] <= max(e["ts"] + e["dur"] for e in nodes)
