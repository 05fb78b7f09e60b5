"""Each node that a kernel runs as a launch of its own: what a fused model is measured against, on the same kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import ModelProto

from ascend_fuse.account import Outcome, account
from ascend_fuse.reason import Miss
from ascend_fuse.region.step import single
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.run import Run
from ascend_fuse.verdict import judge

if TYPE_CHECKING:
    from ascend_fuse.planning import Planner
    from ascend_fuse.preparation import Preparation


def launch_each(model: ModelProto, ready: Preparation) -> int:
    """Make every node that a kernel runs a fused node by itself, whatever the judge says; how many there are.

    The model is edited in place and proved, as a fused one is; a fused one is inlined first. Nothing is cleaned.
    Raises ModelError, InternalError.
    """
    # Without rules no nodes belong together: an idiom's are launched one by one.
    run = Run(model, ready.engine, RuleSet(()), ready.options, lambda stage, done, total: None)
    return run.fuse_by(_each)


def _each(planner: Planner) -> Outcome:
    grower = planner.grower
    for node in planner.view.nodes:
        if not planner.launches[node.index] or node.index not in grower.steps:
            continue
        step = single(node)
        if isinstance(grower.profile(step), Miss):
            continue
        closed = grower.close([step], {})
        if isinstance(closed, Miss):
            continue
        steps, built = closed
        judged = judge(planner.estimate, built, planner.launched_alone(steps))
        if judged.tiling.block_dim > 0:  # else no tile of it fits on chip
            planner.choose(steps, built, judged)
    return account(planner, ())
