"""What may join a product: how its operands lie, the elementwise program over its own space, what only that reads."""

from __future__ import annotations

from collections.abc import Set

from ascend_fuse.graph.dim import Dim
from ascend_fuse.reason import Miss
from ascend_fuse.region.operand import moves_only
from ascend_fuse.region.product import operands_of
from ascend_fuse.region.profile import Profile, Programs
from ascend_fuse.region.space import Space, mismatch
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait


class Epilogue:
    """Of one growing region: its product, what makes the operands, and the values that depend on the product."""

    def __init__(self, product: Step, programs: Programs) -> None:
        self.product = product
        self.programs = programs
        self.view = programs.view
        self.behind = set(product.outputs)
        self.inside = {product.index}
        self.before: list[Step] = []  # what a load does in place of a launch: Transposes, views, Expands
        self.sources = [name for name, _ in operands_of(product.node)]  # what the loads read

    def refusal(self, step: Step, trait: Trait) -> Miss | None:
        """Why the step cannot join, whatever its axes."""
        if trait.product:
            return Miss("own-kernel", f"{step.label} is a second product", step.index, {"op": step.node.op})
        if trait.reduces or trait.moves:
            text = f"{step.node.op} needs whole rows, a tile of the product {self.product.label} has a part of them"
            return Miss("crosses-reduction", text, step.index, {"row": trait.row})
        if self.is_operand(step):
            return self._operand(step, trait)
        if not set(self.product.node.inputs[2:]).isdisjoint(step.outputs):  # the product's own lines come first
            return self._makes_operand(step, f"it makes what {self.product.label} adds")
        folded = {n for s in self.before for n in (s.node.inputs[0], *s.outputs)}
        if not folded.isdisjoint(step.inputs):
            return self._makes_operand(step, f"it reads what {self.product.label} reads in another order")
        return self._wider(step, trait) if self._follows(step) else self._beside(step)

    def is_operand(self, step: Step) -> bool:
        """Whether the step makes an operand of the product."""
        return not set(self.sources).isdisjoint(step.outputs)

    def joined(self, step: Step) -> None:
        """The step is part of the region from now on."""
        self.inside |= {n.index for n in step.nodes}
        if self._follows(step):
            self.behind.update(step.outputs)
        elif self.is_operand(step):
            self.before.append(step)
            self.sources = [step.node.inputs[0] if name in step.outputs else name for name in self.sources]

    def laid(self, space: Space, step: Step, trait: Trait) -> Miss | None:
        """Whether the product can read its operand with the step between; on a copy of the space."""
        steps = [self.product, *self.before, step]
        known = {s.index: p.trait for s in steps if isinstance(p := self.programs.profile(s), Profile)}
        found = self.programs.sides(space.copy(), steps, known, self.programs.chains(steps, known))
        return found if isinstance(found, Miss) else None

    def widened(self, space: Space, step: Step) -> Miss | None:
        """Whether the space has become another than the product's."""
        own = {a for group in space.places[self.product.outputs[0]] for a in group}
        if all(space.dims[a] == 1 for a in space.order if a not in own):
            return None
        text = f"{step.label} is wider than the product {self.product.label}"
        return mismatch(text, self._shape(step.outputs[0]), space.sizes)

    def _follows(self, step: Step) -> bool:
        return not self.behind.isdisjoint(step.inputs)

    def _wider(self, step: Step, trait: Trait) -> Miss | None:
        """An element of the product goes into one element of what follows it."""
        if trait.view or trait.turns:
            return None
        out = self._shape(step.outputs[0])
        for name in step.inputs:
            shape = self._shape(name)
            if name in self.behind and not _alike(shape, out):
                text = f"{step.label} spreads {name} behind the product {self.product.label} over a wider shape"
                return mismatch(text, out, shape)
        return None

    def _operand(self, step: Step, trait: Trait) -> Miss | None:
        """A step that makes an operand: it joins where a load does what it does, for this product alone."""
        if not moves_only(step, trait):
            return self._makes_operand(step, f"it makes an operand of the product {self.product.label}")
        made = set(step.outputs)
        reads = [name for name in (*self.sources, *self.product.node.inputs[2:]) if name in made]
        if len(reads) > 1 or step.node.inputs[0] in self._read():
            return self._makes_operand(step, f"{self.product.label} or what follows it reads the same tensor twice")
        inside = {self.product.index, *(s.index for s in self.before)}
        return self._escapes(step, inside, f"is read by others than the product {self.product.label}")

    def _makes_operand(self, step: Step, text: str) -> Miss:
        figures = {"neighbour": self.product.label, "why": "operand"}
        return Miss("nothing-to-join", text, step.index, figures)

    def _read(self) -> set[str]:
        """What the region's loads read, and what is read behind the product."""
        nodes = [self.view.nodes[k] for k in self.inside if k not in {s.index for s in self.before}]
        return {*self.sources, *(i for n in nodes for i in n.inputs)}

    def _beside(self, step: Step) -> Miss | None:
        """A step that the product does not feed: it joins where the epilogue alone reads it."""
        text = f"is read by others than what follows the product {self.product.label}"
        return self._escapes(step, self.inside, text)

    def _escapes(self, step: Step, inside: Set[int], text: str) -> Miss | None:
        for name in step.outputs:
            outside = [k for k in self.view.readers(name) if k not in inside]
            if self.view.is_output(name) or outside:
                return Miss("value-escapes", f"{name} {text}", step.index, {"value": name})
        return None

    def _shape(self, name: str) -> tuple[Dim, ...]:
        return tuple(self.view.type_of(name).shape or ())


def _alike(shape: tuple[Dim, ...], other: tuple[Dim, ...]) -> bool:
    """Equal but for sizes that only their names tell apart: those are compared when the program is run."""
    if len(shape) != len(other):
        return False
    return all(
        a == b or (a != 1 and b != 1 and not (isinstance(a, int) and isinstance(b, int)))
        for a, b in zip(shape, other, strict=True)
    )
