"""Runs fused models: the plugin for ONNX Runtime (1.24 and newer), its counters, and programs without ONNX Runtime.

Whoever registers the library by hand releases in this order: sessions, their options, the library.
"""

from ascend_fuse.runtime.counter import Counters, NodeCounters, counters, reset_counters
from ascend_fuse.runtime.library import get_ep_name, get_ep_names, get_library_path
from ascend_fuse.runtime.provider import devices, register, session
from ascend_fuse.runtime.run import Outcome, run

__all__ = [
    "Counters",
    "NodeCounters",
    "Outcome",
    "counters",
    "devices",
    "get_ep_name",
    "get_ep_names",
    "get_library_path",
    "register",
    "reset_counters",
    "run",
    "session",
]
