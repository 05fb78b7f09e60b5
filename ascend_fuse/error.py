"""What can go wrong with the input or with us; a fusion that is refused is a value (`reason.Miss`), not an error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_fuse.verify.result import Verification


class AscendFuseError(Exception):
    """Says what happened, where (file:line, node) and what to do; `exit_code` is the CLI's."""

    exit_code = 5

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what = what
        self.where = where
        self.do = do
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """One line: `where: what (do)`; the parts that are absent are left out."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}; {self.do}" if self.do else head


class UsageError(AscendFuseError):
    """Wrong option, unknown rule code, output that equals the input."""

    exit_code = 2


class RuleError(UsageError):
    """A rule file that cannot be used; `where` is file:line."""


class SocError(UsageError):
    """A chip name or platform file that cannot be used."""


class ModelError(AscendFuseError):
    """The input model is bad."""

    exit_code = 3

    def of(self, source: Path | None) -> ModelError:
        """The same error, which names the model's file, too."""
        if source is None or str(source) in self.where:
            return self
        return ModelError(self.what, where=f"{source}: {self.where}" if self.where else str(source), do=self.do)


class VerificationError(AscendFuseError):
    """Two models that should compute the same do not, or one of them does not run.

    `verification` is what was found, if both ran.
    """

    exit_code = 4

    def __init__(self, what: str, *, where: str = "", do: str = "", verification: Verification | None = None) -> None:
        super().__init__(what, where=where, do=do)
        self.verification = verification


class InternalError(AscendFuseError):
    """Our bug: a proof failed, an invariant broke. Nothing was written."""

    exit_code = 5


class KernelError(AscendFuseError):
    """A kernel stopped: what the emulator found, or the device's error; our bug, or a device that fails."""

    exit_code = 5
