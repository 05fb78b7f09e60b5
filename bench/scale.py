"""CPU seconds and memory of `optimize` as graphs grow: chains and wide DAGs, each in a process of its own.

python bench/scale.py [NODES ...]      (default 1000 10000)
"""

from __future__ import annotations

import subprocess
import sys

from onnx import ModelProto, TensorProto, helper

OPS = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs")
SHAPE = (64, 256)


def _model(nodes: list[object], outputs: list[str]) -> ModelProto:
    def info(name: str) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE)

    graph = helper.make_graph(nodes, "g", [info("x")], [info(o) for o in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def chain(count: int) -> ModelProto:
    """One node behind the other."""
    names = ["x", *(f"v{k}" for k in range(count))]
    return _model([helper.make_node(OPS[k % 5], [names[k]], [names[k + 1]]) for k in range(count)], [names[-1]])


def wide(count: int) -> ModelProto:
    """Branches of five nodes from one input, summed pairwise."""
    nodes: list[object] = []
    total = "x"
    for branch in range(count // 6):
        last = "x"
        for k, op in enumerate(OPS):
            nodes.append(helper.make_node(op, [last], [f"b{branch}_{k}"]))
            last = f"b{branch}_{k}"
        nodes.append(helper.make_node("Add", [total, last], [f"s{branch}"]))
        total = f"s{branch}"
    return _model(nodes, [total])


SHAPES = {"chain": chain, "wide": wide}


def measure(shape: str, count: int) -> None:
    """Print one row; runs in the child."""
    import time

    import ascend_fuse

    model = SHAPES[shape](count)
    begin = time.process_time()
    result = ascend_fuse.optimize(model)
    seconds = time.process_time() - begin
    with open("/proc/self/status") as f:
        peak = next(line for line in f if line.startswith("VmHWM")).split()[1]
    print(
        f"{shape:6} {count:8} nodes {seconds:8.2f} s {seconds / count * 1e6:8.0f} µs/node "
        f"{int(peak) // 1024:6} MB {len(result.plan.regions):6} regions",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--one"]:
        measure(arguments[1], int(arguments[2]))
        return
    for shape in SHAPES:
        for count in arguments or ["1000", "10000"]:
            subprocess.run([sys.executable, __file__, "--one", shape, count], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
