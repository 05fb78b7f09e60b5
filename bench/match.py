"""CPU microseconds per node of matching all idioms and anchors, on chains that tempt the matcher to search.

python bench/match.py [NODES ...]      (default 2000 16000)
"""

from __future__ import annotations

import sys
import time

from onnx import ModelProto, TensorProto, helper

from ascend_fuse.graph.scope import infer
from ascend_fuse.graph.view import View
from ascend_fuse.rule.find import find
from ascend_fuse.rule.load import load_rules

Step = list[tuple[str, tuple[str, ...]]]
CHAINS: dict[str, Step] = {
    "product": [("Mul", ("-1", "half"))],
    "fibonacci": [("Mul", ("-1", "-2")), ("Add", ("-1", "-2"))],
    "nearly gelu": [("Div", ("-1", "sqrt2")), ("Erf", ("-1",)), ("Add", ("-1", "one")), ("Mul", ("-4", "-1"))],
    "nearly norm": [("Sqrt", ("-1",)), ("Mul", ("-1", "-2")), ("Softmax", ("-1",)), ("Add", ("-2", "-1"))],
}


def chain(count: int, step: Step) -> ModelProto:
    """`step` again and again; operands `-1`, `-2` … are earlier values, others are constants."""
    nodes = []
    for i in range(count):
        op, operands = step[i % len(step)]
        read = [f"v{max(i + int(o), -1)}" if o.lstrip("-").isdigit() else o for o in operands]
        nodes.append(helper.make_node(op, read, [f"v{i}"]))
    values = {"half": 0.5, "one": 1.0, "sqrt2": 2**0.5}
    tensors = [helper.make_tensor(n, TensorProto.FLOAT, [], [v]) for n, v in values.items()]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 8]) for n in ("v-1", f"v{count - 1}")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def main(counts: list[int]) -> None:
    rules = load_rules()
    for name, step in CHAINS.items():
        for count in counts:
            model = chain(count, step)
            view = View(model.graph, 17, infer(model)[""].types)
            find(view, rules, "idiom")  # the view's indexes and the patterns are built once
            start = time.process_time()
            for role in ("idiom", "anchor"):
                find(view, rules, role)
            print(f"{name:12} {count:8} nodes {(time.process_time() - start) / count * 1e6:8.1f} µs/node")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [2_000, 16_000])
