"""What a finding is about, in words: rules from `rules/`, reason codes, gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ascend_fuse.reason import CODES
from ascend_fuse.report.advice import ADVICE
from ascend_fuse.report.finding import FAILED, VERIFICATION
from ascend_fuse.rule.load import load_rules

GATES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "min-fusions": ("too few fusions", "`ascend-fuse explain MODEL` lists the nodes that stay, and why."),
        "max-launches": ("too many launches after fusion", "`ascend-fuse explain MODEL` lists what is launched."),
        "max-unfused": (
            "too many launches stay that a kernel could take",
            "Each near miss has its reason; `ascend-fuse explain CODE` says what to do about one.",
        ),
        "max-growth": ("the fused model's files are too large", "Compare the models with `ascend-fuse diff`."),
        "min-gain": ("too little of the estimated time is saved", "`ascend-fuse explain MODEL` has the figures."),
        "expect": (
            "a fusion of the baseline stopped firing",
            "The message names the rule, the nodes and the reason. If the change is meant, run "
            "`ascend-fuse check --update-baseline` and review what changed in the baseline.",
        ),
        FAILED: ("the model could not be planned", "The message says what is wrong and what to do."),
        VERIFICATION: ("the fused model computes something else", "Please report it: nothing was written."),
    }
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What an `about` means: a name, a sentence, a longer text, as ours or the user's rule files have them."""

    id: str
    name: str
    short: str
    help: str


def describe(about: str) -> Descriptor:
    """The descriptor of a rule, a reason code or a gate."""
    if about in GATES:
        return Descriptor(about, about, *GATES[about])
    if about in CODES:
        return Descriptor(about, about, CODES[about], ADVICE[about])
    rule = next((r for r in load_rules().rules if r.code == about), None)
    if rule is None:
        return Descriptor(about, about, f"rule {about}", "A rule from a folder given with --rules.")
    first = rule.doc.strip().split("\n\n")[0]
    return Descriptor(about, rule.name, " ".join(first.split()), rule.doc.strip())
