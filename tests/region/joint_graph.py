"""Random graphs in which Concats along any axis stand among elementwise steps, rows, products and Transposes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

UNARY = ("Relu", "Neg", "Abs", "Sigmoid")
BINARY = ("Add", "Mul", "Sub", "Max")
SIZES = ("b", "h", "s", "w")  # of [b, h, s, w]; sizes of equal name are equal
LONG = {"b": 2, "h": 4, "s": 3, "w": 8}


@dataclass(slots=True)
class Drawing:
    """A graph while it is drawn; `known`: values with their shapes."""

    rng: np.random.Generator
    named: bool
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    inputs: dict[str, tuple[tuple[int, ...], tuple[str | int, ...]]] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    known: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def pick(self) -> str:
        """A value, mostly one of the last ones."""
        names = list(self.known)
        return str(names[-1 - min(int(self.rng.geometric(0.35)) - 1, len(names) - 1)])

    def input(self, shape: tuple[int, ...], dims: tuple[str | int, ...]) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = shape, dims if self.named else shape
        self.known[name] = shape
        return name

    def node(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: object) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        self.known[name] = shape

    def weight(self, value: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = value
        return name

    def step(self) -> None:
        """One more node."""
        kind = self.rng.choice(
            ("unary", "binary", "concat", "row", "product", "turn", "split"), p=(0.25, 0.2, 0.25, 0.1, 0.1, 0.05, 0.05)
        )
        getattr(self, f"_{kind}")(self.pick())

    def _unary(self, x: str) -> None:
        self.node(str(self.rng.choice(UNARY)), [x], self.known[x])

    def _binary(self, x: str) -> None:
        shape = self.known[x]
        alike = [n for n, s in self.known.items() if s == shape]
        other = str(self.rng.choice(alike)) if len(alike) > 1 else self.weight(self._drawn(shape[-1:]))
        self.node(str(self.rng.choice(BINARY)), [x, other], shape)

    def _concat(self, x: str) -> None:
        shape, axis = self.known[x], int(self.rng.integers(0, len(self.known[x])))
        alike = [
            n for n, s in self.known.items() if len(s) == len(shape) and self._but(s, axis) == self._but(shape, axis)
        ]
        other = str(self.rng.choice(alike))
        if len(shape) == len(SIZES) and self.rng.random() < 0.6:
            length = int(self.rng.integers(1, 6))
            dims = tuple(f"p{len(self.inputs)}" if k == axis else d for k, d in enumerate(shape))
            other = self.input((*shape[:axis], length, *shape[axis + 1 :]), dims)
        pair = [other, x] if self.rng.random() < 0.7 else [x, other]
        joined = (*shape[:axis], shape[axis] + self.known[other][axis], *shape[axis + 1 :])
        if np.prod(joined) < 4096:
            self.node("Concat", pair, joined, axis=axis - (len(shape) if self.rng.random() < 0.5 else 0))

    def _row(self, x: str) -> None:
        if self.rng.random() < 0.5:
            self.node("Softmax", [x], self.known[x], axis=-1)
        else:
            w = self.weight(self._drawn(self.known[x][-1:]))
            self.node("LayerNormalization", [x, w], self.known[x], axis=-1)

    def _product(self, x: str) -> None:
        depth = self.known[x][-1]
        self.node("MatMul", [x, self.weight(self._drawn((depth, 8)))], (*self.known[x][:-1], 8))

    def _turn(self, x: str) -> None:
        perm = [int(k) for k in self.rng.permutation(len(self.known[x]))]
        self.node("Transpose", [x], tuple(self.known[x][k] for k in perm), perm=perm)

    def _split(self, x: str) -> None:
        """[…, s, w] with its last dimension split in heads, or two dimensions merged."""
        shape = self.known[x]
        if len(shape) > 2 and self.rng.random() < 0.5:
            wanted = (*shape[:-2], shape[-2] * shape[-1])
        elif shape[-1] % 2 == 0:
            wanted = (*shape[:-1], 2, shape[-1] // 2)
        else:
            return
        self.node("Reshape", [x, self.weight(np.array(wanted, np.int64))], wanted)

    def _drawn(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.rng.standard_normal(shape).astype(np.float32)

    @staticmethod
    def _but(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
        return (*shape[:axis], *shape[axis + 1 :])


def drawn(seed: int) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """A model and what to feed it; sizes of inputs are numbers, or names of which some are equal."""
    rng = np.random.default_rng(seed)
    made = Drawing(rng, named=bool(rng.random() < 0.5))
    sizes = {**LONG, "s": int(rng.choice((1, 3)))}
    for _ in range(int(rng.integers(1, 3))):
        made.input(tuple(sizes[n] for n in SIZES), ("b", sizes["h"], "s", sizes["w"]))
    for _ in range(int(rng.integers(3, 12))):
        made.step()
    read = {i for n in made.nodes for i in n.input}
    ends = [n.output[0] for n in made.nodes if n.output[0] not in read or rng.random() < 0.15]
    if not ends:
        made.node("Relu", [made.pick()], ())
        ends = [made.nodes[-1].output[0]]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, (_, d) in made.inputs.items()]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ends]
    graph = helper.make_graph(
        made.nodes, "g", inputs, outputs, [numpy_helper.from_array(w, n) for n, w in made.weights.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    return model, {n: made._drawn(shape) for n, (shape, _) in made.inputs.items()}
