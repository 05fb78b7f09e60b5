"""How much larger the written model is than the one that was read, without writing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto

from ascend_fuse.graph.load import external_files


@dataclass(frozen=True, slots=True)
class Growth:
    """Bytes of the model's file and its data files, each file once: what is copied or linked is not written anew."""

    before_bytes: int
    after_bytes: int

    @property
    def percent(self) -> float:
        """Of what was read; 0 for a model without a byte."""
        return 100 * (self.after_bytes / self.before_bytes - 1) if self.before_bytes else 0.0


def growth(source: Path, fused: ModelProto, *, unchanged: bool) -> Growth:
    """From the file to the fused model; `unchanged`: the file's own bytes are what is written.

    Raises OSError when the file is gone meanwhile.
    """
    data_bytes = sum((source.parent / name).stat().st_size for name in external_files(fused))
    before_bytes = source.stat().st_size
    after_bytes = before_bytes if unchanged else fused.ByteSize()
    return Growth(before_bytes + data_bytes, after_bytes + data_bytes)
