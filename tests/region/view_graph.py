"""Seeded random graphs of elementwise steps, rows and views that regroup axes."""

from __future__ import annotations

import math
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = (2, 3, 4)
UNARY = ("Relu", "Tanh", "Neg", "Sigmoid", "Abs")
Shape = tuple[int, ...]


class ViewGraph:
    """One graph; a tensor in three has the batch `N` in front, which views keep in front."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.batch = self.r.random() < 0.5
        self.axes: Shape = tuple(self.r.choice(SIZES) for _ in range(self.r.randint(2, 4)))
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.tensors: list[tuple[str, Shape]] = []
        self.input(self.axes)
        for _ in range(self.r.randint(4, 12)):
            self.r.choice((self.unary, self.binary, self.view, self.view, self.row, self.reduce, self.flatten))()

    def name(self) -> str:
        return f"v{len(self.nodes) + len(self.inputs) + len(self.constants)}"

    def dims(self, shape: Shape) -> list[int | str]:
        return ["N", *shape] if self.batch else list(shape)

    def input(self, shape: Shape) -> str:
        name = self.name()
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, self.dims(shape)))
        self.tensors.append((name, shape))
        return name

    def add(self, op: str, inputs: list[str], shape: Shape, **attributes: object) -> None:
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.tensors.append((name, shape))

    def pick(self) -> tuple[str, Shape]:
        return self.r.choice(self.tensors[-4:])

    def unary(self) -> None:
        name, shape = self.pick()
        self.add(self.r.choice(UNARY), [name], shape)

    def binary(self) -> None:
        """With another tensor of the shape, with a narrower input, or with itself."""
        name, shape = self.pick()
        same = [n for n, s in self.tensors if s == shape]
        narrow = tuple(1 if self.r.random() < 0.4 else d for d in shape)
        other = self.r.choice((self.r.choice(same), self.input(narrow)))
        self.add(self.r.choice(("Add", "Mul", "Sub")), [name, other], shape)

    def view(self) -> None:
        """A random factorisation of the elements: of the axes split into primes and joined again."""
        name, shape = self.pick()
        parts = [p for d in shape for p in ((2, 2) if d == 4 else (2, 3) if d == 6 else (d,))]
        cuts = sorted(self.r.sample(range(1, len(parts)), self.r.randint(0, len(parts) - 1))) if len(parts) > 1 else []
        after = tuple(math.prod(parts[a:b]) for a, b in zip([0, *cuts], [*cuts, len(parts)], strict=True))
        if self.r.random() < 0.2:
            at = self.r.randint(0, len(after))
            after = (*after[:at], 1, *after[at:])
        target = (0, *after) if self.batch else after
        constant = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(target, np.int64), constant))
        self.add("Reshape", [name, constant], after)

    def flatten(self) -> None:
        name, shape = self.pick()
        if self.batch:
            self.add("Flatten", [name], (math.prod(shape),), axis=1)
        else:
            axis = self.r.randint(1, len(shape))
            self.add("Flatten", [name], (math.prod(shape[:axis]), math.prod(shape[axis:])), axis=axis)

    def row(self) -> None:
        name, shape = self.pick()
        self.add("Softmax", [name], shape, axis=-1)

    def reduce(self) -> None:
        name, shape = self.pick()
        count = self.r.randint(1, len(shape))
        axes = list(range(-count, 0))
        self.add("ReduceMean", [name], (*shape[:-count], *(1,) * count), axes=axes, keepdims=1)

    def model(self) -> onnx.ModelProto:
        """Every value that nobody reads is an output."""
        read = {i for n in self.nodes for i in n.input}
        made = {n.output[0] for n in self.nodes}
        shapes = dict(self.tensors)
        outputs = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, self.dims(shapes[n])) for n in sorted(made - read)
        ]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model
