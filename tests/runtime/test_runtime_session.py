"""Fused nodes through ONNX Runtime: what is claimed, and that it computes the same at every size."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from onnx import parser

from ascend_fuse import runtime
from tests.runtime.runtime_model import (
    ADD_RELU,
    BODY,
    HEADER,
    SOFTMAX,
    add_relu,
    arrays,
    claimed,
    fused_model,
    open_session,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _from_zero() -> None:
    runtime.reset_counters()


@pytest.mark.parametrize("rows", [1, 7, 4096, 0])
def test_a_fused_node_is_claimed_and_computes_the_same(rows: int) -> None:
    session = open_session(fused_model())
    assert claimed(session) == ["Fused_0"]
    feeds = arrays(rows)
    (found,) = session.run(None, feeds)
    np.testing.assert_array_equal(found, add_relu(**feeds))


def test_a_session_follows_the_sizes_of_each_run() -> None:
    session = open_session(fused_model())
    for rows in [3, 100, 3, 0, 17, *range(1, 25), 3]:  # more than schedules are kept
        feeds = arrays(rows)
        np.testing.assert_array_equal(session.run(None, feeds)[0], add_relu(**feeds))
    (node,) = runtime.counters().nodes
    assert (node.node, node.family, node.runs, node.launches) == ("fused", "elementwise", 30, 29)


def test_one_tensor_may_be_two_inputs() -> None:
    program = ADD_RELU.replace("x1: f32[16]", "x1: f32[d0, 16]")
    session = open_session(fused_model(program, "(float[N,16] x) => (float[N,16] y)", inputs="t, t"))
    x = arrays()["x"]
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], -np.maximum(2 * (x * x), 0))
    assert claimed(session) == ["Fused_0"]


@pytest.mark.parametrize(
    "model",
    [
        fused_model("elementwise 1 [d0]\nout v9"),
        fused_model(ADD_RELU.replace("relu", "cube_root")),
        fused_model(ADD_RELU.replace("f32", "f16")),
        fused_model(ADD_RELU.replace("16", "32")),
        fused_model(soc="Ascend000"),
    ],
    ids=["no program", "no operator", "other dtype", "other sizes", "no chip"],
)
def test_what_cannot_run_stays_with_the_body(model: onnx.ModelProto) -> None:
    session = open_session(model)
    feeds = arrays()
    assert claimed(session) == []
    np.testing.assert_array_equal(session.run(None, feeds)[0], add_relu(**feeds))


def test_the_chip_of_the_options_comes_before_the_node_s() -> None:
    assert claimed(open_session(fused_model(soc="Ascend000"), soc="Ascend910B1")) == ["Fused_0"]


def test_nodes_of_subgraphs_are_claimed() -> None:
    node = 'ai.ascendfuse.Fused_0 <program = "", soc = "Ascend910B3"> (x, b)'
    model = parser.parse_model(
        f"""{HEADER}
        g (float[N,16] x, float[16] b, bool c) => (float[N,16] y) {{
          y = If (c) <then_branch = t () => (float[N,16] p) {{ p = {node} }},
                      else_branch = e () => (float[N,16] q) {{ r = {node} q = Neg(r) }}>
        }}
        {BODY} Fused_0 <program, soc> (a, b) => (y) {{ c = Add(a, b) y = Relu(c) }}"""
    )
    for branch in model.graph.node[0].attribute:
        branch.g.node[0].attribute[0].s = ADD_RELU.encode()
    session = open_session(model)
    assert claimed(session) == ["Fused_0", "Fused_0"]
    feeds = arrays()
    for condition, sign in ((True, 1), (False, -1)):
        (found,) = session.run(None, {**feeds, "c": np.asarray(condition)})
        np.testing.assert_array_equal(found, sign * np.maximum(feeds["x"] + feeds["b"], 0))


def test_sizes_that_a_program_holds_equal_and_are_not_stop_the_run() -> None:
    program = ADD_RELU.replace("x1: f32[16]", "x1: f32[d0, 16]")
    session = open_session(fused_model(program, "(float[N,16] x, float[M,16] b) => (float[N,16] y)"))
    assert claimed(session) == ["Fused_0"]
    said = r"fused: input x1 is f32\[1, 16\] where the program has 5 at dimension 0; fuse the original model again"
    with pytest.raises(Exception, match=said):
        session.run(None, {"x": arrays()["x"], "b": np.ones((1, 16), np.float32)})


def test_an_empty_axis_that_a_program_reduces_stops_the_run() -> None:
    program = "rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = reduce_sum x0\nout v0"
    body = "(a) => (y) { n = Constant <value_ints = [-1]> () y = ReduceSum (a, n) }"
    session = open_session(fused_model(program, "(float[N,M] x) => (float[N,1] y)", "t", body))
    said = r"fused: input x0 is f32\[3, 0\] where the program reduces d1, .*; fuse the original model again"
    with pytest.raises(Exception, match=said):
        session.run(None, {"x": np.ones((3, 0), np.float32)})
    assert session.run(None, {"x": np.ones((3, 2), np.float32)})[0].tolist() == [[-2.0]] * 3


def test_a_row_program_streams_and_spreads() -> None:
    session = open_session(
        fused_model(SOFTMAX, "(float[N,M] x) => (float[N,M] y)", "t", "(a) => (y) { y = Softmax <axis = -1> (a) }")
    )
    for shape in ((1, 1), (33, 17), (3, 70001)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        t = (x * x).astype(np.float64)
        e = np.exp(t - t.max(-1, keepdims=True))
        want = -e / e.sum(-1, keepdims=True)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], want, rtol=2e-5, atol=1e-9)


def test_runs_of_several_threads_do_not_disturb_each_other() -> None:
    runtime.reset_counters()
    session = open_session(fused_model())

    def one(rows: int) -> bool:
        feeds = arrays(rows)
        return bool((session.run(None, feeds)[0] == add_relu(**feeds)).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, [1 + i % 40 for i in range(200)]))
    assert runtime.counters().total.runs == 200
