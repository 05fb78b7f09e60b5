"""Random graphs with what only moves elements around products: Transposes, views that cut and join, shared heads."""

from __future__ import annotations

import numpy as np

from tests.attack.random_graph import CODE, UNARY, Shape, Tensor, joint
from tests.attack.random_product import WIDTHS, RandomProducts

STEPS = ("work", "work", "work", "convert", "row", "turn", "cut", "join")
MOVES = ("turn", "turn", "cut", "join", "share")
MOST_AXES = 5


class RandomMoves(RandomProducts):
    """Chains of moves before and behind products."""

    KINDS = RandomProducts.KINDS + tuple("moved moved moved turned turned".split())

    def turned(self) -> None:
        """A value in another order of axes, what is done to it there, and perhaps back: no product is near."""
        a = self.pick("f32", "f16", "i32", "bool", rank=2)
        if a is None or len(a[2]) > 4:
            return
        perm = self.r.choice((list(range(len(a[2])))[::-1], self.r.sample(range(len(a[2])), len(a[2]))))
        at = self._by(a, perm)
        for _ in range(self.r.randint(0, 4)):
            at = getattr(self, f"_{self.r.choice(STEPS)}")(at)
        if len(at[2]) == len(perm) and self.r.random() < 0.7:
            back = self._by(at, [perm.index(k) for k in range(len(perm))])
            if back[1] == a[1] and joint(back[2], a[2]) and self.r.random() < 0.4:
                op = "Xor" if a[1] == "bool" else "Add"
                self.add(op, self.r.sample([back[0], a[0]], 2), (a[1], joint(back[2], a[2]) or ()))

    def _by(self, at: Tensor, perm: list[int]) -> Tensor:
        self.add("Transpose", [at[0]], (at[1], tuple(at[2][k] for k in perm)), perm=perm)
        return self.tensors[-1]

    def _work(self, at: Tensor) -> Tensor:
        """One elementwise node, with a narrow operand or a branch of its own."""
        if at[1] == "f32" and self.r.random() < 0.5:
            self.add(self.r.choice(UNARY), [at[0]], (at[1], at[2]))
        elif at[1] == "bool":
            self.add("Not", [at[0]], (at[1], at[2]))
        else:
            other = self.beside(at)
            self.add(self.r.choice(("Add", "Mul", "Sub")), [at[0], other[0]], (at[1], joint(at[2], other[2]) or ()))
        return self.tensors[-1]

    def _convert(self, at: Tensor) -> Tensor:
        """To another type, and perhaps back."""
        other = self.r.choice([d for d in ("f32", "f16", "i32") if d != at[1]])
        self.add("Cast", [at[0]], (other, at[2]), to=CODE[other])
        if self.r.random() < 0.6:
            self.add("Cast", [self.tensors[-1][0]], (at[1], at[2]), to=CODE[at[1]])
        return self.tensors[-1]

    def _row(self, at: Tensor) -> Tensor:
        """A softmax over what is now the last axis."""
        if at[1] == "f32" and at[2]:
            self.add("Softmax", [at[0]], (at[1], at[2]), axis=-1 if self.opset >= 13 else len(at[2]) - 1)
            return self.tensors[-1]
        return at

    def moved(self) -> None:
        """A moved value times a moved matrix, moved again, and something elementwise in between."""
        a = self.pick("f32", "f16", rank=2)
        if a is None:
            return
        a = self.path(a)
        if len(a[2]) < 2 or len(a[2]) > 4:
            return
        lead, (m, k) = a[2][:-2], a[2][-2:]
        width = self.r.choice(WIDTHS)
        front: Shape = self.r.choice(((), lead))
        stored = (*front, width, k) if self.r.random() < 0.5 else (*front, k, width)
        b = self.matrix(a[1], stored)
        if b is None:
            return
        if stored[-2:] == (width, k) and (width != k or self.r.random() < 0.5):
            perm = [*range(len(stored) - 2), len(stored) - 1, len(stored) - 2]
            self.add("Transpose", [b[0]], (b[1], (*front, k, width)), perm=perm)
            b = self.tensors[-1]
        if b[2][-2] != k:
            return
        self.add("MatMul", [a[0], b[0]], (a[1], (*lead, m, b[2][-1])))
        self.follow(self.tensors[-1])

    def follow(self, at: Tensor) -> None:
        """Moves and elementwise nodes by turns."""
        for _ in range(self.r.randint(0, 3)):
            if self.r.random() < 0.6:
                at = self.path(at)
            elif at[1] == "f32" and self.r.random() < 0.5:
                self.add(self.r.choice(UNARY), [at[0]], (at[1], at[2]))
                at = self.tensors[-1]
            else:
                other = self.beside(at)
                if joint(at[2], other[2]) != at[2]:
                    return
                self.add(self.r.choice(("Add", "Mul")), [at[0], other[0]], (at[1], at[2]))
                at = self.tensors[-1]

    def path(self, at: Tensor) -> Tensor:
        """The tensor behind up to three moves."""
        for _ in range(self.r.randint(0, 3)):
            at = getattr(self, f"_{self.r.choice(MOVES)}")(at)
        return at

    def _turn(self, at: Tensor) -> Tensor:
        perm = list(range(len(at[2])))
        self.r.shuffle(perm)
        self.add("Transpose", [at[0]], (at[1], tuple(at[2][k] for k in perm)), perm=perm)
        return self.tensors[-1]

    def _cut(self, at: Tensor) -> Tensor:
        """One dimension as two."""
        found = [k for k, d in enumerate(at[2]) if d in (4, 6)]
        if not found or len(at[2]) >= MOST_AXES:
            return at
        k = self.r.choice(found)
        inner = self.r.choice((2, at[2][k] // 2))
        return self._reshape(at, (*at[2][:k], at[2][k] // inner, inner, *at[2][k + 1 :]))

    def _join(self, at: Tensor) -> Tensor:
        """Two dimensions as one."""
        found = [k for k in range(len(at[2]) - 1) if all(isinstance(d, int) for d in at[2][k : k + 2])]
        if not found or len(at[2]) < 3:
            return at
        k = self.r.choice(found)
        return self._reshape(at, (*at[2][:k], at[2][k] * at[2][k + 1], *at[2][k + 2 :]))

    def _share(self, at: Tensor) -> Tensor:
        """Each element of one dimension twice, as key heads are for groups of query heads."""
        found = [k for k, d in enumerate(at[2][:-1]) if isinstance(d, int)]
        if not found or len(at[2]) >= MOST_AXES:
            return at
        k = self.r.choice(found)
        wide = (*at[2][: k + 1], 2, *at[2][k + 1 :])
        more = [self.constant([k + 1], np.int64)] if self.opset >= 13 else []
        axes = {} if more else {"axes": [k + 1]}
        self.add("Unsqueeze", [at[0], *more], (at[1], (*at[2][: k + 1], 1, *at[2][k + 1 :])), **axes)
        shape = self.constant([2 if j == k + 1 else 1 for j in range(len(wide))], np.int64)
        self.add("Expand", [self.tensors[-1][0], shape], (at[1], wide))
        return self._reshape(self.tensors[-1], (*at[2][:k], at[2][k] * 2, *at[2][k + 1 :]))

    def _reshape(self, at: Tensor, shape: Shape) -> Tensor:
        """A symbol where it stands is 0, one that moves is -1; with two of these the tensor stays as it is."""
        items = [
            d if isinstance(d, int) else 0 if k < len(at[2]) and at[2][k] == d else -1 for k, d in enumerate(shape)
        ]
        if items.count(-1) > 1:
            return at
        self.add("Reshape", [at[0], self.constant(items, np.int64)], (at[1], shape))
        return self.tensors[-1]
