"""Graphs of any length: chains, wide DAGs, constants that thousands of nodes share, layers of a real architecture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import ModelProto, NodeProto, TensorProto, helper

OPS = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs")
SHAPE = (64, 256)
SHARED = 8  # constants of the graph that shares them


def _model(nodes: Sequence[NodeProto], outputs: Sequence[str], tensors: Sequence[TensorProto] = ()) -> ModelProto:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", *outputs)]
    graph = helper.make_graph(list(nodes), "g", infos[:1], infos[1:], list(tensors))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def chain(count: int) -> ModelProto:
    """One node behind the other."""
    names = ["x", *(f"v{k}" for k in range(count))]
    return _model([helper.make_node(OPS[k % 5], [names[k]], [names[k + 1]]) for k in range(count)], [names[-1]])


def wide(count: int) -> ModelProto:
    """Branches of five nodes from one input, each with weights of its own, summed one after the other."""
    return _branches(count, lambda k: helper.make_tensor(f"c{k}", TensorProto.FLOAT, [256], [1.0 + k / count] * 256))


def literals(count: int) -> ModelProto:
    """The same with a number instead of weights: a program of its own for every region."""
    return _branches(count, lambda k: helper.make_tensor(f"c{k}", TensorProto.FLOAT, [], [1.0 + (k + 1) / count]))


def _branches(count: int, factor: Callable[[int], TensorProto]) -> ModelProto:
    nodes: list[NodeProto] = []
    tensors: list[TensorProto] = []
    total = "x"
    for branch in range(count // 6):
        tensors.append(factor(branch))
        nodes.append(helper.make_node("Mul", ["x", f"c{branch}"], [f"b{branch}_0"]))
        for k, op in enumerate(OPS[:4]):
            nodes.append(helper.make_node(op, [f"b{branch}_{k}"], [f"b{branch}_{k + 1}"]))
        nodes.append(helper.make_node("Add", [total, f"b{branch}_4"], [f"s{branch}"]))
        total = f"s{branch}"
    return _model(nodes, [total], tensors)


def shared(count: int) -> ModelProto:
    """A chain whose every node reads one of a few constants."""
    tensors = [helper.make_tensor(f"c{k}", TensorProto.FLOAT, [256], [1.0 + k / 256] * 256) for k in range(SHARED)]
    names = ["x", *(f"v{k}" for k in range(count))]
    ops = ("Mul", "Add", "Sub")
    nodes = [
        helper.make_node(ops[k % 3], [names[k], tensors[k * 5 % SHARED].name], [names[k + 1]]) for k in range(count)
    ]
    return _model(nodes, [names[-1]], tensors)


def bert(count: int) -> ModelProto:
    """BERT layers with small weights, of as many nodes as come nearest; the sizes of a batch are symbolic."""
    from models import bert_layer

    def build(layers: int) -> ModelProto:
        return bert_layer("batch", "sequence", 8, 2, layers)

    one, two = (len(build(layers).graph.node) for layers in (1, 2))
    return build(max(1, round((count - one) / (two - one)) + 1))


GRAPHS: dict[str, Callable[[int], ModelProto]] = {
    "chain": chain, "wide": wide, "shared": shared, "literals": literals, "bert": bert,
}  # fmt: skip
