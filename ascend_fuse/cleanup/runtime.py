"""Where an exact cleanup would still change bits in ONNX Runtime, so that it is left undone.

Seen on 1.32, with optimisations off. Half types: the CPU provider computes most operators in float32 and decides by the
neighbours of a node, readers of its value included, whether a rounding between two of them is left out. Constants: an
operator that finds its weight constant packs it when the session starts, and its packed kernel may sum in another
order; an Identity in between keeps the weight from being seen.
"""

from __future__ import annotations

from ascend_fuse.graph.view import Node, View

HALVES = frozenset(("f16", "bf16"))
# The CPU provider has no half kernel for these: what they make and read is rounded, whoever else reads it.
_ROUNDS = frozenset("Add Sub Mul Div Neg".split())
_MOVES = frozenset("Concat Expand Reshape Slice Squeeze Transpose Unsqueeze".split())


def is_half(view: View, name: str) -> bool:
    """Whether the value is of a half type."""
    return view.type_of(name).dtype in HALVES


def is_near_half(view: View, name: str) -> bool:
    """Whether it is, or is computed from one: a Cast's result, which the provider may round otherwise."""
    maker = view.producer(name)
    return is_half(view, name) or (maker is not None and any(is_half(view, i) for i in maker.inputs if i))


def is_computed_half(view: View, name: str) -> bool:
    """Whether it is one that some node makes, here or in a graph around: inputs and weights are rounded already."""
    given = name in view.initializers or name in view.inputs
    return is_near_half(view, name) and not given


def is_counted(view: View, name: str) -> bool:
    """Whether the value is a half one whose rounding may depend on a Shape that reads it."""
    maker = view.producer(name)
    if maker is None or not is_half(view, name):
        return False
    readers = [view.nodes[k] for k in view.readers(name) if view.nodes[k].op != "Shape"]
    return maker.op not in _ROUNDS or not all(n.op in _ROUNDS or _moves_on(view, n) for n in readers)


def _moves_on(view: View, node: Node) -> bool:
    """A half value that is moved twice is rounded: the provider widens a single such node only."""
    if node.op not in _MOVES:
        return False
    return any(view.nodes[k].op in _MOVES for o in node.outputs if o for k in view.readers(o))


def is_weight(view: View, name: str) -> bool:
    """Whether the value is a constant of more than one element."""
    maker = view.producer(name)
    held = name in view.initializers or (maker is not None and maker.op == "Constant" and not maker.domain)
    return held and view.type_of(name).shape not in ((), (1,))
