"""One bad or odd model: how it is made, the exit code it must get and the words that must be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import onnx.parser
from onnx import ModelProto, NodeProto, helper

X = "float[4,8]"
CHAIN = f"g ({X} x) => ({X} y) {{ a = Relu (x) b = Tanh (a) y = Sigmoid (b) }}"


@dataclass(frozen=True, slots=True)
class Case:
    """`code` 0: the model is right as it is, and what comes out computes the same."""

    name: str
    make: Callable[[], ModelProto | bytes]
    code: int
    words: tuple[str, ...] = ()


def parse(body: str = CHAIN, opset: int = 17, ir: int = 10, more: str = "") -> ModelProto:
    """The model of a graph's text; `more` imports, as in `, "com.x" : 1`."""
    return onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{more}]> {body}')


def edited(edit: Callable[[ModelProto], object], body: str = CHAIN, **options: int) -> Callable[[], ModelProto]:
    """Makes the model of `body` after an edit."""

    def make() -> ModelProto:
        model = parse(body, **options)
        edit(model)
        return model

    return make


def text(body: str, opset: int = 17, ir: int = 10, more: str = "") -> Callable[[], ModelProto]:
    """Makes the model of `body`."""
    return lambda: parse(body, opset, ir, more)


def branch(*nodes: NodeProto, out: str = "r", shape: tuple[int, ...] = (4, 8), name: str = "b") -> onnx.GraphProto:
    """A branch of an If: no inputs, one output."""
    return helper.make_graph(list(nodes), name, [], [helper.make_tensor_value_info(out, 1, shape)])


def branching(then: onnx.GraphProto, other: onnx.GraphProto | None = None) -> ModelProto:
    """`h = Relu (x); y = If (c) {then} {other}`, with `d`, a value made behind it."""
    model = parse(f"g ({X} x, bool c) => ({X} y, {X} d) {{ h = Relu (x) y = Neg (h) d = Abs (x) }}")
    node = model.graph.node[1]
    spare = branch(helper.make_node("Neg", ["x"], ["spare"]), out="spare", name="e")
    node.CopyFrom(helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other or spare))
    return model
