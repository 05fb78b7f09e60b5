"""What the program proof has to show of a planned model's fused nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ascend_fuse.emit.edit import Fused
from ascend_fuse.error import InternalError
from ascend_fuse.proof.program import prove_programs
from ascend_fuse.proof.stop import Stop, runs_alone
from ascend_fuse.proof.trial import Claim
from ascend_fuse.reason import Miss
from ascend_fuse.resource import rules_dir
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.rule.pattern import Pattern
from ascend_fuse.summary import Planned

Refused = dict[str, dict[int, Miss]]  # by scope and position: nodes that no region may have


class UnprovableError(InternalError):
    """Regions of which no proof can be had. To be caught: their nodes are `refused`, and all else is planned again."""

    def __init__(self, refused: Refused) -> None:
        first = next(m.message for nodes in refused.values() for m in nodes.values())
        super().__init__(first, where="program proof", do="please report the model")
        self.refused = refused

    def beside(self, others: Refused) -> Refused:
        """Both."""
        return {path: others.get(path, {}) | self.refused.get(path, {}) for path in others.keys() | self.refused}


def prove(planned: Sequence[Planned], rules: RuleSet) -> None:
    """Prove the programs of all fused nodes.

    Raises UnprovableError for those that cannot be proved, and what `prove_programs` raises.
    """
    stopped = {s.claim.op_type: s for s in prove_programs(*claims(planned, rules)).stopped}
    refused = Refused()
    for p in planned:
        for f in p.fused:
            stop = stopped.get(f.body.function.name)
            if stop is not None:
                refused.setdefault(p.scope.path, {}).update(_refused(f, p, stop))
    if refused:
        raise UnprovableError(refused)


def _refused(fused: Fused, planned: Planned, stop: Stop) -> dict[int, Miss]:
    """The node that stops the body; all of the region's where none does by itself, only their values.

    Raises InternalError where the node runs on what its types say: then the program asks for something else.
    """
    at = json.loads(fused.body.source)[stop.node][0] if stop.node >= 0 else -1
    nodes = [planned.view.nodes[k] for k in ((at,) if at >= 0 else fused.chosen.nodes)]
    if at >= 0 and runs_alone(nodes[0], planned.view):
        what = f"the program of {stop.claim.op_type} is not its body, which does not run on its inputs: {stop.why}"
        raise InternalError(what, where="program proof", do="nothing was written; please report the model")
    said = "nothing here runs {} as it stands" if at >= 0 else "no proof can be had of the region around {}"
    return {n.index: Miss("not-provable", f"{said.format(n.op)}: {stop.why}", n.index, {"op": n.op}) for n in nodes}


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
