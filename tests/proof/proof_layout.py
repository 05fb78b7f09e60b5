"""Programs that read or write one tensor in another layout: orders, own shapes, strides of zero, sides, outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations

from proof_mutant import Mutant

from ascend_fuse import _engine
from ascend_fuse.program.program import Input, Order, Output, OwnShape, Program, Shape, Type
from ascend_fuse.program.text import print_program

# Two dimensions of equal size beside each other, so that shapes alone tell nothing of their order.
TEXTS: Mapping[str, str] = {
    "split": """g (float[b,s,96] x, float[b,t,96] y, float[b,1,1,t] m) => (float[b,12,s,t] o)
        <int64[4] heads = {0, 0, 12, 8}> {
        q = Reshape (x, heads) qt = Transpose <perm = [0, 2, 1, 3]> (q)
        k = Reshape (y, heads) kt = Transpose <perm = [0, 2, 3, 1]> (k)
        p = MatMul (qt, kt) o = Add (p, m) }""",
    "merge": """g (float[b,12,s,t] a, float[b,12,t,8] v) => (float[b,s,96] o) <int64[3] wide = {0, 0, 96}> {
        p = MatMul (a, v) q = Transpose <perm = [0, 2, 1, 3]> (p) r = Reshape (q, wide) o = Tanh (r) }""",
    "square": """g (float[s,s] x, float[s,s] y, float[s,s] r) => (float[s,s] o) {
        t = Transpose <perm = [1, 0]> (x) p = MatMul (t, y) o = Sub (p, r) }""",
    "behind": """g (float[a,b,s,8] x, float[8,6] y, float[s,6] c) => (float[b,a,s,6] o) {
        p = MatMul (x, y) d = Add (p, c) o = Transpose <perm = [1, 0, 2, 3]> (d) }""",
    "shared": """g (float[b,12,s,8] x, float[b,3,t,8] y) => (float[b,12,s,t] o)
        <int64[1] at = {2}, int64[5] four = {1, 1, 4, 1, 1}, int64[4] back = {0, 12, -1, 8}> {
        u = Unsqueeze (y, at) e = Expand (u, four) k = Reshape (e, back)
        kt = Transpose <perm = [0, 1, 3, 2]> (k) p = MatMul (x, kt) o = Tanh (p) }""",
    "beside": """g (float[b,s,h,16] x, float[16,64] y, float[b,h,s,64] r) => (float[b,s,h,64] o, float[b,s,h,64] p) {
        p = MatMul (x, y) q = Transpose <perm = [0, 2, 1, 3]> (r) o = Add (q, p) }""",
    "joined": """g (float[b,64] x, float[b,64] y, float[b,64] c) => (float[b,64] o, float[b,64] u) {
        a = Mul (x, c) o = Tanh (a) d = Mul (y, c) u = Tanh (d) }""",
    "planes": """g (float[n,h,w,c] x, float[n,c,h,w] r) => (float[n,h,w,c] o, float[n,c,h,w] q) {
        t = Transpose <perm = [0, 3, 1, 2]> (x) a = Tanh (t) q = Sub (a, r)
        o = Transpose <perm = [0, 2, 3, 1]> (q) }""",
    "narrow": """g (float[n,h,w,c] x, float[c,h,1] b) => (float[n,h,w,c] o, float[n,h,w,c] p) {
        t = Transpose <perm = [0, 3, 1, 2]> (x) a = Sub (t, b) d = Exp (a) p = Transpose <perm = [0, 2, 3, 1]> (a)
        o = Transpose <perm = [0, 2, 3, 1]> (d) }""",
    "turned rows": """g (float[n,c,h,w] x, float[c] b) => (float[n,c,h,w] o, float[n,h,w,c] q) {
        t = Transpose <perm = [0, 2, 3, 1]> (x) a = Add (t, b) q = Softmax (a)
        o = Transpose <perm = [0, 3, 1, 2]> (q) }""",
}  # fmt: skip


def _orders(extents: Shape, own: Order) -> Iterator[Order]:
    """Every other order in which the axes that are not 1 come out otherwise."""
    plain = tuple(range(len(extents)))
    now = [k for k in own or plain if extents[k] != 1]
    for order in permutations(plain):
        if [k for k in order if extents[k] != 1] != now:
            yield () if order == plain else order


def _shapes(shape: OwnShape | None) -> Iterator[OwnShape]:
    """Neighbouring sizes swapped or multiplied, factors in another order."""
    for k in range(len(shape or ()) - 1):
        a, b = (shape or ())[k : k + 2]
        if a != b:
            yield (*(shape or ())[:k], b, a, *(shape or ())[k + 2 :])
        yield (*(shape or ())[:k], a + b, *(shape or ())[k + 2 :])


def _widened(line: Input, space: Shape) -> Iterator[Type]:
    """Of an operand, an axis along which nothing moves in memory with the space's size instead."""
    extents, rows = line.type.extents, len(line.type.rows)
    for k, size in enumerate(space[: rows - 1] if line.side else ()):
        if extents[k] == 1 and size != 1:
            wide = (*extents[:k], size, *extents[k + 1 :])
            yield Type(line.type.dtype, wide[:rows], wide[rows:])


def _inputs(program: Program) -> Iterator[tuple[str, str, tuple[Input, ...]]]:
    lines = program.inputs
    for k, line in enumerate(lines):
        edits = [(f"order {o}", replace(line, order=o)) for o in _orders(line.type.extents, line.order)]
        edits += [(f"shape {s}", replace(line, shape=s)) for s in _shapes(line.shape)]
        space = program.rows + (program.cols or ())
        edits += [(f"type {t}", replace(line, type=t)) for t in _widened(line, space)]
        for what, new in edits:
            yield line.name, what, (*lines[:k], new, *lines[k + 1 :])
        for n, other in enumerate(lines[:k]):
            mine, theirs = replace(line, name=other.name), replace(other, name=line.name)
            if mine != other:
                yield line.name, f"is {other.name}", (*lines[:n], mine, *lines[n + 1 : k], theirs, *lines[k + 1 :])


def _outputs(program: Program) -> Iterator[tuple[str, tuple[Output, ...]]]:
    outs, types = program.outputs, program.types()
    for k, out in enumerate(outs):
        extents = types[out.name].extents
        edits = [replace(out, order=o) for o in _orders(extents, out.order)]
        edits += [replace(out, shape=s) for s in _shapes(out.shape)]
        edits += [replace(out, name=line.name) for line in program.instrs if line.name != out.name]
        for new in edits:
            yield f"{new}, not {out}", (*outs[:k], new, *outs[k + 1 :])
    if len(outs) > 1:
        yield "outputs swapped", outs[::-1]


def layouts(program: Program) -> Iterator[Mutant]:
    """The mutants that the engine would run; `line` is the tensor that is read or written otherwise."""
    found = [Mutant(name, what, replace(program, inputs=new)) for name, what, new in _inputs(program)]
    found += [Mutant("out", what, replace(program, outputs=new)) for what, new in _outputs(program)]
    for k, line in enumerate(program.instrs):
        if line.op == "matmul":
            swapped = replace(line, operands=line.operands[::-1])
            new = (*program.instrs[:k], swapped, *program.instrs[k + 1 :])
            found.append(Mutant(line.name, "sides swapped", replace(program, instrs=new)))
    for mutant in found:
        try:
            _engine.Program(print_program(mutant.program))
        except ValueError:
            continue
        yield mutant
