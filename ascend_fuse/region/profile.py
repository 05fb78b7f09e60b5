"""The programs of single steps and of regions, each made once for all that are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from ascend_fuse.graph.type import DTYPE_BYTES
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node, View
from ascend_fuse.program.program import Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.arrange import Lying, arrange
from ascend_fuse.region.build import NOTHING, ONE_NUMBER, Builder, Built, finish
from ascend_fuse.region.joint import joint_of, past_side, place_joint
from ascend_fuse.region.lower import lower
from ascend_fuse.region.operand import Chain, chain_of
from ascend_fuse.region.place import place
from ascend_fuse.region.product import operands_of, sides
from ascend_fuse.region.side import Side
from ascend_fuse.region.signature import Key, Signatures
from ascend_fuse.region.space import Joint, Space, mismatch
from ascend_fuse.region.step import Step, embedded, order
from ascend_fuse.region.table import trait
from ascend_fuse.region.trait import Trait

TRANSPOSE = "Transpose"
Unsupported = Callable[[Built], Miss | None]  # why no kernel of the chip runs the program


@dataclass(frozen=True, slots=True)
class Profile:
    """A step that a vector family can hold, with the program it is alone (in the names of the first of its kind).

    `plain`: it has no row, moves nothing and is no view.
    """

    trait: Trait
    alone: Built
    kind: int
    names: tuple[str, ...]
    plain: bool


class Programs:
    """The programs over one view."""

    def __init__(self, view: View, values: Mapping[str, ShapeValue], unsupported: Unsupported) -> None:
        self.view = view
        self.unsupported = unsupported
        self.values = values
        self._signatures = Signatures(view, values)
        self.refused: Mapping[int, Miss] = {}  # by node: what an earlier attempt found that no proof can be had of
        self._profiles: dict[int, Profile | Miss] = {}  # by step
        self._kinds: dict[int, Profile] = {}
        self._regions: dict[Key, tuple[Built, tuple[str, ...]]] = {}

    def profile(self, step: Step) -> Profile | Miss:
        """What the step is, or why it can be in no region; a Transpose may cancel in one, whatever it is by itself."""
        found = self._profiles.get(step.index)
        if found is None:
            known = next((m for n in step.nodes if (m := self.refused.get(n.index))), None)
            found = self.plain(step) if known is None else at_step(known, step)
            if isinstance(found, Profile) and not (found.trait.view or found.trait.literal or found.trait.turns):
                miss = self.unsupported(found.alone)
                found = found if miss is None else at_step(miss, step)
            self._profiles[step.index] = found
        return found

    def plain(self, step: Step) -> Profile | Miss:
        """What the step is to a library's kernel as well; not remembered."""
        kind, names = self._signatures.of(step)
        first = self._kinds.get(kind)
        if first is None:
            found = self._first(step, kind, names)
            if isinstance(found, Profile):
                self._kinds[kind] = found
            return found
        own = dict(zip(first.names, names, strict=True))
        found = Trait(tuple(own[n] for n in first.trait.data)) if first.plain else first.trait.renamed(own)
        return Profile(found, first.alone, kind, names, first.plain)

    def _first(self, step: Step, kind: int, names: tuple[str, ...]) -> Profile | Miss:
        found = trait(step, self.view)
        if isinstance(found, Miss):
            return found
        if step.node.op == TRANSPOSE and found.view:  # alone it is launched
            copied = self._copied(step)
            return at_step(copied, step) if isinstance(copied, Miss) else Profile(found, copied, kind, names, False)
        if found.view or found.literal:
            return Profile(found, NOTHING if found.view else ONE_NUMBER, kind, names, plain=False)
        space, traits = Space(), {step.index: found}
        miss = self.place(space, step, [step], traits)
        if miss is not None:
            return at_step(miss, step)
        built = self._assemble([step], space, traits, list(step.outputs))
        if isinstance(built, Miss):
            return at_step(built, step)
        return Profile(found, built, kind, names, plain=found == Trait(found.data))

    def _copied(self, step: Step) -> Built | Miss:
        """What a Transpose that moves axes of size 1 alone is by itself: a copy."""
        source, target = step.node.inputs[0], step.outputs[0]
        shape = self.view.type_of(source).shape or ()
        space = Space()
        frame = space.frame([], shape)
        if isinstance(frame, Miss):
            return frame
        for name in (source, target):
            space.put(name, frame, shape)
        builder = Builder(self.view, space, self.values, [source])
        builder.handles[target] = builder.tensor(source)
        return finish(builder, [source], [target])

    def of(self, steps: Sequence[Step], wanted: Sequence[str]) -> Built | Miss:
        """The program of steps with profiles, in the order of joining; `wanted` are read outside.

        Remembered by what it depends on: layers and chains repeat.
        """
        key, at = self._key(steps, wanted)
        known = self._regions.get(key)
        if known is None:
            built = self._laid(steps, wanted)
            if isinstance(built, Built):
                self._regions[key] = built, tuple(at)
            return built
        first, names = known
        own = dict(zip(names, at, strict=True))
        return Built(first.program, tuple(own[n] for n in first.inputs), tuple(wanted), first.sizes)

    def _key(self, steps: Sequence[Step], wanted: Sequence[str]) -> tuple[Key, dict[str, int]]:
        """What the program depends on, names by the number of their first appearance; and these numbers."""
        at: dict[str, int] = {}
        parts: list[Hashable] = []
        for step in order(steps):
            profile = self.profile(step)
            assert isinstance(profile, Profile)
            parts += (profile.kind, tuple(at.setdefault(n, len(at)) for n in profile.names))
        rank = {s.index: k for k, s in enumerate(order(steps))}
        return (tuple(parts), tuple(rank[s.index] for s in steps), tuple(at[n] for n in wanted)), at

    def _laid(self, steps: Sequence[Step], wanted: Sequence[str]) -> Built | Miss:
        space = Space()
        traits = self._traits(steps)
        if isinstance(traits, Miss):
            return traits
        chains = self.chains(steps, traits)
        aside = {s.index for chain in chains for s in chain.steps}
        for step in steps:
            miss = None if step.index in aside else self.place(space, step, steps, traits)
            if miss is not None:
                return at_step(miss, step)
        for step in steps:
            if step.node.op == "CastLike" and step.node.inputs[1] not in space.places:
                text = "its type is that of a value that the region does not read"
                return at_step(mismatch(text, (), space.sizes), step)
        lead = space.order[: len(space.order) - space.row]
        for step in order(steps):
            for name in step.outputs if step.index not in aside else ():
                shape = self.view.type_of(space.part(name)).shape or ()
                wide = space.wide(space.part(name), shape)
                if name in wanted and any(space.dims[a] != 1 and a not in wide for a in lead):
                    return at_step(mismatch(f"{name} is narrower than the region", shape, space.sizes), step)
        return self._assemble(steps, space, traits, wanted)

    def place(self, space: Space, step: Step, steps: Sequence[Step], traits: Mapping[int, Trait]) -> Miss | None:
        """Lay a step of the region of `steps` on the space; on a Miss it is left half changed (work on a copy)."""
        if traits[step.index].joins is None:
            return place(space, step, traits[step.index], self.view)
        joint = joint_of(step, traits[step.index], steps, len(space.joints))
        return joint if isinstance(joint, Miss) else place_joint(space, joint, self.view)

    def _traits(self, steps: Sequence[Step]) -> dict[int, Trait] | Miss:
        found: dict[int, Trait] = {}
        for step in steps:
            profile = self.profile(step)
            if isinstance(profile, Miss):
                return profile
            found[step.index] = profile.trait
        return found

    def inputs_of(self, steps: Sequence[Step]) -> list[str]:
        """The inputs of the region of steps with profiles."""
        traits = self._traits(steps)
        if isinstance(traits, Miss):
            return []
        joining = [s for s in steps if traits[s.index].joins is not None]
        joints = [joint_of(s, traits[s.index], steps, k) for k, s in enumerate(joining)]
        known = [j for j in joints if isinstance(j, Joint)]
        return self._external(steps, traits, self.chains(steps, traits), known)

    def chains(self, steps: Sequence[Step], traits: Mapping[int, Trait]) -> tuple[Chain, ...]:
        """How the product among the steps reads left and right; () where there is none."""
        node = next((s.node for s in steps if traits[s.index].product), None)
        return () if node is None else tuple(chain_of(name, steps, traits) for name, _ in operands_of(node))

    def sides(
        self, space: Space, steps: Sequence[Step], traits: Mapping[int, Trait], chains: Sequence[Chain]
    ) -> tuple[Side, ...] | Miss:
        """The operands of the product among the steps, which lies on the space."""
        product = next((s for s in steps if traits[s.index].product), None)
        if product is None:
            return ()
        turns = {index: t.turns for index, t in traits.items()}
        found = sides(product.node, space, self.view, self.values, chains, turns)
        return at_step(found, product) if isinstance(found, Miss) else found

    def _external(
        self, steps: Sequence[Step], traits: Mapping[int, Trait], chains: Sequence[Chain], joints: Sequence[Joint]
    ) -> list[str]:
        """What the region's nodes read and neither make nor carry as a constant, in the order of reading.

        A product's operands come first, and again where the others read them too; then what is joined to results.
        """
        pasts = [j.past for j in joints]
        aside = {s.index for chain in chains for s in chain.steps}
        data = {n for s in steps if s.index not in aside for n in traits[s.index].data}
        made = {o for s in steps for n in s.nodes for o in n.outputs}
        names = dict.fromkeys(
            i for s in order(steps) for n in s.nodes for i in _read(n, traits[s.index], n.index in aside) if i
        )
        others = (n for n in names if n not in made and (n in data or embedded(self.view, n) is None))
        return [*(c.source for c in chains), *pasts, *(n for n in others if n not in pasts)]

    def _lying(self, space: Space, name: str) -> Lying:
        """How an input or output lies in memory; one that lies on no axes suits every order."""
        kind, part = self.view.type_of(name), space.part(name)
        if part not in space.places:
            return Lying((), 0)
        wide = space.wide(part, self.view.type_of(part).shape or ())
        axes = tuple(a for group in space.places[part] for a in group if a in wide)
        return Lying(axes, DTYPE_BYTES.get(kind.dtype, 0))

    def _assemble(
        self, steps: Sequence[Step], space: Space, traits: Mapping[int, Trait], wanted: Sequence[str]
    ) -> Built | Miss:
        """The program of placed steps."""
        chains = self.chains(steps, traits)
        joints = list(space.joints.values())
        external = self._external(steps, traits, chains, joints)
        laid = self.sides(space, steps, traits, chains)
        if isinstance(laid, Miss):
            return laid
        for joint in joints:
            past = past_side(space, joint, self.view)
            if isinstance(past, Miss):
                return past
            laid = (*laid, past)
        aside = {s.index for chain in chains for s in chain.steps}
        if not laid:
            space.narrow_row()
        if space.row and not space.lead and (space.turned or joints):
            space.insert(0)  # the text has an axis in front of the row, which orders and joined shapes name too
        if space.turned and not chains:
            arrange(space, [self._lying(space, name) for name in (*external[len(laid) :], *wanted)])
        builder = Builder(self.view, space, self.values, external, laid)
        for step in sorted(steps, key=lambda s: (not traits[s.index].product, s.index)):
            miss = None if step.index in aside else lower(builder, step)
            if miss is not None:
                return miss
            for name in step.outputs:
                if name in wanted and (step.index in aside or not isinstance(builder.handles[name].operand, Value)):
                    text = f"{name} makes an operand" if step.index in aside else f"{name} is a number"
                    return at_step(mismatch(f"{text} and is read outside", (), space.sizes), step)
        return finish(builder, external, wanted)


def _read(node: Node, of: Trait, operand: bool) -> tuple[str, ...]:
    """The inputs whose values matter, a product's operands and what makes one left out."""
    if of.product:
        return node.inputs[2:]
    if operand:
        return node.inputs[1:]
    return node.inputs[:1] if node.op == "CastLike" else node.inputs


def at_step(miss: Miss, step: Step) -> Miss:
    """The miss with the step as its node, if it has none."""
    return miss if miss.node >= 0 else Miss(miss.code, miss.message, step.index, miss.figures, miss.rule)
