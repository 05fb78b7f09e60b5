"""What a run writes: the model, its data files, the reports; and the comparison that comes before."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto

from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.graph.data_file import Placing, Weights, plan_placings
from ascend_fuse.graph.load import external_files
from ascend_fuse.graph.save import save_bytes, save_model
from ascend_fuse.graph.target import (
    check_apart,
    check_file,
    check_target,
    is_read_only,
    is_same,
    temporary_prefix,
)

if TYPE_CHECKING:
    from ascend_fuse.preparation import Preparation
    from ascend_fuse.verify.result import Verification

PROBE = ".verify.onnx"  # how the fused model ends that stands beside its source while both run


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where a run reads (`source`, None for a model in memory; `reviewed`, a plan) and what it writes."""

    source: Path | None
    target: Path | None
    in_place: bool = False
    weights: Weights = "copy"
    reports: tuple[Path, ...] = ()
    plan: Path | None = None
    reviewed: Path | None = None

    def check(self, options: Sequence[tuple[str, Path]] = ()) -> None:
        """Before anything is read: every path can be written, none is another or of `options`. Raises UsageError."""
        if self.target is not None:
            check_target(self.source, self.target, self.in_place)
        for path in self.reports:
            check_file(path, "report")
        if self.plan is not None:
            check_file(self.plan, "plan")
        read = [*self._one("the input", self.source), *self._one("the plan to apply", self.reviewed)]
        check_apart(self._texts(), [*read, *self._one("the output", self.target)])
        check_apart(self._one("the output", self.target), self._one("the plan to apply", self.reviewed))
        check_apart([*self._one("the output", self.target), *self._texts()], options)

    def placings(self, model: ModelProto) -> tuple[Placing, ...]:
        """Once the model is read: no data file is written over; what becomes of them. Raises UsageError."""
        names = external_files(model)
        written = [*self._one("the output", self.target), *self._texts()]
        folder = self._folder()
        for parent, role in ((self.source and self.source.parent, "input"), (folder, "output")):
            if parent is not None:
                check_apart(written, [(f"a data file of the {role}", parent / name) for name in names])
        if self.source is None or folder is None or is_same(self.source.parent, folder):
            return ()
        return plan_placings(names, self.source.parent, folder, self.weights)

    def write(self, model: ModelProto, placings: tuple[Placing, ...], *, unchanged: bool) -> None:
        """The model to the target, as the source's own bytes when `unchanged`. Raises UsageError, ModelError."""
        if self.target is None or (unchanged and self.in_place):
            return
        if unchanged and self.source is not None:
            save_bytes(self.source.read_bytes(), self.target, placings)
        else:
            save_model(model, self.target, placings)

    def _folder(self) -> Path | None:
        """Where the output's data files belong: beside the file itself, not beside a link to it."""
        if self.target is None:
            return None
        linked = self.target.is_symlink() and not self.in_place
        return self.target.resolve().parent if linked else self.target.parent

    def _texts(self) -> list[tuple[str, Path]]:
        return [*(("the report", path) for path in self.reports), *self._one("the plan", self.plan)]

    @staticmethod
    def _one(role: str, path: Path | None) -> list[tuple[str, Path]]:
        return [] if path is None else [(role, path)]


def check_verifiable(source: Path | None) -> Path:
    """The model's file, beside which the fused one can be placed to run. Raises UsageError."""
    if source is None:
        raise UsageError("verify needs the model as a file", where="optimize()", do="pass a path, or save it first")
    if source.is_file() and is_read_only(source.parent, source):
        do = "make it writable, or copy the model elsewhere"
        raise UsageError("verification writes a temporary file beside the model", where=str(source.parent), do=do)
    return source


def compare(
    model: ModelProto, source: Path, target: Path | None, sizes: Mapping[str, int], kernels: Preparation | None
) -> Verification:
    """Run the source and the model, under a temporary name beside it where its data files are.

    `kernels`: the chip whose kernels run the model as well, if they agree on the CPU provider.
    Raises VerificationError when one of them does not run, UsageError when nothing can be written there.
    """
    from ascend_fuse.verify.compare import verify
    from ascend_fuse.verify.feed import size_names

    probe = source.parent / f"{temporary_prefix(source)}{os.getpid()}{PROBE}"
    known = size_names(model)
    try:
        save_model(model, probe)
        given = {name: n for name, n in sizes.items() if name in known}
        found = verify(source, probe, sizes=given)
        if kernels is not None and found.ok:
            from ascend_fuse.verify.kernels import verify_kernels

            found = replace(found, kernels=verify_kernels(source, probe, kernels, given))
    except VerificationError as e:
        what, where = (text.replace(str(probe), "the fused model") for text in (e.what, e.where))
        raise VerificationError(what, where=where, do=e.do) from e
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    name = "" if target is None else str(target)
    notes = tuple(note.replace(str(probe), name or "the fused model") for note in found.notes)
    return replace(found, model_b=name, notes=notes)
