"""Running a body: on ONNX Runtime, else on onnx's reference evaluator (operators or types without a CPU kernel)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from ascend_fuse.error import VerificationError
from ascend_fuse.verify.run import Runner

Array = npt.NDArray[Any]
# What onnx's evaluator, plain NumPy, raises on a node that it does not hold or whose operands do not fit.
EVALUATION_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


class Body(Protocol):
    """Something that computes a body's outputs; VerificationError when it cannot on these inputs."""

    def run(self, values: Mapping[str, Array]) -> dict[str, Any]: ...


class _Reference:
    """onnx's own evaluator."""

    def __init__(self, model: ModelProto, where: str) -> None:
        from onnx.reference import ReferenceEvaluator

        self._where = where
        self._names = [o.name for o in model.graph.output]
        self._evaluator: Any = ReferenceEvaluator(model)

    def run(self, values: Mapping[str, Array]) -> dict[str, Any]:
        try:
            with np.errstate(all="ignore"):
                found: list[Any] = self._evaluator.run(None, dict(values))
        except EVALUATION_ERRORS as e:
            raise VerificationError(f"does not run: {e}", where=self._where) from e
        return dict(zip(self._names, found, strict=True))


def open_body(model: ModelProto, where: str) -> Body:
    """The body ready to run. Raises VerificationError when nothing here can load it."""
    try:
        return Runner(model, where)
    except VerificationError as unloadable:
        try:
            return _Reference(model, where)
        except EVALUATION_ERRORS:
            raise unloadable from None
