"""Prints how many of onnx's node models fuse; the chunks' counts travel as properties, from xdist's workers too."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    chunks = [value for r in reports for key, value in getattr(r, "user_properties", ()) if key == "onnx_node_models"]
    chunks.sort()
    if not chunks:
        return
    models, fused = (sum(chunk[k] for chunk in chunks) for k in (1, 2))
    terminalreporter.section("node models of onnx")
    terminalreporter.line(f"{fused} of {models} fuse: " + ", ".join(f"{name} {count}" for name, _, count in chunks))
