"""Fuse the small operators of an ONNX model into kernels for Ascend chips, proven equal.

`optimize(model) -> Result`, `apply(model, plan) -> Result`, `optimize_all(models, output) -> Batch`,
`check(models, settings, gates) -> Checked`, `sweep(model, size, values) -> Sweep`, `diff(a, b) -> Difference`,
`inline(model, output) -> Inlined`; everything heavy is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "AscendFuseError", "Batch", "Checked", "Difference", "Gates", "Inlined", "InternalError", "ModelError", "Plan",
    "Result", "RuleError", "Settings", "SocError", "Sweep", "UsageError", "VerificationError", "__version__", "apply",
    "check", "diff", "inline", "optimize", "optimize_all", "read_plan", "sweep",
]  # fmt: skip

if TYPE_CHECKING:
    from ascend_fuse.batch import Batch, optimize_all
    from ascend_fuse.config import Gates, Settings
    from ascend_fuse.difference import Difference, diff
    from ascend_fuse.error import (
        AscendFuseError,
        InternalError,
        ModelError,
        RuleError,
        SocError,
        UsageError,
        VerificationError,
    )
    from ascend_fuse.gate.result import Checked
    from ascend_fuse.gate.run import check
    from ascend_fuse.pipeline import Inlined, apply, inline, optimize
    from ascend_fuse.plan import Plan
    from ascend_fuse.plan_file import read_plan
    from ascend_fuse.survey import Sweep, sweep
    from ascend_fuse.task import Result

_HOME = {
    "optimize": "pipeline", "apply": "pipeline", "inline": "pipeline", "Inlined": "pipeline", "Result": "task",
    "Plan": "plan", "read_plan": "plan_file", "Batch": "batch", "optimize_all": "batch",
    "Checked": "gate.result", "check": "gate.run", "Difference": "difference", "diff": "difference", "Gates": "config",
    "Settings": "config", "Sweep": "survey", "sweep": "survey",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"ascend_fuse.{_HOME.get(name, 'error')}"), name)
