"""Random models with bodies of If and Loop that capture values, and with functions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.attack.random_graph import CODE, Shape, Tensor, joint
from tests.attack.random_model import RandomModel

DOMAIN = "local.functions"
MAX_DEPTH = 2
CALLS = (1, 1, 2)  # how often a function is called


class RandomScopes(RandomModel):
    """A random model with scopes inside one another."""

    KINDS = RandomModel.KINDS + tuple("choice loop call".split())

    def __init__(self, seed: int) -> None:
        self.functions: list[onnx.FunctionProto] = []
        self.depth = 0
        super().__init__(seed)

    def constant(self, value: object, dtype: type[np.generic]) -> str:
        kept = len(self.constants)
        name = super().constant(value, dtype)
        if self.sealed and len(self.constants) > kept:
            self.nodes.append(helper.make_node("Constant", [], [name], value=self.constants.pop()))
        return name

    def beside(self, of: Tensor) -> Tensor:
        if not self.sealed:
            return super().beside(of)
        found = [t for t in self.tensors if t[1] == of[1] and joint(t[2], of[2]) is not None]
        return self.r.choice(found)

    def branch(self) -> None:
        if not self.sealed:
            super().branch()

    def grow(self) -> None:
        kinds = self.KINDS if self.depth < MAX_DEPTH and not self.sealed else RandomModel.KINDS
        getattr(self, self.r.choice(kinds))()

    @contextmanager
    def inside(self) -> Iterator[list[onnx.NodeProto]]:
        """New nodes go into the list; what they make is gone behind it, new inputs of the model stay."""
        outer, kept = self.nodes, list(self.tensors)
        self.nodes, self.depth = [], self.depth + 1
        yield self.nodes
        inputs = {v.name for v in self.inputs}
        self.tensors = kept + [t for t in self.tensors if t[0] in inputs and t not in kept]
        self.nodes, self.depth = outer, self.depth - 1

    def body(self, like: Tensor) -> str:
        """Random nodes, then one that gives a value of `like`'s type and shape: its name."""
        nodes, steps = self.nodes, self.r.randint(2, 5)
        for _ in range(12):
            if len(nodes) >= steps:
                break
            self.grow()
        made = {o for n in nodes for o in n.output}
        fit = [t for t in self.tensors if t[0] in made and t[1] == "f32" and joint(t[2], like[2]) == like[2]]
        if not fit:
            return self.one("Abs", [like[0]], "f32", like[2])[0]
        return self.one("Add", [like[0], self.r.choice(fit)[0]], "f32", like[2])[0]

    def graph(self, name: str, nodes: list[onnx.NodeProto], inputs: list[Tensor], outputs: list[Tensor]) -> object:
        code = {**CODE, "i64": TensorProto.INT64}
        ins, outs = (
            [helper.make_tensor_value_info(n, code[d], list(s)) for n, d, s in values] for values in (inputs, outputs)
        )
        return helper.make_graph(nodes, name, ins, outs)

    def choice(self) -> None:
        """An If whose branches do different things."""
        if (a := self.pick("f32")) is None:
            return
        condition = self.input("bool", ())
        parts = {}
        for key in ("then_branch", "else_branch"):
            with self.inside() as nodes:
                result = self.body(a)
                parts[key] = self.graph(key, nodes, [], [(result, "f32", a[2])])
        self.add("If", [condition[0]], ("f32", a[2]), **parts)

    def loop(self) -> None:
        """A Loop that carries a tensor, and perhaps shows what it was in each round."""
        if (a := self.pick("f32")) is None:
            return
        rounds = self.r.choice((1, 2, 3))
        trips, always = self.constant(rounds, np.int64), self.constant(True, np.bool_)
        scans = len(a[2]) < 3 and self.r.random() < 0.4
        with self.inside() as nodes:
            step, going, carried = (self.name() for _ in range(3))
            self.tensors.append((carried, "f32", a[2]))
            result = self.body((carried, "f32", a[2]))
            nodes.append(helper.make_node("Identity", [going], [again := self.name()]))
            outputs: list[Tensor] = [(again, "bool", ()), (result, "f32", a[2])]
            if scans:
                nodes.append(helper.make_node("Neg", [result], [shown := self.name()]))
                outputs.append((shown, "f32", a[2]))
            inputs: list[Tensor] = [(step, "i64", ()), (going, "bool", ()), (carried, "f32", a[2])]
            body = self.graph("body", nodes, inputs, outputs)
        more: list[tuple[str, Shape]] = [("f32", (rounds, *a[2]))] if scans else []
        self.add("Loop", [trips, always, a[0]], ("f32", a[2]), *more, body=body)

    def call(self) -> None:
        """A function over one or two values, called once or twice."""
        found = [t for t in (self.pick("f32"), self.pick("f32", "i32", "bool")) if t is not None]
        operands = list(dict.fromkeys(found))
        if not operands or operands[0][1] != "f32":
            return
        formals: list[Tensor] = [(self.name(), t[1], t[2]) for t in operands]
        outer, self.tensors, self.sealed = self.tensors, list(formals), True
        with self.inside() as nodes:
            result = self.body(formals[0])
        self.tensors, self.sealed = outer, False
        name = f"step_{len(self.functions)}"
        imports = [helper.make_opsetid("", self.opset)]
        self.functions.append(
            helper.make_function(DOMAIN, name, [f[0] for f in formals], [result], nodes, opset_imports=imports)
        )
        for _ in range(self.r.choice(CALLS)):
            self.add(name, [t[0] for t in operands], ("f32", operands[0][2]), domain=DOMAIN)
            operands[0] = self.tensors[-1]

    def model(self) -> onnx.ModelProto:
        model = super().model()
        if self.functions:
            model.functions.extend(self.functions)
            model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        return model
