"""How a product reads an operand through the Transposes, views and Expands that make it (docs/design/0007).

They are walked from the product to the tensor that is read in their place: each says where its operand's dimensions lie
on the axes of its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import View
from ascend_fuse.reason import Miss
from ascend_fuse.region.movement import shapes_of_view, widened
from ascend_fuse.region.regroup import regroup_bare
from ascend_fuse.region.space import Group, Place, Space
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait
from ascend_fuse.region.turn import before

WIDENS = "Expand"


def moves_only(step: Step, trait: Trait) -> bool:
    """Whether a load can do what the step does: it only says where elements lie."""
    return trait.view or bool(trait.turns) or step.node.op == WIDENS


@dataclass(frozen=True, slots=True)
class Chain:
    """An operand: the tensor that is read, the steps that make the product's own input of it, and that input."""

    source: str
    steps: tuple[Step, ...]
    end: str


def chain_of(name: str, steps: Sequence[Step], traits: Mapping[int, Trait]) -> Chain:
    """The operand `name` of a product, read as far back as the region's steps go."""
    made = {o: s for s in steps for o in s.outputs if moves_only(s, traits[s.index])}
    found: list[Step] = []
    source = name
    while source in made:
        found.append(made[source])
        source = found[-1].node.inputs[0]
    return Chain(source, tuple(reversed(found)), name)


def walk(
    space: Space, key: str, chain: Chain, turns: Mapping[int, tuple[int, ...]], view: View,
    values: Mapping[str, ShapeValue],
) -> Miss | None:  # fmt: skip
    """Move `space.places[key]` from the chain's end to its source, cutting axes where a view cuts dimensions.

    Dimensions of size 1 are left without axes.
    """
    for step in reversed(chain.steps):
        place = space.places[key]
        if turns.get(step.index):
            found: Place | Miss = before(place, turns[step.index])
        elif step.node.op == WIDENS:
            found = widened(step.node, view, values) or _narrow(place, step, view)
        else:
            shapes = shapes_of_view(step.node, view)
            groups = shapes if isinstance(shapes, Miss) else regroup_bare(space, place, shapes[1], shapes[0])
            found = groups if isinstance(groups, Miss) else tuple(g or () for g in groups)
        if isinstance(found, Miss):
            return found
        space.places[key] = found
    return None


def _narrow(place: Place, step: Step, view: View) -> Place:
    """The place of what an Expand widens."""
    shape = view.type_of(step.node.inputs[0]).shape or ()
    groups: list[Group] = list(place[len(place) - len(shape) :])
    return tuple(() if dim == 1 else group for group, dim in zip(groups, shape, strict=True))
