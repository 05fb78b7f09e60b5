"""The cleanups of one scope, by the rules of that role: nothing is edited here."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from ascend_fuse.cleanup.claim import Claim, cleanups
from ascend_fuse.cleanup.exact import gives_back
from ascend_fuse.cleanup.fold import known_values
from ascend_fuse.cleanup.reading import Reading
from ascend_fuse.cleanup.runtime import is_computed_half, is_near_half, is_weight
from ascend_fuse.graph.guarantee import Guarantee
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.view import Constant, Node, View, subgraphs
from ascend_fuse.plan import Cleanup
from ascend_fuse.rule.load import Rule, RuleSet
from ascend_fuse.rule.match import Match, match_pattern
from ascend_fuse.rule.pattern import Pattern

SHAPE_VALUE = "shape-value"
RANDOM = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Bernoulli Multinomial Dropout".split()
)
SHOWN = 8  # elements of a value in a report


def find_claims(view: View, inference: Inference, rules: RuleSet) -> tuple[Claim, ...]:
    """The nodes of the scope that go, ascending; `inference` is the scope's own.

    A pattern says where to look; that its output is its first input is for `gives_back` to say, and for the proof.
    """
    sure = Guarantee(inference)
    reading = Reading(view)
    claims = dict(_replaced(view, sure, rules, reading))
    folding = next((r for r in rules.rules if r.builtin == SHAPE_VALUE and r.status != "removed"), None)
    if folding is not None:
        claims |= _folded(view, sure, folding, reading)
    claims = _buried(view, claims, reading)
    return tuple(claims[k] for k in sorted(claims))


def restricted(claims: Sequence[Claim], view: View, graph: str, wanted: Container[Cleanup]) -> tuple[Claim, ...]:
    """Those of a scope's claims that a plan still lists, with the nodes that nobody reads because of them."""
    listed = [c for c in claims if c.what]
    left = [c for c in listed if cleanups((c,), graph)[0] in wanted]
    if len(left) == len(listed):
        return tuple(claims)
    reading = Reading(view)
    kept: dict[int, Claim] = {}
    for c in left:  # ascending, as they were found
        if not c.kept:
            reading.gone.add(c.node)
        elif not reading.replace(view.nodes[c.node], c.kept):
            continue
        kept[c.node] = c
    kept = _buried(view, kept, reading)
    return tuple(kept[k] for k in sorted(kept))


def _replaced(view: View, sure: Guarantee, rules: RuleSet, reading: Reading) -> Iterator[tuple[int, Claim]]:
    """Nodes that give an operand back, in order: chains end at a value that stays."""
    patterns = _patterns(rules)
    for node in view.nodes:
        for rule, pattern in patterns.get(node.op, ()):
            kept, what = _stand_in(node, rule, pattern, view, sure)
            shown = is_near_half(view, kept) or is_weight(view, kept)
            if what and not shown and reading.replace(node, kept):
                yield node.index, Claim(rule.code, node.index, node.label, node.outputs[0], kept, None, what)
                break


def _patterns(rules: RuleSet) -> Mapping[str, list[tuple[Rule, Pattern]]]:
    """The cleanups' patterns by their only operator."""
    found: dict[str, list[tuple[Rule, Pattern]]] = {}
    for rule in rules.rules:
        if rule.role == "cleanup" and rule.status != "removed":
            for pattern in rule.patterns:
                if len(pattern.nodes) == 1:
                    found.setdefault(pattern.nodes[0].op, []).append((rule, pattern))
    return found


def _stand_in(node: Node, rule: Rule, pattern: Pattern, view: View, sure: Guarantee) -> tuple[str, str]:
    """What takes the place of the node's output and how the report says it; "" when nothing does."""
    if not any(gives_back(node, name, view, sure) for name in node.inputs[:2]):  # much cheaper than matching
        return "", ""
    match = match_pattern(rule, pattern, view, node.index, near=False)
    kept = match.inputs.get(pattern.inputs[0], "") if isinstance(match, Match) else ""
    return kept, gives_back(node, kept, view, sure)


def _folded(view: View, sure: Guarantee, rule: Rule, reading: Reading) -> Mapping[int, Claim]:
    """Of known values the largest: those that something reads which is not known itself."""
    known = {k: v for k, v in known_values(view, sure).items() if k not in reading.gone}
    found: dict[int, Claim] = {}
    for index, value in known.items():
        node = view.nodes[index]
        if reading.is_output(node.outputs[0]) or any(r not in known for r in reading.readers(node.outputs[0])):
            found[index] = Claim(rule.code, index, node.label, node.outputs[0], "", value, _said(value))
    reading.gone.update(found)
    return found


def _said(value: Constant) -> str:
    items = [str(v).lower() for v in value.reshape(-1)[:SHOWN].tolist()]
    more = ["…"] if value.size > SHOWN else []
    return f"is always {', '.join(items + more) or 'empty'}"


def _buried(view: View, claims: Mapping[int, Claim], reading: Reading) -> dict[int, Claim]:
    """The claims and the nodes that only claimed ones read."""
    found = dict(claims)
    waiting = [view.nodes[k] for k in sorted(claims)]
    while waiting:
        reader = waiting.pop()
        for name in dict.fromkeys(reader.inputs):
            maker = view.producer(name)
            if maker is None or not _may_go(maker, found.get(maker.index), view, reading):
                continue
            rule = found[reader.index].rule
            found[maker.index] = Claim(rule, maker.index, maker.label, next(filter(None, maker.outputs)), "", None, "")
            reading.gone.add(maker.index)
            waiting.append(maker)
    return found


def _may_go(node: Node, claim: Claim | None, view: View, reading: Reading) -> bool:
    if claim is not None and (claim.kept or claim.is_dead):
        return False
    if node.domain or node.op in RANDOM or any(True for _ in subgraphs(node.proto)):
        return False
    if any(is_computed_half(view, i) for i in node.inputs if i):
        return False
    return not any(reading.is_read(o) for o in node.outputs if o)
