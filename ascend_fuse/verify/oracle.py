"""Whether a fused model computes what its original does, on inputs that stay the same from model to model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_fuse.error import KernelError, UsageError, VerificationError
from ascend_fuse.graph.load import read_with_data
from ascend_fuse.oracle import Opinion
from ascend_fuse.preparation import Preparation
from ascend_fuse.search import Answer
from ascend_fuse.verify.difference import compare_values
from ascend_fuse.verify.feed import Feed
from ascend_fuse.verify.kernel_run import KernelRunner
from ascend_fuse.verify.kernels import KernelCheck, reference
from ascend_fuse.verify.run import Runner
from ascend_fuse.verify.seed import is_seeded, random_nodes
from ascend_fuse.verify.tolerance import Tolerance


class Comparison:
    """The original's outputs, against which models are held: on the CPU provider, or with `kernels` on the chip's.

    Without a tolerance, outputs on the CPU have to be bitwise equal, and what kernels compute has to be within the
    bounds of its programs.
    """

    def __init__(
        self, original: Path, feed: Feed, tolerance: Tolerance | None = None, kernels: Preparation | None = None
    ) -> None:
        model = read_with_data(original)
        if any(not is_seeded(node) for node in random_nodes(model)):
            do = "give its random nodes seeds, or evaluate it by --command"
            raise UsageError("the model draws random numbers without a seed", where=str(original), do=do)
        self.tolerance, self.kernels = tolerance, kernels
        self.original = original.absolute()
        self.feed, self.wanted = reference(original, feed)

    def __call__(self, model: Path) -> Opinion:
        """Whether the model agrees; one that does not load or run is bad."""
        if model.absolute() == self.original:
            return Opinion(Answer.GOOD, "the original")
        try:
            failures = self._failures(model)
        except (VerificationError, KernelError) as e:
            return Opinion(Answer.BAD, e.what)
        return Opinion(Answer.BAD, failures[0]) if failures else Opinion(Answer.GOOD, "agrees with the original")

    def _failures(self, path: Path) -> tuple[str, ...]:
        if self.kernels is None:
            return self._compared(Runner(path, str(path)).run(self.feed.values))
        model = read_with_data(path)
        if self.tolerance is None:
            check = KernelCheck(path, model, self.kernels, self.feed)
            found = check.whole()[0]
            nodes = [n.sentence() for n in check.nodes() if not n.ok]
            return (*nodes, *(o.sentence() for o in check.outputs(self.wanted, found) if not o.ok))
        runner = KernelRunner(model, self.kernels, str(path), path.parent)
        return self._compared(runner.run(self.feed.values))

    def _compared(self, found: Mapping[str, Any]) -> tuple[str, ...]:
        if missing := [name for name in self.wanted if name not in found]:
            return (f"output {missing[0]} is missing",)
        pairs = ((name, wanted, found[name]) for name, wanted in self.wanted.items())
        return tuple(told for name, wanted, got in pairs if (told := self._beyond(name, wanted, got)))

    def _beyond(self, name: str, wanted: Any, found: Any) -> str:
        """What differs by more than it may, "" for nothing."""
        unequal = [c for c in compare_values(name, wanted, found) if not c.equal]
        if not unequal:
            return ""
        beyond = None if self.tolerance is None else self.tolerance.beyond(wanted, found)
        if beyond is None:
            return unequal[0].sentence()
        return f"{unequal[0].sentence()}; {beyond} beyond the tolerance" if beyond else ""
