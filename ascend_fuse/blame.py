"""Which steps a verdict against a region is about."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_fuse.reason import Miss
from ascend_fuse.region.grow import Grower
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.step import Step


def blamed(grower: Grower, steps: Sequence[Step], verdict: Miss) -> Sequence[Step]:
    """Whose rows do not fit on chip, or whose operator no kernel runs in the region; else all.

    They are no longer free, so that the steps around them may fuse without them.
    """
    found = [s for s in steps if _is_blamed(grower.profile(s), verdict)]
    if not found:
        return steps
    grower.free.difference_update(n.index for s in found for n in s.nodes)
    return found


def _is_blamed(profile: Profile | Miss, verdict: Miss) -> bool:
    if isinstance(profile, Miss):
        return False
    if verdict.code == "op-unsupported":
        return any(i.op == verdict.figures["op"] for i in profile.alone.program.instrs)
    return verdict.code == "ub-overflow" and (profile.trait.reduces or profile.trait.moves)
