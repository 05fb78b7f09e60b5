"""A fixed set of random graphs: equal outputs, valid models, bodies that inline, a second run without effect."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ascend_fuse import _engine, optimize
from ascend_fuse.emit.inline import inline_model
from ascend_fuse.program.text import parse_program, print_program
from tests.attack.random_graph import SIZES, RandomGraph

CHEAP = {"min_gain": 0.0, "launch_us": 15.0}
BATCHES, EACH = 10, 20


def session(proto: onnx.ModelProto) -> ort.InferenceSession:
    """ONNX Runtime with optimisations off."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def nodes(proto: onnx.ModelProto) -> list[bytes]:
    """All nodes but the constants, in no order."""
    return sorted(n.SerializeToString(deterministic=True) for n in proto.graph.node if n.op_type != "Constant")


def check(seed: int) -> int:
    """Fused nodes of one graph."""
    graph = RandomGraph(seed)
    steps = graph.r.randint(3, 16)
    while len(graph.nodes) < steps:
        graph.grow()
    proto = graph.model()
    result = optimize(proto, **CHEAP)
    fused = result.model
    onnx.checker.check_model(fused, full_check=True)
    programs = [a.s.decode() for n in fused.graph.node for a in n.attribute if a.name == "program"]
    for text in programs:
        assert print_program(parse_program(text)) == text
        assert _engine.Program(text).text() == text
    before, after = session(proto), session(fused)
    for sizes in SIZES:
        feeds = graph.feeds(sizes)
        for want, got in zip(before.run(None, feeds), after.run(None, feeds), strict=True):
            assert np.array_equal(want, got, equal_nan=want.dtype.kind == "f")
    data = fused.SerializeToString(deterministic=True)
    assert optimize(fused, **CHEAP).model.SerializeToString(deterministic=True) == data
    inline_model(fused)
    if not result.plan.cleanups:
        assert nodes(fused) == nodes(proto)
    return len(programs)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_graphs(batch: int) -> None:
    assert sum(check(batch * EACH + k) for k in range(EACH)) >= EACH // 4
