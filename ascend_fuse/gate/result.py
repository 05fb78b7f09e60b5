"""What `check` found: of each model, and in all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.batch import INTERRUPTED, Batch
from ascend_fuse.config import Gates
from ascend_fuse.gate.baseline import Fusion
from ascend_fuse.gate.limit import Judgement
from ascend_fuse.gate.regression import Regression
from ascend_fuse.worker import Failure, Outcome

EXIT_GATE = 1
EXPECT = "expect"  # the gate of the baseline
GONE = "it is in the baseline and no longer there; give the model back, or run with --update-baseline"


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """One model: what planning gave, how each gate judges it, what of the baseline is lost.

    `error`: why it could not be held against the baseline. `expected`: the baseline's fusions.
    """

    outcome: Outcome
    judgements: tuple[Judgement, ...] = ()
    lost: tuple[Regression, ...] = ()
    expected: tuple[Fusion, ...] = ()
    error: Failure | None = None
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each gate that fails and each fusion that is lost."""
        failed = [f"{j.gate}: {j.message}" for j in self.judgements if not j.ok]
        return tuple(f"{self.outcome.source}: {line}" for line in (*failed, *(r.message for r in self.lost)))


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of all models. `gone`: entries of the baseline whose models are no longer in a checked folder."""

    batch: Batch
    models: tuple[CheckedModel, ...]
    gates: Gates
    gone: tuple[str, ...] = ()
    updated: Path | None = None  # the baseline, where it was written
    exit_zero: bool = False
    unknown_sizes: tuple[str, ...] = ()  # given, but not by a flag, and of none of the models

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each gate that any model fails, and for each model that is gone."""
        gone = tuple(f"{self.gates.expect}: {name}: {GONE}" for name in self.gone)
        return tuple(line for m in self.models for line in m.failures) + gone

    @property
    def errors(self) -> tuple[str, ...]:
        """A line for each model that could not be judged."""
        return self.batch.errors + tuple(m.error.what for m in self.models if m.error is not None)

    @property
    def exit_code(self) -> int:
        """That of `Batch`, 2 where the baseline is of other options, 1 for a failed gate: the highest."""
        if self.batch.interrupted:
            return INTERRUPTED
        gate = EXIT_GATE if self.failures and not self.exit_zero else 0
        return max(self.batch.exit_code, gate, *(m.error.exit_code for m in self.models if m.error), 0)
