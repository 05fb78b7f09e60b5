"""What regions are made of, where the region around an anchor begins, and which anchor comes first."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_fuse.graph.view import View
from ascend_fuse.region.grow import Grower
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step, idiom, single
from ascend_fuse.rule.match import Match

FAMILIES = ("rowwise", "matmul", "elementwise")  # in the order of their regions
ORDERS = (FAMILIES, ("matmul", "rowwise", "elementwise"), ("elementwise", "rowwise", "matmul"))


def seed_of(match: Match, view: View, grower: Grower) -> Step:
    """The anchor's last node; where an inner value is read outside too, the last reduction: it says what a row is.

    Grown from elements, a region could not give out the mean of a row that it has not met yet.
    """
    last, inside = grower.steps[match.nodes[-1]], set(match.nodes)
    inner = (o for k in match.nodes for o in view.nodes[k].outputs if o and o not in match.outputs)
    if all(inside.issuperset(view.readers(o)) and not view.is_output(o) for o in inner):
        return last
    steps = (grower.steps.get(k) for k in reversed(match.nodes))
    return next((s for s in steps if s is not None and _reduces(s, grower)), last)


def _reduces(step: Step, grower: Grower) -> bool:
    profile = grower.profile(step)
    return isinstance(profile, Profile) and profile.trait.reduces


def precedence(match: Match) -> tuple[int, tuple[int, ...]]:
    """Rows come before products, these before elements, then the order of the list."""
    return FAMILIES.index(match.rule.family), match.nodes


def steps_of(view: View, idioms: Sequence[Match]) -> list[Step]:
    """What regions are made of: the idioms, and every other node that computes something."""
    inside = {n: m for m in idioms for n in m.nodes}
    steps = [idiom(view, m, m.rule.code, m.rule.instruction) for m in idioms]
    for node in view.nodes:
        if node.index not in inside and node.op != "Constant" and node.outputs:
            steps.append(single(node))
    return steps
