"""Orders in which sessions, options and the library may go, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PRELUDE = """
import gc
import onnxruntime
from ascend_fuse import runtime
from tests.runtime.runtime_model import add_relu, arrays, fused_model
def opened():
    settings = onnxruntime.SessionOptions()
    session = runtime.session(fused_model(), session_options=settings)
    assert (session.run(None, arrays())[0] == add_relu(**arrays())).all()
    return session, settings
"""
ORDERS = {
    "at exit": "session, settings = opened()",
    "session, options, library": """
session, settings = opened()
del session
del settings
gc.collect()
onnxruntime.unregister_execution_provider_library("ascend-fuse")
""",
    "options, session, library": """
session, settings = opened()
del settings
gc.collect()
session.run(None, arrays())
del session
gc.collect()
onnxruntime.unregister_execution_provider_library("ascend-fuse")
""",
    "registered again": """
for _ in range(3):
    session, settings = opened()
    del session, settings
    gc.collect()
    onnxruntime.unregister_execution_provider_library("ascend-fuse")
assert runtime.counters().total.runs >= 3
""",
    "two sessions of one set of options": """
session, settings = opened()
other = onnxruntime.InferenceSession(fused_model().SerializeToString(), settings, enable_fallback=0)
del session
gc.collect()
assert (other.run(None, arrays(9))[0] == add_relu(**arrays(9))).all()
""",
    "a session that could not be made": """
from ascend_fuse.error import UsageError
try:
    runtime.session(fused_model(), sock=1)
except UsageError:
    pass
gc.collect()
onnxruntime.unregister_execution_provider_library("ascend-fuse")
""",
}


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_crashes(order: str) -> None:
    done = subprocess.run([sys.executable, "-c", PRELUDE + ORDERS[order]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
