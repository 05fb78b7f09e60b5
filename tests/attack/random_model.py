"""Random models: besides the operators of random_graph, what exporters leave, spell out and nest."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from tests.attack.random_convolution import RandomConvolutions
from tests.attack.random_graph import CODE, NUMPY, UNARY, Shape, Tensor, joint

MAX_RANK = 4
NORMS = ("layer", "rms", "softmax", "log_softmax", "l2")
GELUS = ("erf", "tanh", "quick", "hard", "mish")


class RandomModel(RandomConvolutions):
    """A random graph with neutral nodes, reshapes that regroup axes, idioms spelled out."""

    KINDS = RandomConvolutions.KINDS + tuple("neutral neutral regroup regroup norm norm gelu gelu".split())

    def one(self, op: str, inputs: list[str], dtype: str, shape: Shape, **attributes: object) -> Tensor:
        """The only output of a new node."""
        self.add(op, inputs, (dtype, shape), **attributes)
        return self.tensors[-1]

    def literal(self, value: float, like: Tensor) -> str:
        """A constant of the tensor's type that broadcasts to it."""
        shape = self.r.choice(((), (), (1,))) if like[2] else ()
        return self.constant(np.full(shape, value), NUMPY[like[1]])

    def ints(self, *values: int) -> str:
        return self.constant(list(values), np.int64)

    # What exporters leave behind

    def neutral(self) -> None:
        """A node that changes nothing, but perhaps the rank."""
        a = self.pick("f32", "f16", "i32")
        if a is None:
            return
        kind = self.r.choice(("one", "one", "zero", "zero", "cast", "dropout", "transpose", "reshape"))
        if kind in ("one", "zero"):
            ones: Shape = self.r.choice(((), (1,), (1, 1)))
            if kind == "one":
                op, value = ("Mul", 1.0) if a[1] == "i32" else (self.r.choice(("Mul", "Div", "Pow")), 1.0)
            else:
                op, value = self.r.choice((("Add", -0.0), ("Add", 0.0), ("Sub", 0.0)))
            operands = [a[0], self.constant(np.full(ones, value), NUMPY[a[1]])]
            if op in ("Add", "Mul"):
                self.r.shuffle(operands)
            self.one(op, operands, a[1], joint(a[2], ones) or ())
        elif kind == "cast":
            self.one("Cast", [a[0]], a[1], a[2], to=CODE[a[1]])
        elif kind == "dropout" and a[1] != "i32":
            self._dropout(a)
        elif kind == "transpose" and a[2]:
            self.one("Transpose", [a[0]], a[1], a[2], perm=list(range(len(a[2]))))
        elif kind == "reshape" and a[2]:
            self.one("Reshape", [a[0], self.ints(*([0] * len(a[2])))], a[1], a[2])

    def _dropout(self, a: Tensor) -> None:
        """In inference mode, with and without its mask."""
        outputs = [(a[1], a[2]), ("bool", a[2])] if self.r.random() < 0.5 else [(a[1], a[2])]
        if self.opset < 12:
            self.add("Dropout", [a[0]], *outputs, ratio=0.3)
        else:
            self.add("Dropout", [a[0], self.constant(0.3, np.float32)], *outputs)

    # Reshapes that regroup axes

    def regroup(self) -> None:
        """Split the last axis, merge neighbours, or merge all, work there, and go back."""
        if (a := self.pick("f32", "i32", "bool", rank=1)) is None:
            return
        kind = self.r.choice(("split", "merge", "rows"))
        if kind == "split":
            self._split_axis(a)
        elif kind == "merge":
            self._merge_axes(a)
        elif a[1] == "f32":
            self._by_rows(a)

    def _split_axis(self, a: Tensor) -> None:
        last = a[2][-1]
        parts = [k for k in (2, 3, 4) if isinstance(last, int) and last % k == 0]
        if parts and len(a[2]) < MAX_RANK:
            k = self.r.choice(parts)
            shape = (*a[2][:-1], k, last // k)  # type: ignore[operator]
            self.one("Reshape", [a[0], self.ints(*([0] * (len(a[2]) - 1)), k, -1)], a[1], shape)

    def _merge_axes(self, a: Tensor) -> None:
        at = [k for k in range(len(a[2]) - 1) if isinstance(a[2][k], int) and isinstance(a[2][k + 1], int)]
        symbols = [k for k, d in enumerate(a[2]) if isinstance(d, str)]
        if at and len(symbols) < 2:
            k = self.r.choice(at)
            shape = (*a[2][:k], a[2][k] * a[2][k + 1], *a[2][k + 2 :])  # type: ignore[operator]
            self.one("Reshape", [a[0], self.ints(*(-1 if isinstance(d, str) else d for d in shape))], a[1], shape)

    def _by_rows(self, a: Tensor) -> None:
        """[-1, last] or [first, -1] and back, by the shape that the tensor had; the sizes between have no name."""
        keep = len(self.tensors)
        target = (-1, a[2][-1]) if isinstance(a[2][-1], int) and self.r.random() < 0.5 else (0, -1)
        flat = self.one("Reshape", [a[0], self.ints(*target)], "f32", ("?", "?"))
        if self.r.random() < 0.6:
            y = self.one(self.r.choice(("Softmax", "LogSoftmax")), [flat[0]], "f32", flat[2], axis=-1)
        else:
            y = self.one(self.r.choice(UNARY), [flat[0]], "f32", flat[2])
        if self.r.random() < 0.5:
            y = self.one("Mul", [y[0], self.literal(0.5, a)], "f32", flat[2])
        shape = self.one("Shape", [a[0]], "i64", (len(a[2]),))[0]
        del self.tensors[keep:]
        self.one("Reshape", [y[0], shape], "f32", a[2])

    # Idioms, as exporters spell them

    def reduced(self, op: str, a: Tensor) -> Tensor:
        """Over the last axis, which is kept."""
        shape = (*a[2][:-1], 1)
        if self.opset >= 18 or (self.opset >= 13 and op == "ReduceSum"):
            return self.one(op, [a[0], self.ints(-1)], "f32", shape, keepdims=1)
        return self.one(op, [a[0]], "f32", shape, axes=[-1], keepdims=1)

    def norm(self) -> None:
        """A norm or a softmax over the last axis, now and then with its inner value shown."""
        if (a := self.pick("f32", rank=1)) is None:
            return
        kind, keep = self.r.choice(NORMS), len(self.tensors)
        y = self._softmax(a, kind) if kind in ("softmax", "log_softmax") else self._norm(a, kind)
        if self.r.random() < 0.7:  # else they are outputs or used further on: the idiom escapes
            inner = [t[0] for t in self.tensors[keep:]]
            self.tensors[keep:] = [t for t in self.tensors[keep:] if t[0] == y[0] or t[0] not in inner]

    def _softmax(self, a: Tensor, kind: str) -> Tensor:
        low = self.one("Sub", [a[0], self.reduced("ReduceMax", a)[0]], "f32", a[2])
        e = self.one("Exp", [low[0]], "f32", a[2])
        total = self.reduced("ReduceSum", e)
        if kind == "softmax":
            return self.one("Div", [e[0], total[0]], "f32", a[2])
        return self.one("Sub", [low[0], self.one("Log", [total[0]], "f32", total[2])[0]], "f32", a[2])

    def _norm(self, a: Tensor, kind: str) -> Tensor:
        if kind == "layer":
            a = self.one("Sub", [a[0], self.reduced("ReduceMean", a)[0]], "f32", a[2])
        by_pow = self.r.random() < 0.5
        square = self.one("Pow" if by_pow else "Mul", [a[0], self.literal(2.0, a) if by_pow else a[0]], "f32", a[2])
        mean = self.reduced("ReduceSum" if kind == "l2" else "ReduceMean", square)
        root = self.one("Sqrt", [self.one("Add", [mean[0], self.literal(1e-5, a)], "f32", mean[2])[0]], "f32", mean[2])
        if self.r.random() < 0.5:
            y = self.one("Div", [a[0], root[0]], "f32", a[2])
        else:
            y = self.one("Mul", [a[0], self.one("Reciprocal", [root[0]], "f32", root[2])[0]], "f32", a[2])
        for op in ("Mul", "Add"):
            if isinstance(a[2][-1], int) and self.r.random() < 0.6:
                row = self.constant(self.rng.standard_normal(a[2][-1]), np.float32)
                y = self.one(op, self.r.sample([y[0], row], 2), "f32", a[2])
        return y

    def gelu(self) -> None:
        """An activation spelled out."""
        if (a := self.pick("f32")) is None:
            return
        kind = self.r.choice(GELUS)
        if kind in ("erf", "tanh"):
            gate = self._gelu_gate(a, kind)
        elif kind == "quick":
            gate = self.one("Sigmoid", [self.one("Mul", [a[0], self.literal(1.702, a)], "f32", a[2])[0]], "f32", a[2])
        elif kind == "mish":
            gate = self.one("Tanh", [self.one("Softplus", [a[0]], "f32", a[2])[0]], "f32", a[2])
        else:
            shifted = self.one("Add", [a[0], self.literal(3.0, a)], "f32", a[2])
            bounds = [self.constant(v, np.float32) for v in (0.0, 6.0)]
            clipped = self.one("Clip", [shifted[0], *bounds], "f32", a[2])
            gate = self.one("Div", [clipped[0], self.literal(6.0, a)], "f32", a[2])
        self.one("Mul", self.r.sample([a[0], gate[0]], 2), "f32", a[2])

    def _gelu_gate(self, a: Tensor, kind: str) -> Tensor:
        if kind == "erf":
            inner = self.one("Erf", [self.one("Div", [a[0], self.literal(2**0.5, a)], "f32", a[2])[0]], "f32", a[2])
        else:
            cube = self.one("Mul", [self._cube(a), self.literal(0.044715, a)], "f32", a[2])
            total = self.one("Add", [a[0], cube[0]], "f32", a[2])
            scaled = self.one("Mul", [total[0], self.literal((2 / np.pi) ** 0.5, a)], "f32", a[2])
            inner = self.one("Tanh", [scaled[0]], "f32", a[2])
        total = self.one("Add", [inner[0], self.literal(1.0, a)], "f32", a[2])
        return self.one("Mul", [total[0], self.literal(0.5, a)], "f32", a[2])

    def _cube(self, a: Tensor) -> str:
        if self.r.random() < 0.5:
            return self.one("Pow", [a[0], self.literal(3.0, a)], "f32", a[2])[0]
        return self.one("Mul", [a[0], self.one("Mul", [a[0], a[0]], "f32", a[2])[0]], "f32", a[2])[0]

    def model(self) -> onnx.ModelProto:
        model = super().model()
        if self.r.random() < 0.3:
            model.graph.initializer.append(helper.make_tensor("nobody_reads", CODE["f32"], [1], [1.0]))
        return model
