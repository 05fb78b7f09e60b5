"""What a run through the kernels found: plain data, no imports beyond the standard library."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the emulator counted: launches, bytes through GM, and how many nodes ran on kernels."""

    nodes: int
    launches: int
    loaded_bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """One fused node on the inputs that it had: `share` is the largest error as a share of its bound.

    `outside` counts elements beyond the bound, `free` those of which the bound says nothing (an overflow, a division
    by what may be zero). `note` says why nothing could be compared, or is empty.
    """

    name: str
    family: str
    elements: int
    outside: int
    free: int
    share: float
    max_abs: float
    note: str = ""

    @property
    def ok(self) -> bool:
        return not self.outside and not self.note

    def sentence(self) -> str:
        """The finding in words."""
        if self.note:
            return f"node {self.name}: {self.note}"
        if self.outside:
            return (
                f"node {self.name} ({self.family}): {self.outside} of {self.elements} elements are beyond their bound, "
                f"at most {self.share:.3g} times, {self.max_abs:.3g} off"
            )
        return f"node {self.name} ({self.family}): within its bound, at most {100 * self.share:.0f} % of it"


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of the model: its largest difference, beside what errors of the nodes' bounds do to it.

    `allowed` is a multiple of what was measured with such errors. `note` says why nothing could be compared.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    max_abs: float = 0.0
    allowed: float = 0.0
    largest: float = 0.0
    note: str = ""

    @property
    def ok(self) -> bool:
        return not self.note and self.max_abs <= self.allowed

    def sentence(self) -> str:
        """The finding in words."""
        if self.note:
            return f"output {self.name}: {self.note}"
        verdict = "within" if self.ok else "beyond"
        beside = f"{verdict} {self.allowed:.3g} (its largest is {self.largest:.3g})"
        return f"output {self.name}: {self.max_abs:.3g} off, {beside}"


@dataclass(frozen=True, slots=True)
class KernelVerification:
    """A fused model through the kernels against its original on the CPU; `before` launches each node by itself."""

    soc: str
    backend: str
    outputs: tuple[OutputCheck, ...]
    nodes: tuple[NodeCheck, ...]
    before: Traffic
    after: Traffic
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return all(o.ok for o in self.outputs) and all(n.ok for n in self.nodes)

    def failures(self) -> tuple[str, ...]:
        """One sentence for each finding, the first fused node that differs first; empty if `ok`."""
        nodes = [n.sentence() for n in self.nodes if not n.ok]
        return (*nodes, *(o.sentence() for o in self.outputs if not o.ok))
