"""What inference says of a scope's values and every run keeps: nothing that rests on a declared inner type."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.value import ShapeValue


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Types and values as `Inference` has them, unknown where they are hinted at only."""

    inference: Inference

    def dtype(self, name: str) -> str:
        """A name of docs/design/0001, "" when nothing is guaranteed."""
        kind = self.inference.types.get(name)
        return "" if kind is None or name in self.inference.hinted else kind.dtype

    def shape(self, name: str) -> tuple[Dim, ...] | None:
        """None when nothing is guaranteed, not even the rank."""
        kind = self.inference.types.get(name)
        return None if kind is None or name in self.inference.hinted else kind.shape

    def value(self, name: str) -> ShapeValue | None:
        """The elements of a small integer or bool tensor; single ones may be unknown."""
        return None if name in self.inference.hinted else self.inference.values.get(name)
