"""MatMul and Gemm: where their operands lie beside the region's space, and their instructions (docs/design/0007)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.value import ShapeValue
from ascend_fuse.graph.view import Node, View
from ascend_fuse.program.op import FLOATS
from ascend_fuse.program.program import Instr, Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Handle
from ascend_fuse.region.convolution import lay_convolution
from ascend_fuse.region.lowering import Lowering
from ascend_fuse.region.operand import Chain, walk
from ascend_fuse.region.side import DEPTH, LEFT, RIGHT, Side
from ascend_fuse.region.space import Group, Space, better, mismatch, shown
from ascend_fuse.region.trait import Trait, refused

GEMM_SINCE = 7  # before, an attribute says whether C broadcasts
MATRIX_RANK = 2


def operands_of(node: Node) -> tuple[tuple[str, bool], tuple[str, bool]]:
    """Left and right: their names, and whether they are stored transposed."""
    gemm = node.op == "Gemm"
    left, right = reversed(node.inputs[:2]) if node.op == "Conv" else node.inputs[:2]
    return (left, gemm and bool(node.integer("transA", 0))), (right, gemm and bool(node.integer("transB", 0)))


def product(node: Node, view: View) -> Trait | Miss:
    """A product of matrices; what is added behind it is the one tensor that lies on the space as others do."""
    if node.op == "Gemm" and view.opset < GEMM_SINCE:
        return refused(node, "broadcast", f"Gemm of opset {view.opset} broadcasts by an attribute")
    if node.operand(2) and node.attribute("beta", 1.0) == 0.0:
        return refused(node, "beta", "Gemm with beta 0 does not read C: 0 · C would be no number where C is none")
    names = [name for name, _ in operands_of(node)]
    for name in names:
        dtype = view.type_of(name).dtype
        if dtype not in FLOATS:
            code, figure = ("dtype-unsupported", "dtype") if dtype in ("f64", "") else ("own-kernel", "op")
            return Miss(code, f"{node.op} on {dtype or 'an unknown type'}", node.index, {figure: dtype or "?"})
    shapes = [view.type_of(name).shape for name in (*names, node.outputs[0])]
    known = [s for s in shapes if s is not None]
    if len(known) < len(shapes):
        return Miss("shape-unknown", f"a shape of {node.op} is not known", node.index, {"axis": "all"})
    if min(map(len, known)) < MATRIX_RANK:
        return refused(node, "rank", f"{node.op} of a vector")
    if any(0 in s for s in known):
        figures = {"shape": ", ".join(map(shown, known)), "space": "any"}
        return Miss("shape-mismatch", f"{node.op} of an empty matrix", node.index, figures)
    return Trait(tuple(n for n in node.inputs[2:] if n), row=1, product=True)


def sides(
    node: Node, space: Space, view: View, values: Mapping[str, ShapeValue], chains: Sequence[Chain],
    turns: Mapping[int, tuple[int, ...]],
) -> tuple[Side, Side] | Miss:  # fmt: skip
    """The operands over the space on which the product lies; its `depth` is k from now on.

    `chains`: how left and right are read, `turns`: the permutations of their Transposes.
    """
    depth = (lay_convolution if node.op == "Conv" else _lay)(node, space, view)
    if isinstance(depth, Miss):
        return depth
    space.depth, space.dims[DEPTH] = [DEPTH], depth
    for key, chain in zip((LEFT, RIGHT), chains, strict=True):
        miss = walk(space, key, chain, turns, view, values)
        if miss is not None:
            return miss
    left = _side(space, view, chains[0].source, LEFT, space.lead, space.depth)
    if isinstance(left, Miss):
        return left
    right = _side(space, view, chains[1].source, RIGHT, [*space.lead[:-1], *space.depth], space.row_axes)
    if isinstance(right, Miss):
        return right
    for axis in space.lead:
        if space.dims[axis] != 1 and left.dims.get(axis, 1) == 1 and right.dims.get(axis, 1) == 1:
            shape = view.type_of(node.outputs[0]).shape or ()
            return mismatch(f"both operands of {node.label} are widened along one axis", shape, space.sizes)
    return left, right


def _lay(node: Node, space: Space, view: View) -> Dim | Miss:
    """Its k: left and right now lie beside the result, as their memory has them."""
    (left, left_turned), (right, right_turned) = operands_of(node)
    a, b = (tuple(view.type_of(name).shape or ()) for name in (left, right))
    a, b = (_upright(a, left_turned), _upright(b, right_turned))
    if isinstance(a[-1], int) and isinstance(b[-2], int) and a[-1] != b[-2]:
        return mismatch(f"{a[-1]} columns are not {b[-2]} rows", b, a)
    place = space.places[node.outputs[0]]
    rows, batch = place[: len(place) - 1], place[: len(place) - 2]
    space.places[LEFT] = _stored((*rows[len(rows) - len(a) + 1 :], (DEPTH,)), left_turned)
    space.places[RIGHT] = _stored((*batch[len(batch) - len(b) + 2 :], (DEPTH,), place[-1]), right_turned)
    return better(a[-1], b[-2])


def _side(space: Space, view: View, name: str, key: str, front: Sequence[int], back: Sequence[int]) -> Side | Miss:
    """An operand with the axes `front` before the bar and `back` behind it, those in front that it lacks left out."""
    groups = space.places[key]
    shape = view.type_of(name).shape or ()
    dims: dict[int, Dim] = {}
    for group, dim in zip(groups, shape, strict=True):
        dims.update((axis, dim if dim == 1 or len(group) == 1 else space.dims[axis]) for axis in group)
    inner = front[-1:] if key == LEFT else front[len(front) - len(space.depth) :]
    for axis in (*inner, *back):
        if space.dims[axis] != 1 and dims.get(axis, 1) == 1:
            return mismatch(f"{name} is widened along a side of its matrix", shape, space.sizes)
    first = next((k for k, axis in enumerate(front) if axis in dims or axis in inner), 0)
    axes = (*front[first:], *back)
    return Side(name, key[1:], axes, len(front) - first, dims, groups)


def _upright(shape: tuple[Dim, ...], turned: bool) -> tuple[Dim, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if turned else shape


def _stored(groups: tuple[Group, ...], turned: bool) -> tuple[Group, ...]:
    return (*groups[:-2], groups[-1], groups[-2]) if turned else groups


def lower_product(low: Lowering) -> Miss | None:
    """alpha · left · right + beta · C; the first instruction of its program, whose first inputs are the operands."""
    builder = low.builder
    name = low.node.outputs[0]
    dims = builder.space.extents(name, builder.view.type_of(name).shape or ())
    line = Instr("v0", builder.type(low.dtype, dims), "matmul", (Value("x0"), Value("x1")))
    if builder.instrs:
        return Miss("own-kernel", f"{low.node.op} behind other instructions", low.node.index, {"op": low.node.op})
    builder.instrs.append(line)
    out = Handle(Value("v0"), low.dtype, dims)
    if low.number("alpha", 1.0) != 1.0:
        out = low.with_literal("mul", out, low.number("alpha", 1.0))
    if low.has(2):
        addend = low.arg(2)
        if low.number("beta", 1.0) != 1.0:
            addend = low.op("mul", addend, low.lit(low.number("beta", 1.0), addend))
        out = low.op("add", out, addend)
    low.done(out)
    return None
