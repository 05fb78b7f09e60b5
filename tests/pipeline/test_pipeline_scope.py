"""Regions inside the bodies of If, Loop and Scan and inside model-local functions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto
from pipeline_model import feeds, fuse, run, same_bits

import ascend_fuse
from ascend_fuse.emit.inline import inline_model
from ascend_fuse.graph.launch import launch_counts
from ascend_fuse.graph.scope import scopes
from ascend_fuse.graph.view import subgraphs

X = "float[4,256,1024]"
HEAD = '<ir_version: 10, opset_import: ["": 18, "local": 1]>'

BRANCH = f"""{HEAD}
g ({X} x, bool c) => ({X} y, {X} z)
{{
  a = Relu (x)
  b = Tanh (a)
  d = Sigmoid (b)
  y = If (c) <
    then_branch = yes () => ({X} t) {{ t = Add (b, d) }},
    else_branch = no () => ({X} e) {{ e0 = Relu (a) e = Tanh (e0) }}
  >
  z = Neg (d)
}}
"""
NESTED = f"""{HEAD}
g ({X} x, bool c) => ({X} z)
{{
  y = If (c) <
    then_branch = yes () => ({X} t) {{
      h = Relu (x)
      t = If (c) <
        then_branch = deep () => ({X} t2) {{ u = Tanh (h) t2 = Sigmoid (u) }},
        else_branch = deeper () => ({X} e2) {{ u = Exp (h) e2 = Neg (u) }}
      >
    }},
    else_branch = no () => ({X} e) {{ h = Neg (x) e = Identity (h) }}
  >
  w = Relu (y)
  z = Tanh (w)
}}
"""
LOOP = f"""{HEAD}
g ({X} x, int64 n) => ({X} y, float[k,4,256,1024] all)
<bool yes = {{1}}>
{{
  y, all = Loop (n, yes, x) <
    body = step (int64 i, bool go, {X} s) => (bool more, {X} next, {X} out) {{
      more = Identity (go)
      a = Tanh (s)
      next = Sigmoid (a)
      b = Relu (s)
      out = Add (b, x)
    }}
  >
}}
"""
# The carried value grows by a row in every round: its type is that of all rounds.
GROWING = f"""{HEAD}
g (float[1,512] x, int64 n) => (float[r,512] z)
<bool yes = {{1}}>
{{
  y = Loop (n, yes, x) <
    body = step (int64 i, bool go, float[r,512] s) => (bool more, float[r2,512] next) {{
      more = Identity (go)
      a = Tanh (s)
      b = Sigmoid (a)
      next = Concat <axis = 0> (b, x)
    }}
  >
  v = Relu (y)
  z = Tanh (v)
}}
"""
SCAN = f"""{HEAD}
g (float[256,1024] s, float[3,256,1024] x) => (float[256,1024] last, float[3,256,1024] all)
{{
  last, all = Scan <num_scan_inputs = 1, body = step (float[256,1024] p, float[256,1024] q) => (float[256,1024] n, float[256,1024] o) {{
    a = Add (p, q)
    n = Tanh (a)
    b = Relu (n)
    o = Sigmoid (b)
  }}> (s, x)
}}
"""
# Called with two shapes; `alpha` is known at the call only.
CALLS = f"""{HEAD}
g ({X} x, float[2,256,1024] w) => ({X} y, float[2,256,1024] z)
{{
  y = local.act <alpha = 0.25> (x)
  z = local.act <alpha = 0.5> (w)
}}
<domain: "local", opset_import: ["": 18]>
act <alpha> (p) => (q)
{{
  a = Tanh (p)
  b = Sigmoid (a)
  c = LeakyRelu <alpha: float = @alpha> (b)
  d = Exp (c)
  q = Neg (d)
}}
"""
INNER_CALL = f"""{HEAD}
g ({X} x) => ({X} y) {{ y = local.outer (x) }}
<domain: "local", opset_import: ["": 18, "local": 1]>
outer (p) => (q) {{ a = local.inner (p) b = Tanh (a) q = Sigmoid (b) }}
<domain: "local", opset_import: ["": 18]>
inner (p) => (q) {{ a = Relu (p) q = Neg (a) }}
"""
TEXTS = {
    "branch": BRANCH, "nested": NESTED, "loop": LOOP, "growing": GROWING, "scan": SCAN, "calls": CALLS,
    "inner-call": INNER_CALL,
}  # fmt: skip
COUNTS = {
    "branch": {"": 1, "If#0.else_branch": 1},
    "nested": {"": 1, "If#0.then_branch/If#0.then_branch": 1, "If#0.then_branch/If#0.else_branch": 1},
    "loop": {"Loop#0.body": 1},
    "growing": {"": 1, "Loop#0.body": 1},
    "scan": {"Scan#0.body": 1},
    "calls": {"function local::act": 2},
    "inner-call": {"function local::outer": 1, "function local::inner": 1},
}


def variants(name: str, model: ModelProto) -> list[Mapping[str, np.ndarray]]:
    """Feeds that reach every body."""
    if name in ("loop", "growing"):
        return [{"x": feeds(_without(model, "n"))["x"], "n": np.asarray(n, np.int64)} for n in (0, 1, 3)]
    if "c" in {v.name for v in model.graph.input}:
        return [{**feeds(model), "c": np.asarray(truth)} for truth in (True, False)]
    return [feeds(model)]


def _without(model: ModelProto, name: str) -> ModelProto:
    out = ModelProto.FromString(model.SerializeToString())
    kept = [v for v in out.graph.input if v.name != name]
    del out.graph.input[:]
    out.graph.input.extend(kept)
    return out


def bare(node: NodeProto) -> bytes:
    """The node without what its bodies declare of inner values, which `inline` does not bring back."""
    out = NodeProto.FromString(node.SerializeToString())
    for _, graph in subgraphs(out):
        del graph.value_info[:]
        nodes = [NodeProto.FromString(bare(n)) for n in graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
    return out.SerializeToString()


@pytest.mark.parametrize("name", TEXTS)
def test_regions_in_bodies(name: str) -> None:
    """The expected regions are there, the model is valid, computes the same, and `inline` gives the bodies back."""
    model = onnx.parser.parse_model(TEXTS[name])
    result = fuse(model, cleanup=False)
    counts: dict[str, int] = {}
    for region in result.plan.regions:
        counts[region.graph] = counts.get(region.graph, 0) + 1
    assert counts == COUNTS[name]
    onnx.checker.check_model(result.model, full_check=True)
    for values in variants(name, model):
        assert same_bits(run(model, values), run(result.model, values))
    assert sum(launch_counts(result.model).values()) == result.plan.totals_after.launches
    assert sum(launch_counts(model).values()) == result.plan.totals_before.launches
    inline_model(result.model)
    for before, after in zip(scopes(model), scopes(result.model), strict=True):
        assert [bare(n) for n in before.graph.node] == [bare(n) for n in after.graph.node]


def test_a_caller_s_attribute_keeps_its_node_out() -> None:
    """What `alpha` is differs from call to call: the node stays between two regions, with the reason."""
    result = fuse(onnx.parser.parse_model(CALLS))
    miss = next(m for m in result.plan.misses if m.op == "LeakyRelu")
    assert (miss.graph, miss.miss.code) == ("function local::act", "attribute-unsupported")


def test_a_function_in_another_opset_is_left_alone() -> None:
    model = onnx.parser.parse_model(CALLS.replace('opset_import: ["": 18]>\nact', 'opset_import: ["": 17]>\nact'))
    result = fuse(model)
    assert not result.plan.regions
    assert {m.miss.code for m in result.plan.misses} == {"function-opset"}
    assert result.model.functions[0].SerializeToString() == model.functions[0].SerializeToString()


def test_functions_are_inlined_on_request() -> None:
    """Then each call's attribute is known, and whole chains fuse."""
    model = onnx.parser.parse_model(CALLS)
    result = ascend_fuse.optimize(model, inline_functions=True)
    assert [r.graph for r in result.plan.regions] == ["", ""]
    assert {f.domain for f in result.model.functions} == {"ai.ascendfuse"}
    assert same_bits(run(model, feeds(model)), run(result.model, feeds(model)))


def test_a_second_run_is_a_no_op_in_bodies_too() -> None:
    first = fuse(onnx.parser.parse_model(NESTED))
    second = fuse(first.model)
    assert second.unchanged
    assert second.model.SerializeToString(deterministic=True) == first.model.SerializeToString(deterministic=True)
    other = fuse(first.model, soc="Ascend310P3")
    again = fuse(onnx.parser.parse_model(NESTED), soc="Ascend310P3")
    assert other.model.SerializeToString(deterministic=True) == again.model.SerializeToString(deterministic=True)


def test_an_unknown_operator_keeps_its_graph() -> None:
    """What a custom operator does with a graph is its own affair."""
    model = onnx.parser.parse_model(
        BRANCH.replace("If (c)", "com.example.Pick (c)").replace('"local"', '"com.example"')
    )
    kept = next(n for n in model.graph.node if n.op_type == "Pick").SerializeToString()
    out = fuse(model).model
    assert next(n for n in out.graph.node if n.op_type == "Pick").SerializeToString() == kept
