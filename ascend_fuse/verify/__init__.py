"""Numerics: do two models compute the same on ONNX Runtime's CPU provider?

Imports NumPy, onnx and (on the first run) ONNX Runtime only when a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ascend_fuse.verify.compare import verify
    from ascend_fuse.verify.result import OutputComparison, Verification

__all__ = ["OutputComparison", "Verification", "verify"]

_HOME = {"verify": "compare", "Verification": "result", "OutputComparison": "result"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
