"""Why a node that is launched by itself was joined by none of its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ascend_fuse.reason import Figure, Miss
from ascend_fuse.region.epilogue import Epilogue
from ascend_fuse.region.grow import Growth
from ascend_fuse.region.step import Step

if TYPE_CHECKING:
    from ascend_fuse.planning import Planner

PRODUCTS = frozenset("MatMul Gemm Conv".split())
OTHER_PRODUCTS = frozenset("ConvTranspose MatMulInteger ConvInteger".split())


def alone(planner: Planner, seed: Step, growth: Growth) -> Miss:
    """Why nothing joined: what the region beside it said of it, else the nearest neighbour and its own reason.

    A view is named only where no neighbour is launched: it is not what stands in the way. Of a product only what
    follows it could join.
    """
    if seed.index in planner.beyond:
        return planner.beyond[seed.index]
    refused = growth.refused if growth.epilogue is None else _behind(planner, growth, growth.epilogue)
    near = sorted(refused.items(), key=lambda item: abs(item[0] - seed.index))
    if not near:
        return Miss("nothing-to-join", "no neighbour", seed.index, {"neighbour": "", "why": "none"})
    launched = [item for item in near if planner.launches[item[0]]]
    index, miss = (launched or near)[0]
    if growth.epilogue is not None and miss.code == "crosses-reduction":  # it is the epilogue's own border
        return Miss(miss.code, miss.message, seed.index, miss.figures)
    if miss.code == "nothing-to-join":  # not free: it has a region, or a reason of its own
        miss = planner.reasons.get(index, miss)
    label = planner.view.nodes[index].label
    figures: dict[str, Figure] = {"neighbour": label, "why": miss.code}
    message = f"its nearest neighbour {label} cannot join: {miss.message}"
    if launched and _is_product(planner, index):
        which = "only" if len(launched) == 1 else "nearest"
        message = f"its {which} neighbour is a product, {label}: {_of_product(planner, growth, index)}"
    return Miss("nothing-to-join", message, seed.index, figures)


def _behind(planner: Planner, growth: Growth, epilogue: Epilogue) -> Mapping[int, Miss]:
    """What reads the product or a view of it."""
    steps = planner.grower.steps
    return {k: m for k, m in growth.refused.items() if not epilogue.behind.isdisjoint(steps[k].inputs)}


def _is_product(planner: Planner, index: int) -> bool:
    node = planner.view.nodes[index]
    return not node.domain and (node.op in OTHER_PRODUCTS or node.op in PRODUCTS)


def _of_product(planner: Planner, growth: Growth, index: int) -> str:
    """Why a product beside the region does not take it."""
    if not growth.nodes.isdisjoint(planner.grower.reach.before[index]):
        return "operands of a product are read as they are"
    if planner.view.nodes[index].op in OTHER_PRODUCTS:
        return "it takes no epilogue in this version"
    profile = planner.grower.profile(planner.grower.steps[index])
    if isinstance(profile, Miss):
        return profile.message
    reason = planner.reasons.get(index)
    if reason is None and index in planner.grower.free:
        product = planner.grower.steps[index]
        reason = alone(planner, product, planner.grower.grow(product))
    return reason.message if reason is not None else "it is in another region"
