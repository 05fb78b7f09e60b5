"""Fuse the small operators of an ONNX model into kernels for Ascend chips, proven equal.

`optimize(model) -> Result`, `inline(model, output)`; everything heavy is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "AscendFuseError", "InternalError", "ModelError", "Plan", "Result", "RuleError", "SocError", "UsageError",
    "VerificationError", "__version__", "inline", "optimize",
]  # fmt: skip

if TYPE_CHECKING:
    from ascend_fuse.error import (
        AscendFuseError,
        InternalError,
        ModelError,
        RuleError,
        SocError,
        UsageError,
        VerificationError,
    )
    from ascend_fuse.pipeline import Result, inline, optimize
    from ascend_fuse.plan import Plan

_HOME = {"optimize": "pipeline", "inline": "pipeline", "Result": "pipeline", "Plan": "plan"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"ascend_fuse.{_HOME.get(name, 'error')}"), name)
