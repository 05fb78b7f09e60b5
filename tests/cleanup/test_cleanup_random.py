"""Random graphs with neutral nodes sprinkled over them: cleaned alone, the same bits come out."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from cleanup_case import RULES, found_in
from onnx import helper

from ascend_fuse.cleanup.model import clean_all
from ascend_fuse.cleanup.unused import drop_unused, find_unused
from ascend_fuse.proof.cleanup import prove_claims
from tests.attack.random_graph import CODE, NUMPY, SIZES, RandomGraph, Shape, Tensor
from tests.equal import assert_equal, session

BATCHES, EACH = 8, 25


class Sprinkled(RandomGraph):
    """A random graph in which nodes that change nothing, or nearly nothing, stand between the others."""

    def input(self, dtype: str, shape: Shape) -> Tensor:
        """No float16: ONNX Runtime computes most of it in float32 and rounds between nodes that are not neighbours."""
        return super().input("f32" if dtype == "f16" else dtype, shape)

    def neutral(self) -> None:
        """One such node behind a recent value."""
        a = self.pick("f32", "i32", "bool")
        if a is None:
            return
        kinds = ["copy", "copied_cast", "dropout", "reshape", "transpose", "measured"]
        if a[1] != "bool":
            kinds += ["arithmetic", "arithmetic"]
        getattr(self, self.r.choice(kinds))(a)

    def copy(self, a: Tensor) -> None:
        self.add("Identity", [a[0]], (a[1], a[2]))

    def copied_cast(self, a: Tensor) -> None:
        self.add("Cast", [a[0]], (a[1], a[2]), to=CODE[a[1]])

    def dropout(self, a: Tensor) -> None:
        if a[1] == "f32":
            flags = {} if self.opset >= 12 else {"ratio": 0.3}
            more = ["", self.constant(False, np.bool_)] if self.opset >= 12 and self.r.random() < 0.5 else []
            outputs = [(a[1], a[2])] if self.r.random() < 0.7 else [(a[1], a[2]), ("bool", a[2])]
            self.add("Dropout", [a[0], *more], *outputs, **flags)

    def reshape(self, a: Tensor) -> None:
        """To its own shape: by copied sizes, a hole, numbers; or to another."""
        shape = [d if isinstance(d, int) and self.r.random() < 0.5 else 0 for d in a[2]]
        if shape and self.r.random() < 0.5:
            shape[self.r.randrange(len(shape))] = -1
        if shape:
            self.add("Reshape", [a[0], self.constant(shape, np.int64)], (a[1], a[2]))

    def transpose(self, a: Tensor) -> None:
        order = list(range(len(a[2])))
        if self.r.random() < 0.4:
            self.r.shuffle(order)
        if order:
            self.add("Transpose", [a[0]], (a[1], tuple(a[2][k] for k in order)), perm=order)

    def measured(self, a: Tensor) -> None:
        """An Expand by parts of its own shape."""
        if not a[2]:
            return
        shape, parts = self.name(), []
        self.nodes.append(helper.make_node("Shape", [a[0]], [shape]))
        for k in range(len(a[2])):
            parts.append(self.name())
            self.nodes.append(helper.make_node("Gather", [shape, self.constant([k], np.int64)], [parts[-1]]))
        joined = self.name()
        self.nodes.append(helper.make_node("Concat", parts, [joined], axis=0))
        self.add(self.r.choice(("Expand", "Reshape")), [a[0], joined], (a[1], a[2]))

    def arithmetic(self, a: Tensor) -> None:
        op = self.r.choice(("Mul", "Div", "Add", "Sub"))
        exact = 1 if op in ("Mul", "Div") else -0.0 if op == "Add" and self.r.random() < 0.5 else 0.0
        value = exact if self.r.random() < 0.8 else 2
        shape = self.r.choice(((), (1,), (1, 1), (1, 1, 1)))
        operands = [a[0], self.constant(np.full(shape, value), NUMPY[a[1]])]
        if op in ("Mul", "Add"):
            self.r.shuffle(operands)
        self.add(op, operands, (a[1], (1,) * (len(shape) - len(a[2])) + a[2]))


def check(seed: int) -> Counter[str]:
    """How often each rule claimed a node in one graph."""
    graph = Sprinkled(seed)
    steps = graph.r.randint(4, 20)
    while len(graph.nodes) < steps:
        graph.grow()
        if graph.r.random() < 0.7:
            graph.neutral()
    proto = graph.model()
    after = onnx.ModelProto()
    after.CopyFrom(proto)
    found = found_in(after)
    prove_claims(found)
    clean_all(found)
    drop_unused(after, find_unused(after, RULES))
    onnx.checker.check_model(after, full_check=True)
    before, behind = session(proto), session(after)
    for sizes in SIZES:
        feeds = graph.feeds(sizes)
        assert_equal(before.run(None, feeds), behind.run(None, feeds), f"seed {seed}")
    return Counter(c.rule for f in found for c in f.claims if not c.is_dead)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_graphs(batch: int) -> None:
    """Each rule is seen in every batch."""
    counts = sum((check(batch * EACH + k) for k in range(EACH)), Counter())
    assert set(counts) >= {f"AF00{k}" for k in range(2, 10)}
