"""Why a step cannot be in a region of its kind, whatever its axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_fuse.graph.view import View
from ascend_fuse.reason import Miss
from ascend_fuse.region.convex import Detour
from ascend_fuse.region.joint import joint_of, not_along
from ascend_fuse.region.profile import Profile
from ascend_fuse.region.space import mismatch
from ascend_fuse.region.step import Step

if TYPE_CHECKING:
    from ascend_fuse.region.grow import Growth


def refusal(growth: Growth, step: Step, profile: Profile, view: View) -> Miss | None:
    """Products begin regions of their own and take Transposes first; what was joined to another tensor is an end."""
    miss = _beside_joint(growth, step, view)
    if miss is not None or profile.trait.joins is not None:
        return miss or _joint(growth, step, profile, view)
    if growth.epilogue is not None:
        return growth.epilogue.refusal(step, profile.trait)
    if profile.trait.turns and (not growth.turning or growth.space.joints):
        what = "and the region writes a part of a tensor" if growth.turning else "which products take first"
        text = f"{step.label} moves data, {what}"
        return Miss("own-kernel", text, step.index, {"op": step.node.op})
    if growth.steps and profile.trait.product:
        return Miss("own-kernel", f"{step.label} is a product, which begins a region", step.index, {"op": step.node.op})
    return None


def _beside_joint(growth: Growth, step: Step, view: View) -> Miss | None:
    """A result in two parts is only written, and nothing but the copy reads the past."""
    for joint in growth.space.joints.values():
        shape = view.type_of(joint.result).shape or ()
        if joint.result in step.inputs:
            text = f"{step.label} reads {joint.result}, of which the region has a part"
            return mismatch(text, shape, growth.space.sizes)
        if joint.past in (*step.inputs, *step.outputs):
            text = f"{step.label} reads or makes {joint.past}, which the region copies as it is"
            return mismatch(text, view.type_of(joint.past).shape or (), growth.space.sizes)
    return None


def _joint(growth: Growth, step: Step, profile: Profile, view: View) -> Miss | None:
    """A Concat joins where the region makes one part, of a product what follows it, and others read the result."""
    joint = joint_of(step, profile.trait, growth.steps, len(growth.space.joints))
    if isinstance(joint, Miss):
        return joint
    made = {o for s in growth.steps for o in s.outputs} if growth.epilogue is None else growth.epilogue.behind
    read = view.is_output(joint.result) or view.readers(joint.result)
    inside = {n.index for s in growth.steps for n in s.nodes}.intersection(view.readers(joint.result))
    lies = growth.epilogue is not None or not growth.space.turned
    if joint.own in made and read and not inside and lies:
        return None
    return not_along(step, profile.trait, len(view.type_of(joint.result).shape or ()))


def not_convex(detour: Detour, view: View, step: Step) -> Miss:
    """The Miss of a step that would join by a detour."""
    through = view.nodes[detour.through].label
    message = f"a path leaves the region through {through} and comes back"
    if not detour.proven:
        message = f"whether a path leaves the region and comes back was not decided: given up at {through}"
    return Miss("not-convex", message, step.index, {"through": through})
