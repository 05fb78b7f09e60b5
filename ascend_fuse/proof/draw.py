"""What a body draws, shown to the program beside it: masks as outputs of the body, numbers as its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto, helper

from ascend_fuse.graph.view import constant_value


def shown_draws(nodes: Sequence[NodeProto]) -> tuple[list[NodeProto], list[str], list[str]]:
    """The body's nodes, the name of each drawn value in their order, and those of them that are vectors to feed."""
    found: list[NodeProto] = []
    drawn: list[str] = []
    given: list[str] = []
    for node in nodes:
        name = f"drawn_{len(drawn)}"
        if node.op_type == "Dropout" and _trains(node, nodes):
            if len(node.output) < 2 or not node.output[1]:
                del node.output[1:]
                node.output.append(name)
            drawn.append(node.output[1])
        elif node.op_type in ("RandomUniformLike", "Bernoulli"):
            drawn.append(name)
            given.append(name)
            found += _uniform(node, name) if node.op_type == "RandomUniformLike" else _bernoulli(node, name)
            continue
        found.append(node)
    return found, drawn, given


def _trains(dropout: NodeProto, nodes: Sequence[NodeProto]) -> bool:
    """Whether a Dropout of a body draws its mask."""
    name = dropout.input[2] if len(dropout.input) > 2 else ""
    value = next((constant_value(n) for n in nodes if name and name in n.output), None)
    return value is not None and bool(value)


def _shaped(vector: str, like: str, result: str) -> list[NodeProto]:
    shape = f"{vector}_shape"
    return [helper.make_node("Shape", [like], [shape]), helper.make_node("Reshape", [vector, shape], [result])]


def _uniform(node: NodeProto, vector: str) -> list[NodeProto]:
    """low + (high - low) · u."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    low, high = given.get("low", 0.0), given.get("high", 1.0)
    names = [f"{vector}_{word}" for word in ("unit", "width", "low", "wide")]
    return [
        *_shaped(vector, node.input[0], names[0]),
        helper.make_node("Constant", [], [names[1]], value_float=high - low),
        helper.make_node("Constant", [], [names[2]], value_float=low),
        helper.make_node("Mul", [names[0], names[1]], [names[3]]),
        helper.make_node("Add", [names[3], names[2]], list(node.output)),
    ]


def _bernoulli(node: NodeProto, vector: str) -> list[NodeProto]:
    """The function by which ONNX defines it."""
    target = next((a.i for a in node.attribute if a.name == "dtype"), 1)
    unit, greater = f"{vector}_unit", f"{vector}_greater"
    return [
        *_shaped(vector, node.input[0], unit),
        helper.make_node("Greater", [unit, node.input[0]], [greater]),
        helper.make_node("Cast", [greater], list(node.output), to=target),
    ]
