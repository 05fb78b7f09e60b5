"""RotaryEmbedding: of each head's row the first half turned by the second, element by element."""

from __future__ import annotations

from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Miss
from ascend_fuse.region.lowering import Lowering
from ascend_fuse.region.trait import Trait, rank_of, refused

HEADS_RANK = 4  # [batch, heads, sequence, head size]


def rotary(node: Node, view: View) -> Trait | Miss:
    """Halves of [batch, heads, sequence, size] beside caches of [batch, sequence, half], which know no heads."""
    if node.operand(3):
        return refused(node, "position_ids", "position_ids choose the rows of the caches")
    if node.integer("interleaved", 0):
        return refused(node, "interleaved", "the elements of a pair lie side by side")
    if rank_of(view, node.inputs[0]) != HEADS_RANK:
        return refused(node, "num_heads", "the heads are not an axis of their own")
    return Trait(node.inputs[:3], 1, moves=True, headless=node.inputs[1:3])


def lower_rotary(low: Lowering) -> Miss | None:
    """real = cos · a - sin · b, imag = sin · a + cos · b, and what is not turned behind them."""
    x, cos, sin = (low.arg(k) for k in range(3))
    full = x.dims.get(low.builder.last, 1)
    turned = low.node.integer("rotary_embedding_dim", 0) or full
    if not isinstance(full, int) or not isinstance(turned, int):
        return Miss("shape-unknown", "the size of a head is not known", low.node.index, {"axis": -1})
    half = turned // 2
    a, b = low.cut(x, 0, half), low.cut(x, half, turned)
    real = low.op("sub", low.op("mul", cos, a), low.op("mul", sin, b))
    imag = low.op("add", low.op("mul", sin, a), low.op("mul", cos, b))
    rest = [low.cut(x, turned, full)] if turned < full else []
    low.done(low.concat((real, imag, *rest), full))
    return None
