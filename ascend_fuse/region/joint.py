"""Concats along another dimension than the last: outputs in two parts, of which the region makes one.

The result lies on no axes of the space: along the joined dimension it is as long as both parts (docs/design/0007).
"""

from __future__ import annotations

from collections.abc import Iterable

from ascend_fuse.graph.view import View
from ascend_fuse.program.program import Join
from ascend_fuse.reason import Miss
from ascend_fuse.region.side import Side
from ascend_fuse.region.space import Joint, Space, mismatch
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait


def not_along(step: Step, trait: Trait, rank: int) -> Miss:
    """The Miss of a Concat that no region writes in two parts."""
    axis = trait.joins
    assert axis is not None
    text = f"{step.node.op} joins along axis {axis} of {rank}"
    return Miss("axis-not-trailing", text, step.index, {"axis": axis, "rank": rank})


def joint_of(step: Step, trait: Trait, steps: Iterable[Step], count: int) -> Joint | Miss:
    """Which part is whose: the past is the operand that the other steps have nothing to do with.

    `count`: the joints before it.
    """
    assert trait.joins is not None
    used = {n for s in steps if s is not step for n in (*s.inputs, *s.outputs)}
    first, second = trait.data
    if first in used and second in used:
        text = f"{step.label} joins two tensors of the region"
        return Miss("shape-mismatch", text, step.index, {"shape": "two parts", "space": "one part"})
    own, past = (first, second) if first in used else (second, first)
    return Joint(step.outputs[0], own, past, trait.joins, -2 - count, behind=own == second)


def place_joint(space: Space, joint: Joint, view: View) -> Miss | None:
    """Lay the region's part on the space, and remember the other one."""
    shape = view.type_of(joint.own).shape or ()
    if joint.own not in space.places:
        frame = space.frame([], shape)
        miss = frame if isinstance(frame, Miss) else space.put(joint.own, frame, shape)
        if miss is not None:
            return miss
    space.joints[joint.result] = joint
    space.dims[joint.length] = (view.type_of(joint.past).shape or ())[joint.axis]
    side = past_side(space, joint, view)
    return side if isinstance(side, Miss) else None


def past_side(space: Space, joint: Joint, view: View) -> Side | Miss:
    """The past as an input: as long as its own size along the joined dimension, else as the region's part."""
    shape = view.type_of(joint.own).shape or ()
    extents = space.extents(joint.own, shape)
    groups = [tuple(a for a in group if extents[a] != 1) or group[:1] for group in space.places[joint.own]]
    if len(groups[joint.axis]) > 1:
        return mismatch("a dimension that is joined is an axis of its own", shape, space.sizes)
    groups[joint.axis] = (joint.length,)
    axes = tuple(a for group in groups for a in group)
    dims = {a: space.dims[a] if a == joint.length else extents[a] for a in axes}
    return Side(joint.past, "past", axes, len(axes), dims, tuple(groups))


def join_of(joint: Joint, sides: Iterable[Side]) -> Join:
    """What the `out` line says of it; the sides stand first among the inputs."""
    at = next(k for k, side in enumerate(sides) if joint.length in side.axes)
    return Join(f"x{at}", joint.axis, joint.behind)
