"""What a verification found: plain data, no imports beyond the standard library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_fuse.verify.kernel_result import KernelVerification

if TYPE_CHECKING:
    from ascend_fuse.verify.tolerance import Tolerance


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """One output of both models, the worst over all runs.

    `equal` is bitwise, but a NaN equals any NaN.  `max_abs` and `max_ulp` are over elements that are finite
    in both (integers and booleans: all elements, no ulp); -0.0 against 0.0 is unequal at 0 ulp.  `unequal`
    counts elements; `nan_mismatches` those of which just one is NaN, `inf_mismatches` those of which one is
    infinite and the other is another number.
    `beyond` counts elements that are further off than the tolerance that was given, None where none was given or no
    distance is known. `note` says why no element could be compared, or is empty.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    equal: bool
    unequal: int = 0
    max_abs: float = 0.0
    max_ulp: int = 0
    nan_mismatches: int = 0
    inf_mismatches: int = 0
    note: str = ""
    beyond: int | None = None

    @property
    def ok(self) -> bool:
        """Whether it is what was asked for: bitwise equal, or within the tolerance."""
        return self.equal or self.beyond == 0

    def sentence(self) -> str:
        """The difference in words, for a report."""
        if self.equal:
            return f"output {self.name}: equal"
        if self.note:
            return f"output {self.name}: {self.note}"
        parts = [f"{self.unequal} elements differ, at most {self.max_abs:.3g} ({self.max_ulp} ulp)"]
        if self.nan_mismatches:
            parts.append(f"{self.nan_mismatches} NaN against a number")
        if self.inf_mismatches:
            parts.append(f"{self.inf_mismatches} infinite against another value")
        if self.beyond is not None:
            parts.append(f"{self.beyond} beyond the tolerance")
        return f"output {self.name}: {', '.join(parts)}"

    def worse(self, other: OutputComparison) -> OutputComparison:
        """Both runs of one output as one comparison."""
        return OutputComparison(
            self.name,
            self.dtype,
            self.shape,
            self.equal and other.equal,
            self.unequal + other.unequal,
            max(self.max_abs, other.max_abs),
            max(self.max_ulp, other.max_ulp),
            self.nan_mismatches + other.nan_mismatches,
            self.inf_mismatches + other.inf_mismatches,
            self.note or other.note,
            None if self.beyond is None or other.beyond is None else self.beyond + other.beyond,
        )


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether two models have the same interface and, on the same random inputs, the same outputs.

    `interface` lists differences and fails the verification, as any unequal output does; `notes` say how the
    runs were made.  `tolerance`: within which outputs are accepted, None for bitwise equality.  `inputs`: the files
    that they came from, none for random ones.  `sizes` are the symbolic sizes that were fed, `random_nodes` the
    nodes that drew numbers.
    """

    model_a: str
    model_b: str
    outputs: tuple[OutputComparison, ...]
    interface: tuple[str, ...]
    notes: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    seed: int
    runs: int
    random_nodes: int
    kernels: KernelVerification | None = None  # the second model through the kernels, if it was run there
    tolerance: Tolerance | None = None
    inputs: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs on the CPU provider, bit for bit."""
        return not self.interface and bool(self.outputs) and all(o.equal for o in self.outputs)

    @property
    def ok(self) -> bool:
        through = self.kernels is None or self.kernels.ok
        return through and not self.interface and bool(self.outputs) and all(o.ok for o in self.outputs)

    def failures(self) -> tuple[str, ...]:
        """One sentence for each finding; empty if `ok`."""
        unequal = tuple(output.sentence() for output in self.outputs if not output.ok)
        nothing = () if self.outputs else ("no output was compared",)
        return self.interface + unequal + nothing + (self.kernels.failures() if self.kernels else ())
