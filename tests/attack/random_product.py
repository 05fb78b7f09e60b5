"""Random graphs with products of matrices: batches, either side transposed, an operand twice, what follows them."""

from __future__ import annotations

from tests.attack.random_graph import NUMPY, UNARY, RandomGraph, Shape, Tensor, joint

WIDTHS = (1, 4, 6)
SCALES = ({}, {}, {"alpha": 0.5}, {"alpha": 1.5, "beta": 0.25}, {"beta": 2.0}, {"beta": 0.0}, {"alpha": 0.0})


class RandomProducts(RandomGraph):
    """A random graph with MatMul and Gemm in their forms."""

    KINDS = RandomGraph.KINDS + tuple("product product gemm gemm behind behind".split())

    def matrix(self, dtype: str, shape: Shape) -> Tensor | None:
        """A tensor of that shape: one that there is, a weight, a new input; None where there can be none."""
        like = [t for t in self.tensors if t[1] == dtype and t[2] == shape]
        if like and self.r.random() < 0.5:
            return self.r.choice(like)
        if all(isinstance(d, int) for d in shape) and self.r.random() < 0.7:
            return self.constant(self.rng.standard_normal(shape), NUMPY[dtype]), dtype, shape
        return None if self.sealed else self.input(dtype, shape)

    def product(self) -> None:
        """Of a value with a weight, with a matrix a batch, with itself; the value on either side."""
        if (a := self.pick("f32", "f16", rank=2)) is None:
            return
        lead, (m, k) = a[2][:-2], a[2][-2:]
        front: Shape = self.r.choice(((), (), lead, tuple(1 if self.r.random() < 0.5 else d for d in lead), (3, *lead)))
        width = self.r.choice((*WIDTHS, *self.dims))
        on_left = self.r.random() < 0.25
        b = self.matrix(a[1], (*front, width, m) if on_left else (*front, k, width))
        if k == m and self.r.random() < 0.3:
            b, on_left, front, width = a, False, lead, k
        batch = joint(lead, front)
        if b is None or batch is None or len(batch) > 3:
            return
        left, right = (b, a) if on_left else (a, b)
        self.add("MatMul", [left[0], right[0]], (a[1], (*batch, left[2][-2], right[2][-1])))

    def gemm(self) -> None:
        """With C of any form, now and then with an operand that is both."""
        a = next((t for t in (self.pick("f32", "f16", rank=2),) if t is not None and len(t[2]) == 2), None)
        if a is None:
            return
        turned, across = self.r.choice((0, 1)), self.r.choice((0, 1))
        m, k = a[2][::-1] if turned else a[2]
        n = self.r.choice(WIDTHS)
        b = self.matrix(a[1], (n, k) if across else (k, n))
        if self.r.random() < 0.2:  # x·xᵀ or xᵀ·x
            b, across, n = a, 1 - turned, m
        if b is None:
            return
        shape: Shape = self.r.choice(((), (1,), (n,), (1, n), (1, 1), (m, 1), (m, n)))
        c = self.matrix(a[1], shape) if self.r.random() < 0.7 else None
        operands = [a[0], b[0], *([c[0]] if c is not None else [])]
        self.add("Gemm", operands, (a[1], (m, n)), transA=turned, transB=across, **self.r.choice(SCALES))

    def behind(self) -> None:
        """A few nodes behind the last product, which others may read too."""
        made = {o for n in self.nodes if n.op_type in ("MatMul", "Gemm") for o in n.output}
        found = [t for t in self.tensors if t[0] in made]
        if not found:
            return
        at = found[-1]
        for _ in range(self.r.randint(1, 4)):
            if at[1] == "f32" and self.r.random() < 0.4:
                self.add(self.r.choice(UNARY), [at[0]], (at[1], at[2]))
            else:
                other = self.beside(at) if self.r.random() < 0.6 else self.r.choice((found[-1], at))
                shape = joint(at[2], other[2])
                if shape is None:
                    return
                operands = [at[0], other[0]]
                self.r.shuffle(operands)
                self.add(self.r.choice(("Add", "Sub", "Mul", "Add")), operands, (at[1], shape))
            at = self.tensors[-1]
