"""Convolutions that are matrix products: the weight is left, the images are right, the bias a row value (0007)."""

from __future__ import annotations

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.view import Node, View
from ascend_fuse.program.op import FLOATS
from ascend_fuse.reason import Figure, Miss
from ascend_fuse.region.side import DEPTH, LEFT, RIGHT
from ascend_fuse.region.space import Space, better, mismatch, shown
from ascend_fuse.region.trait import Trait, refused

MAX_AXES = 3  # of an image: lengths, pictures, volumes
CHANNEL = 2  # dimensions up to the image's own: batch and channels
SAME = ("SAME_UPPER", "SAME_LOWER")


def convolution(node: Node, view: View) -> Trait | Miss:
    """A convolution that sums over the channels of one pixel, or what makes it another."""
    image, weight = (view.type_of(name) for name in node.inputs[:2])
    for dtype in (image.dtype, weight.dtype):
        if dtype not in FLOATS:
            figure: dict[str, Figure] = {"dtype": dtype or "?"}
            return Miss("dtype-unsupported", f"Conv on {dtype or 'an unknown type'}", node.index, figure)
    kernel = (weight.shape or ())[CHANNEL:]
    if not kernel or not all(isinstance(size, int) for size in kernel):
        return Miss("shape-unknown", "the kernel of Conv is not known", node.index, {"axis": "kernel"})
    shapes = [view.type_of(name).shape for name in (*node.inputs[:2], node.outputs[0])]
    known = [s for s in shapes if s is not None]
    if len(known) < len(shapes):
        return Miss("shape-unknown", "a shape of Conv is not known", node.index, {"axis": "all"})
    if any(0 in s for s in known):
        figures: dict[str, Figure] = {"shape": ", ".join(map(shown, known)), "space": "any"}
        return Miss("shape-mismatch", "Conv of an empty tensor", node.index, figures)
    axes = len(kernel)
    text = _more_than_product(node, tuple(size for size in kernel if isinstance(size, int)))
    if text or axes > MAX_AXES or len({len(s) for s in known}) > 1:
        text = text or f"images of {axes} axes"
        return Miss("own-kernel", f"Conv has a kernel of its own: {text}", node.index, {"op": "Conv"})
    bias = tuple(n for n in node.inputs[2:] if n)
    if any(view.type_of(n).shape not in (None, known[1][:1]) for n in bias):
        return refused(node, "B", "the bias of Conv has not a value for each channel")
    return Trait(bias, row=axes, shifts=tuple((n, axes) for n in bias), product=True)


def _more_than_product(node: Node, kernel: tuple[int, ...]) -> str:
    """What makes a convolution more than a product of its weight with its images, "" for nothing."""
    if any(size != 1 for size in (*kernel, *_numbers(node, "kernel_shape"))):
        return f"its kernel is {'x'.join(map(str, kernel))}, not 1x1"
    if any(step != 1 for step in _numbers(node, "strides")):
        return f"its stride is {'x'.join(map(str, _numbers(node, 'strides')))}"
    if node.integer("group", 1) != 1:
        return f"it has {node.integer('group', 1)} groups"
    if any(_numbers(node, "pads")):
        return f"its images are padded by {', '.join(map(str, _numbers(node, 'pads')))}"
    how = str(node.attribute("auto_pad", "NOTSET"))
    if how in SAME and any(step != 1 for step in _numbers(node, "dilations")):
        return f"auto_pad {how} beside dilations"  # which ONNX Runtime does not run
    return "" if how in ("NOTSET", "VALID", *SAME) else f"auto_pad {how}"


def _numbers(node: Node, name: str) -> tuple[int, ...]:
    return node.integers(name) or ()


def lay_convolution(node: Node, space: Space, view: View) -> Dim | Miss:
    """Its ci: the weight and the images now lie beside the result [n, co, h, w], as a product's left and right."""
    have, own = (tuple(view.type_of(name).shape or ()) for name in node.inputs[:2])
    if isinstance(have[1], int) and isinstance(own[1], int) and have[1] != own[1]:
        return mismatch(f"{have[1]} channels are not the weight's {own[1]}", have, own)
    batch, channels, *picture = space.places[node.outputs[0]]
    space.places[LEFT] = (channels, (DEPTH,), *((),) * len(picture))
    space.places[RIGHT] = (batch, (DEPTH,), *picture)
    return better(own[1], have[1])
