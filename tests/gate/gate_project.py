"""A team's folder, and what `check` needs to be told of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.cli.main import app_main


@dataclass(frozen=True)
class Project:
    """Models, the rule that fuses them, a baseline that is still to be made."""

    folder: Path

    @property
    def baseline(self) -> Path:
        return self.folder / "baseline.json"

    @property
    def models(self) -> Path:
        """As the working directory has it."""
        return Path(os.path.relpath(self.folder / "models"))

    def check(self, *args: object) -> int:
        """`ascend-fuse check` on the folder with its rules, AF209 left out; its exit code."""
        rules = ("--rules", self.folder / "rules", "--ignore", "AF209")
        return app_main([str(a) for a in ("check", *(args or (self.models,)), *rules)])

    def expect(self, *args: object) -> int:
        """The same, held against the baseline."""
        return self.check(*(args or (self.models,)), "--expect", self.baseline)
