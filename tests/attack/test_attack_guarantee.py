"""Types and values that looked certain and were not: each once gave a wrong result, or a program that is not its body."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.parser
import pytest

from ascend_fuse import optimize
from ascend_fuse.emit.inline import inline_model
from tests.equal import assert_equal, run

CHEAP = {"min_gain": 0.0, "launch_us": 15.0}
X32 = np.arange(6, dtype=np.float32).reshape(3, 2)
ROUNDS = """g (float[8] x) => {outputs}
<int64 n = {{1}}, bool c = {{1}}, int64[1] z = {{0}}, int64[1] o = {{1}}, int64[1] m = {{1000}}, int64[1] two = {{2}}> {{
  y, k = Loop (n, c, x) < body = step (int64 i, bool cc, float[p] s) => (bool cn, float[e] s2, float[ee] kk) {{
    cn = Identity (cc) s2 = Slice (s, o, m, z) kk = Abs (s) }} >
  ks = Shape (k) k1 = Slice (ks, o, two) {rest}
}}"""
CASES: Mapping[str, tuple[str, Mapping[str, np.ndarray]]] = {
    "int32 wraps": (
        """g (float[3,2] x) => (float[a,b] y) <int32 p = {65536}, int32 q = {32768}, int32 d = {1073741824},
           int32 t = {-2}, int64[2] s1 = {2,3}, int64[2] s2 = {3,2}> {
           m = Mul (p, q) v = Div (m, d) c = Equal (v, t) s = Where (c, s1, s2) x1 = Abs (x) r = Reshape (x1, s)
           y = Exp (r) }""",
        {"x": X32},
    ),
    "a cast to eight bits rounds": (
        """g (float[3,2] x) => (float[a,b] y) <int64 p = {17}, int64[2] s1 = {2,3}, int64[2] s2 = {3,2}> {
           m = Cast <to = 17> (p) v = Cast <to = 7> (m) c = Equal (v, p) s = Where (c, s2, s1) x1 = Abs (x)
           r = Reshape (x1, s) y = Exp (r) }""",
        {"x": X32},
    ),
    "halves of a value whose declared size is wrong": (
        """g (float[20] x, int64[2] shp) => (int64[2] s, float[n,m] y)
           <int64[1] a = {0}, int64[1] b = {4}, int64[1] c = {8}, int64[1] ax = {1}, float[2,8] r> {
           r = Reshape (x, shp) l = Slice (r, a, b, ax) h = Slice (r, b, c, ax) n = Neg (h)
           k = Concat <axis = 1> (n, l) s = Shape (k) y0 = Exp (k) y1 = Abs (y0) y = Tanh (y1) }""",
        {"x": np.ones(20, np.float32), "shp": np.asarray([2, 10])},
    ),
    "a size of the last round is not that of the first": (
        ROUNDS.format(
            outputs="(float[a] y, float[b,d] k, bool[1] eq)", rest="ys = Shape (y) eq = Equal (ys, k1)"
        ),
        {"x": np.ones(8, np.float32)},
    ),
    "no Expand without effect": (
        ROUNDS.format(outputs="(float[a] v)", rest="y0 = Exp (y) y1 = Expand (y0, k1) v = Tanh (y1)").replace("[8] x", "[2] x"),
        {"x": np.ones(2, np.float32)},
    ),
    "two calls find two sizes": (
        """g (float[N] x, float[N] w, bool[N] c1, bool[N] c2) => (float[a] v) {
           p = local.f (x, c1) q = local.f (w, c2) k1 = Shape (q) y0 = Exp (p) y1 = Expand (y0, k1) v = Tanh (y1) }
           <domain: "local", opset_import: ["": 19]> f (x, c) => (y) { y = Compress (x, c) }""",
        {"x": np.ones(3, np.float32), "w": np.ones(3, np.float32), "c1": np.asarray([True, False, False]),
         "c2": np.asarray([True, True, False])},
    ),
    "a size of 0 copies": (
        """g (float[A,B,C] x, float[C,B,A] t) => (float[C,B,A] z, bool[3] e) {
           s = Shape (t) x1 = Exp (x) y = Reshape (x1, s) y1 = Abs (y) q = Shape (y1) e = Equal (q, s)
           z = Reshape <allowzero = 1> (y1, s) }""",
        {"x": np.ones((3, 0, 0), np.float32), "t": np.ones((0, 0, 3), np.float32)},
    ),
    "a function whose regions are in its branches": (
        """g (float[2,3,4] x, bool c) => (float[2,3,4] y) { y = local.f (x, c) }
           <domain: "local", opset_import: ["": 19]> f (x, c) => (y) {
           z = If (c) < then_branch = t () => (q) { q0 = Exp (x) q2 = Neg (q0) q = Tanh (q2) },
                        else_branch = e () => (q3) { q4 = Softmax (x) q3 = Exp (q4) } >
           y = Abs (z) }""",
        {"x": np.ones((2, 3, 4), np.float32), "c": np.asarray(True)},
    ),
    "a dead Shape beside a half value": (
        """g (float16[2,8] x, float[2,8] w, float16[8] g) => (float16[2,8] y, float[2,8] z) {
           k = Constant <value_ints = [2, 8]> () m0 = Constant <value_ints = [8, 8]> ()
           h = Constant <value_float = 0.3> () hh = Cast <to = 10> (h) m = Expand (hh, m0)
           a = Exp (x) v = LayerNormalization (a, g) r = Reshape (v, k) y = MatMul (r, m)
           s = Shape (v) e = Expand (w, s) z = Neg (e) }""",
        {"x": np.linspace(-2, 2, 16).reshape(2, 8).astype(np.float16), "w": np.ones((2, 8), np.float32),
         "g": np.linspace(0.1, 3, 8).astype(np.float16)},
    ),
    "a Shape in a branch that counts a half value outside": (
        """g (float16[2,8] x, float[2,8] w, float16[8] g, bool c) => (float16[2,8] y, float[2,8] z) {
           a = Exp (x) v = LayerNormalization (a, g) y = Neg (v)
           z = If (c) < then_branch = t () => (float[2,8] p) { s = Shape (v) e = Expand (w, s) p = Neg (e) },
                        else_branch = f () => (float[2,8] q) { q = Neg (w) } > }""",
        {"x": np.linspace(-2, 2, 16).reshape(2, 8).astype(np.float16), "w": np.ones((2, 8), np.float32),
         "g": np.linspace(0.1, 3, 8).astype(np.float16), "c": np.asarray(True)},
    ),
    "sizes that a run clamps are told to nobody": (
        """g (float[N,8] x, float[M,8] w) => (float[8,P] o1, float[8,Q] o2) <int64[1] z = {0}, int64[1] o = {1}> {
           ws = Shape (w) m = Slice (ws, z, o) y0 = Slice (x, z, m, z) u0 = Exp (w) u1 = Neg (u0) u = Tanh (u1)
           o2 = Transpose <perm = [1, 0]> (u) t0 = Exp (y0) t1 = Neg (t0) t = Tanh (t1)
           o1 = Transpose <perm = [1, 0]> (t) }""",
        {"x": np.ones((3, 8), np.float32), "w": np.ones((5, 8), np.float32)},
    ),
    "a Cast of a half value that becomes an output": (
        """g (float16[2,4,8] x) => (float16[1,2,4,8] y, float[2,4,8] z) <int64[1] k = {0}> {
           a = Mul (x, x) y = Unsqueeze (a, k) b = Cast <to = 1> (a) z = Identity (b) }""",
        {"x": np.linspace(-3, 3, 64).reshape(2, 4, 8).astype(np.float16)},
    ),
    "an Expand of what a run clamps": (
        """g (float[N,8] x, float[M,8] w) => (float[P,8] v) <int64[1] z = {0}, int64[1] o = {1}, int64[1] e = {8}> {
           ws = Shape (w) m = Slice (ws, z, o) y0 = Slice (x, z, m, z) sh = Concat <axis = 0> (m, e) u = Exp (y0)
           t = Expand (u, sh) v = Tanh (t) }""",
        {"x": np.ones((1, 8), np.float32), "w": np.ones((3, 8), np.float32)},
    ),
    "one constant in regions of two scopes": (
        """g (float[N,8] x, bool b) => (float[N,8] y) {
           c = Constant <value = float {0.3}> () a = Mul (x, c) d = Exp (a) e = Neg (d)
           y = If (b) < then_branch = t () => (float[N,8] q) { q0 = Mul (e, c) q1 = Exp (q0) q = Tanh (q1) },
                        else_branch = f () => (float[N,8] r) { r0 = Add (e, c) r1 = Exp (r0) r = Tanh (r1) } > }""",
        {"x": np.ones((3, 8), np.float32), "b": np.asarray(True)},
    ),
    "a function with a default attribute": (
        """g (float[2,8] x) => (float[2,8] y, float[2,8] z) { y = local.f (x) z = local.f <al = 0.7> (x) }
           <domain: "local", opset_import: ["": 19]> f <al: float = 0.3> (x) => (z) {
           z0 = LeakyRelu <alpha: float = @al> (x) z1 = Exp (z0) z = Neg (z1) }""",
        {"x": np.linspace(-3, 3, 16).reshape(2, 8).astype(np.float32)},
    ),
    "a function of another opset that calls one of ours": (
        """g (float[2,8] x, float[2,4] w) => (float[2,8] y, float[2,4] z) { y = local.f (x) z = local.h (w) }
           <domain: "local", opset_import: ["": 19]> f (x) => (y) { a = Exp (x) b = Neg (a) y = Tanh (b) }
           <domain: "local", opset_import: ["": 18, "local": 1]> h (x) => (y) { y = local.f (x) }""",
        {"x": np.ones((2, 8), np.float32), "w": np.ones((2, 4), np.float32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_certain_changes_nothing(name: str) -> None:
    text, feeds = CASES[name]
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 19, "local": 1]>\n{text}')
    for options in ({}, {"cleanup": False}, {"inline_functions": True}):
        fused = optimize(model, **CHEAP, **options).model
        assert_equal(run(model, feeds), run(fused, feeds), str(options))
        inline_model(fused)
        assert_equal(run(model, feeds), run(fused, feeds), f"inlined, {options}")


def test_a_declared_size_is_in_no_program() -> None:
    """No input has the size 8: were it in the program's text, no binding would find out that it is 4."""
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 19]>
        g (float[N] x, int64[2] shp, float[2,1] z) => (float[2,k] y) <float[2,8] r> {
        r = Reshape (x, shp) s = Shape (r) z1 = Exp (z) z2 = Expand (z1, s) z3 = Abs (z2) y = Tanh (z3) }"""
    )
    result = optimize(model, **CHEAP)
    assert all("host" not in r.program for r in result.plan.regions)
    assert next(m for m in result.plan.misses if m.op == "Expand").miss.code == "shape-unknown"


def test_a_branch_keeps_the_shape_of_a_half_value_outside() -> None:
    """Were it gone, a reader of the value would be, and the CPU provider might round it otherwise."""
    text, _ = CASES["a Shape in a branch that counts a half value outside"]
    fused = optimize(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 19]>\n{text}'), **CHEAP).model
    branch = next(a.g for n in fused.graph.node if n.op_type == "If" for a in n.attribute if a.name == "then_branch")
    assert "Shape" in {n.op_type for n in branch.node}
