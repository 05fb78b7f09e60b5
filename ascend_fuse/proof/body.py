"""Running a body: on ONNX Runtime, else on onnx's reference evaluator (operators or types without a CPU kernel)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from ascend_fuse.error import InternalError, VerificationError
from ascend_fuse.verify.run import Runner

Array = npt.NDArray[Any]


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
        except (ValueError, TypeError, RuntimeError, IndexError) as e:
            raise VerificationError(f"does not run: {e}", where=self._where) from e
        return dict(zip(self._names, found, strict=True))


def open_body(model: ModelProto, where: str) -> Body:
    """The body ready to run. Raises InternalError when nothing here can run it."""
    try:
        return Runner(model, where)
    except VerificationError as unloadable:
        try:
            return _Reference(model, where)
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            raise InternalError(unloadable.sentence(), where="program proof", do="please report it") from unloadable
