"""What the program proof has to show of a planned model's fused nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_fuse.emit.edit import Fused
from ascend_fuse.error import InternalError
from ascend_fuse.proof.trial import Claim
from ascend_fuse.resource import rules_dir
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.rule.pattern import Pattern
from ascend_fuse.summary import Planned


def claims(planned: Sequence[Planned], rules: RuleSet) -> tuple[list[Claim], dict[str, list[Pattern]]]:
    """A claim for each fused node, and the patterns that define instructions.

    A shipped idiom's pattern defines its instruction; a user's has to be shown equal by running it.
    """
    own = {r.code: str(r.path) for r in rules.rules if r.instruction and r.path.parent != rules_dir()}
    definitions: dict[str, list[Pattern]] = {}
    for rule in rules.rules:
        if rule.instruction and rule.path.parent == rules_dir():
            definitions.setdefault(rule.instruction.split()[0], []).extend(rule.patterns)
    return [_claim(f, p, own) for p in planned for f in p.fused], definitions


def _claim(fused: Fused, planned: Planned, own: Mapping[str, str]) -> Claim:
    """What the program proof has to show of a fused node; `own`: the user's idioms and their files."""
    built, function = fused.chosen.built, fused.body.function
    values = planned.inference.sure_values
    hosts = {
        k: values[name]
        for k, (name, line) in enumerate(zip(built.inputs, built.program.inputs, strict=True))
        if line.host and name in values
    }
    missing = [i.name for k, i in enumerate(built.program.inputs) if i.host and k not in hosts]
    if missing:
        raise InternalError(f"host input {missing[0]} of {function.name} has no known value", where="program proof")
    return Claim(
        function.name, built, tuple(function.node), tuple(function.input), tuple(function.output),
        planned.view.opset, hosts, fused.chosen.rules[0], {c: own[c] for c in fused.chosen.rules if c in own},
    )  # fmt: skip
