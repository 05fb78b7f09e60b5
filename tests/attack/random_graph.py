"""Seeded random graphs over the operators that regions take: broadcasts, rows, views, casts, captures, literals."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = tuple[int | str, ...]
Tensor = tuple[str, str, Shape]  # name, dtype, shape
CODE = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i32": TensorProto.INT32, "bool": TensorProto.BOOL}
NUMPY = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "bool": np.bool_}
UNARY = "Neg Abs Sqrt Exp Tanh Sigmoid Relu Floor Ceil Erf Softplus Softsign Selu HardSigmoid Elu LeakyRelu".split()
SIZES = ({"N": 3, "M": 5}, {"N": 1, "M": 5}, {"N": 1, "M": 1}, {"N": 2, "M": 2})


def joint(a: Shape, b: Shape) -> Shape | None:
    """The broadcast shape, None when the sizes differ."""
    rank = max(len(a), len(b))
    out: list[int | str] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x != y and 1 not in (x, y):
            return None
        out.append(y if x == 1 else x)
    return tuple(out)


class RandomGraph:
    """One graph; `model()` after as many `grow()` as wished."""

    KINDS = tuple(
        "binary binary unary unary compare choose cast reduce row slice split concat unsqueeze expand fold power silu "
        "identity branch".split()
    )

    sealed = False  # inside a function: nothing may come from outside

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.opset = self.r.choice((11, 12, 13, 14, 17, 17, 18, 20, 21))
        self.count = 0
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.tensors: list[Tensor] = []
        self.dims: Shape = (self.r.choice((1, 2, 3)), self.r.choice(("N", 4)), self.r.choice(("M", 8, 6)))
        for _ in range(self.r.randint(1, 3)):
            self.input(self.r.choice(("f32", "f32", "f32", "f16", "i32", "bool")), self.shape())

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def shape(self) -> Shape:
        rank = self.r.choice((0, 1, 2, 2, 3))
        return tuple(1 if self.r.random() < 0.2 else d for d in self.dims[len(self.dims) - rank :])

    def input(self, dtype: str, shape: Shape) -> Tensor:
        made = (self.name(), dtype, shape)
        self.inputs.append(helper.make_tensor_value_info(made[0], CODE[dtype], list(shape)))
        self.tensors.append(made)
        return made

    def constant(self, value: object, dtype: type[np.generic]) -> str:
        name = self.name()
        tensor = numpy_helper.from_array(np.asarray(value, dtype), name)
        if self.r.random() < 0.5:
            self.constants.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def add(self, op: str, inputs: list[str], *outputs: tuple[str, Shape], **attributes: object) -> None:
        made = [(self.name(), dtype, shape) for dtype, shape in outputs]
        node = helper.make_node(op, inputs, [m[0] for m in made], **attributes)
        if self.r.random() < 0.5:
            node.name = f"node_{self.count}"
        if self.r.random() < 0.1:
            node.doc_string = f"what {op} is for"
        self.nodes.append(node)
        self.tensors += made

    def pick(self, *dtypes: str, rank: int = 0) -> Tensor | None:
        found = [t for t in self.tensors[-12:] if t[1] in dtypes and len(t[2]) >= rank]
        return self.r.choice(found) if found else None

    def beside(self, of: Tensor) -> Tensor:
        """An operand that broadcasts with the tensor: a literal, a value, a new input."""
        if self.r.random() < 0.3:
            shape: Shape = self.r.choice(((), (1,), (1, 1)))
            value = self.r.choice((0.5, 1, 2, -1, 0.044715)) if of[1] != "bool" else 1
            return self.constant(np.full(shape, value), NUMPY[of[1]]), of[1], shape
        found = [t for t in self.tensors if t[1] == of[1] and joint(t[2], of[2]) is not None]
        if self.r.random() < 0.8:
            return self.r.choice(found)
        cut = tuple(d if self.r.random() < 0.7 else 1 for d in of[2])[self.r.randint(0, len(of[2])) :]
        return self.input(of[1], cut)

    def grow(self) -> None:
        """One more operator, or a few that belong together."""
        getattr(self, self.r.choice(self.KINDS))()

    def binary(self) -> None:
        if (a := self.pick("f32", "f16", "i32")) is not None:
            b = self.beside(a)
            operands = [a[0], b[0]]
            self.r.shuffle(operands)
            self.add(self.r.choice(("Add", "Sub", "Mul")), operands, (a[1], joint(a[2], b[2]) or ()))

    def unary(self) -> None:
        if (a := self.pick("f32")) is not None:
            self.add(self.r.choice(UNARY), [a[0]], (a[1], a[2]))

    def compare(self) -> None:
        if (a := self.pick("f32", "i32", "bool")) is not None:
            b = self.beside(a)
            op = self.r.choice(("And", "Or", "Xor", "Equal") if a[1] == "bool" else ("Less", "Greater", "Equal"))
            self.add(op, [a[0], b[0]], ("bool", joint(a[2], b[2]) or ()))

    def choose(self) -> None:
        a, c = self.pick("f32", "f16"), self.pick("bool")
        if a is not None and c is not None and (shape := joint(a[2], c[2])) is not None:
            fill = self.constant(self.r.choice((0.0, -1e4, -np.inf)), NUMPY[a[1]])
            self.add("Where", [c[0], *self.r.sample([a[0], fill], 2)], (a[1], shape))

    def cast(self) -> None:
        if (a := self.pick("f16", "i32", "bool")) is not None:
            self.add("Cast", [a[0]], ("f32", a[2]), to=CODE["f32"])

    def reduce(self) -> None:
        if (a := self.pick("f32", rank=1)) is not None:
            op, keep = self.r.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")), self.r.choice((0, 1, 1))
            by_input = self.opset >= 18 or (self.opset >= 13 and op == "ReduceSum")
            more = [self.constant([-1], np.int64)] if by_input else []
            attributes = {} if by_input else {"axes": [-1]}
            self.add(op, [a[0], *more], ("f32", a[2][:-1] + ((1,) if keep else ())), keepdims=keep, **attributes)

    def row(self) -> None:
        if (a := self.pick("f32", "f16", rank=1)) is not None:
            axis = self.r.choice((-1, -1, len(a[2]) - 1, self.r.randrange(len(a[2]))))
            self.add(self.r.choice(("Softmax", "LogSoftmax")), [a[0]], (a[1], a[2]), axis=axis)

    def known_row(self) -> Tensor | None:
        a = self.pick("f32", "i32", "bool", rank=1)
        return a if a is not None and isinstance(a[2][-1], int) else None

    def slice(self) -> None:
        if (a := self.known_row()) is not None:
            size = a[2][-1]
            start, end = (
                self.r.choice((0, 1, -size, size // 2, -1)),
                self.r.choice((size, 1 << 62, size // 2, -1, size + 5)),
            )
            width = len(range(*slice(start, end).indices(size)))
            if width:
                bounds = [self.constant([k], np.int64) for k in (start, end, -1)]
                self.add("Slice", [a[0], *bounds], (a[1], (*a[2][:-1], width)))

    def split(self) -> None:
        if (a := self.known_row()) is not None and a[2][-1] > 1:
            parts = [1, a[2][-1] - 1]
            more = [self.constant(parts, np.int64)] if self.opset >= 13 else []
            outputs = [(a[1], (*a[2][:-1], p)) for p in parts]
            self.add("Split", [a[0], *more], *outputs, axis=-1, **({} if more else {"split": parts}))

    def concat(self) -> None:
        if (a := self.known_row()) is not None and a[2][-1] < 20:
            like = [t for t in self.tensors if t[1] == a[1] and len(t[2]) == len(a[2]) and t[2][:-1] == a[2][:-1]]
            b = self.r.choice([t for t in like if isinstance(t[2][-1], int)])
            self.add("Concat", [a[0], b[0]], (a[1], (*a[2][:-1], a[2][-1] + b[2][-1])), axis=-1)

    def unsqueeze(self) -> None:
        if (a := self.pick("f32", "f16", "i32", "bool")) is not None and len(a[2]) < 4:
            at = self.r.randint(0, len(a[2]))
            more = [self.constant([at], np.int64)] if self.opset >= 13 else []
            shape = (*a[2][:at], 1, *a[2][at:])
            self.add("Unsqueeze", [a[0], *more], (a[1], shape), **({} if more else {"axes": [at]}))

    def expand(self) -> None:
        a = self.pick("f32", "i32", "bool")
        like = [t for t in self.tensors if a is not None and joint(a[2], t[2]) is not None]
        if a is not None and like:
            b, shape = self.r.choice(like), self.name()
            self.nodes.append(helper.make_node("Shape", [b[0]], [shape]))
            self.add("Expand", [a[0], shape], (a[1], joint(a[2], b[2]) or ()))

    def fold(self) -> None:
        if (a := self.pick("f32")) is not None:
            b = self.beside(a)
            self.add(self.r.choice(("Max", "Min", "Sum", "Mean")), [b[0], a[0], a[0]], ("f32", joint(a[2], b[2]) or ()))

    def power(self) -> None:
        if (a := self.pick("f32")) is not None:
            exponent = self.constant(self.r.choice((1.0, 2.0, 3.0, 0.5, 1.7)), np.float32)
            self.add("Pow", [a[0], exponent], ("f32", a[2]))

    def silu(self) -> None:
        if (a := self.pick("f32")) is not None:
            self.add("Sigmoid", [a[0]], ("f32", a[2]))
            self.add("Mul", [a[0], self.tensors[-1][0]], ("f32", a[2]))

    def identity(self) -> None:
        if (a := self.pick("f32", "bool")) is not None:
            self.add("Identity", [a[0]], (a[1], a[2]))

    def branch(self) -> None:
        if (a := self.pick("f32")) is not None:
            condition = self.input("bool", ())
            parts = {}
            for key, op in (("then_branch", "Abs"), ("else_branch", "Neg")):
                out = self.name()
                info = helper.make_tensor_value_info(out, CODE["f32"], list(a[2]))
                parts[key] = helper.make_graph([helper.make_node(op, [a[0]], [out])], key, [], [info])
            self.add("If", [condition[0]], ("f32", a[2]), **parts)

    def model(self) -> onnx.ModelProto:
        """Everything that nobody reads, and some of the rest, is an output."""
        read = {i for n in self.nodes for i in n.input}
        made = {o for n in self.nodes for o in n.output}
        outputs = [t for t in self.tensors if t[0] in made and (t[0] not in read or self.r.random() < 0.1)]
        infos = [helper.make_tensor_value_info(n, CODE[d], list(s)) for n, d, s in outputs]
        graph = helper.make_graph(self.nodes, "random", self.inputs, infos, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def feeds(self, sizes: dict[str, int]) -> dict[str, np.ndarray]:
        """Random inputs for given sizes of the symbols."""
        out: dict[str, np.ndarray] = {}
        for name, dtype, shape in self.tensors:
            if any(v.name == name for v in self.inputs):
                real = [d if isinstance(d, int) else sizes[d] for d in shape]
                out[name] = np.asarray(self.rng.standard_normal(real) * 3).astype(NUMPY[dtype])
        return out
