"""MatMul and Gemm: where their operands lie beside the region's space, and their instructions (docs/design/0007)."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.view import Node, View
from ascend_fuse.program.op import FLOATS
from ascend_fuse.program.program import Instr, Value
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Handle
from ascend_fuse.region.lowering import Lowering
from ascend_fuse.region.side import Side
from ascend_fuse.region.space import DEPTH, Group, Space, better, mismatch, shown
from ascend_fuse.region.trait import Trait, refused

GEMM_SINCE = 7  # before, an attribute says whether C broadcasts
MATRIX_RANK = 2


def operands_of(node: Node) -> tuple[tuple[str, bool], tuple[str, bool]]:
    """Left and right: their names, and whether they are stored transposed."""
    gemm = node.op == "Gemm"
    left, right = node.inputs[:2]
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


def sides(node: Node, space: Space, view: View) -> tuple[Side, Side] | Miss:
    """The operands over the space on which the product lies; its `DEPTH` is k from now on."""
    (left, left_turned), (right, right_turned) = operands_of(node)
    a, b = (tuple(view.type_of(name).shape or ()) for name in (left, right))
    a, b = (_upright(a, left_turned), _upright(b, right_turned))
    if isinstance(a[-1], int) and isinstance(b[-2], int) and a[-1] != b[-2]:
        return mismatch(f"{a[-1]} columns are not {b[-2]} rows", b, a)
    depth = space.dims[DEPTH] = better(a[-1], b[-2])
    place = space.places[node.outputs[0]]
    lead = space.lead
    rows = place[: len(place) - 1]
    groups = rows[len(rows) - len(a) + 1 :]
    axes = (*lead[lead.index(groups[0][0]) :], DEPTH)
    dims = _dims(space, groups, a[:-1]) | {DEPTH: depth}
    one = Side(left, "left", axes, len(axes) - 1, dims, _stored((*groups, (DEPTH,)), left_turned), left_turned)
    batch = place[: len(place) - 2]
    groups = batch[len(batch) - len(b) + 2 :]
    front = [x for x in lead[:-1] if groups and lead.index(x) >= lead.index(groups[0][0])]
    axes = (*front, DEPTH, *space.row_axes)
    dims = _dims(space, (*groups, place[-1]), (*b[:-2], b[-1])) | {DEPTH: depth}
    stored = _stored((*groups, (DEPTH,), place[-1]), right_turned)
    return one, Side(right, "right", axes, len(front) + 1, dims, stored, right_turned)


def _upright(shape: tuple[Dim, ...], turned: bool) -> tuple[Dim, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if turned else shape


def _stored(groups: tuple[Group, ...], turned: bool) -> tuple[Group, ...]:
    return (*groups[:-2], groups[-1], groups[-2]) if turned else groups


def _dims(space: Space, groups: Sequence[Group], shape: Sequence[Dim]) -> dict[int, Dim]:
    """The operand's size on each axis of its dimensions."""
    found: dict[int, Dim] = {}
    for group, dim in zip(groups, shape, strict=True):
        for axis in group:
            found[axis] = dim if dim == 1 or len(group) == 1 else space.dims[axis]
    return found


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
