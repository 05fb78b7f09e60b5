"""What may join a product: the elementwise program over its own space, and what only that reads."""

from __future__ import annotations

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.view import View
from ascend_fuse.reason import Miss
from ascend_fuse.region.space import Space, mismatch
from ascend_fuse.region.step import Step
from ascend_fuse.region.trait import Trait


class Epilogue:
    """Of one growing region: its product, and the values that depend on it."""

    def __init__(self, product: Step, view: View) -> None:
        self.product = product
        self.view = view
        self.behind = set(product.outputs)
        self.inside = {product.index}
        self.read: set[str] = set()

    def refusal(self, step: Step, trait: Trait) -> Miss | None:
        """Why the step cannot join, whatever its axes."""
        if trait.product:
            return Miss("own-kernel", f"{step.label} is a second product", step.index, {"op": step.node.op})
        if trait.reduces or trait.moves:
            text = f"{step.node.op} needs whole rows, a tile of the product {self.product.label} has a part of them"
            return Miss("crosses-reduction", text, step.index, {"row": trait.row})
        if self._follows(step):
            return self._wider(step, trait)
        return self._beside(step)

    def joined(self, step: Step) -> None:
        """The step is part of the region from now on."""
        self.inside |= {n.index for n in step.nodes}
        self.read.update(step.inputs)
        if self._follows(step):
            self.behind.update(step.outputs)

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
        if trait.view:
            return None
        out = self._shape(step.outputs[0])
        for name in step.inputs:
            shape = self._shape(name)
            if name in self.behind and not _alike(shape, out):
                text = f"{step.label} spreads {name} behind the product {self.product.label} over a wider shape"
                return mismatch(text, out, shape)
        return None

    def _beside(self, step: Step) -> Miss | None:
        """A step that the product does not feed: it joins where the epilogue alone reads it."""
        label = self.product.label
        if not set(self.product.inputs).isdisjoint(step.outputs):
            figures = {"neighbour": label, "why": "operand"}
            return Miss("nothing-to-join", f"it makes an operand of the product {label}", step.index, figures)
        for name in step.outputs:
            outside = [k for k in self.view.readers(name) if k not in self.inside]
            if self.view.is_output(name) or outside:
                text = f"{name} is read by others than what follows the product {label}"
                return Miss("value-escapes", text, step.index, {"value": name})
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
