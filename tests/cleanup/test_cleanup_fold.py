"""AF009: values of shapes that are known become one Constant, and only those."""

from __future__ import annotations

import pytest
from cleanup_case import cleaned, model_of, operators

# what is shown, graph, claims, operators that are left
CASES = [
    ("a whole shape", "g (float[2,8] x, float[16] z) => (float[2,8] y) { s = Shape (x) y = Reshape (z, s) }",
     ["AF009 s=[2, 8]"], ["Constant", "Reshape"]),
    ("one size of several", """g (float[N,8] x, float[N,4,2] z) => (float[N,8] y) <int64 one = {1}, int64[1] zero = {0}, int64[1] free = {-1}>
     { s = Shape (x) w = Gather (s, one) u = Unsqueeze (w, zero) t = Concat <axis = 0> (free, u) y = Reshape (z, t) }""",
     ["AF009 s gone", "AF009 w gone", "AF009 u gone", "AF009 t=[-1, 8]"], ["Constant", "Reshape"]),
    ("the largest parts of a shape that is partly known", """g (float[N,8] x, float[8,N,2] z) => (float[A,B,2] y) <int64 one = {1}, int64 nil = {0}, int64[1] zero = {0}, int64[1] free = {-1}>
     { s = Shape (x) n = Gather (s, nil) m = Unsqueeze (n, zero) w = Gather (s, one) u = Unsqueeze (w, zero)
       t = Concat <axis = 0> (m, u, free) y = Reshape (z, t) }""",
     ["AF009 w gone", "AF009 u=[8]"], ["Shape", "Gather", "Unsqueeze", "Constant", "Concat", "Reshape"]),
    ("arithmetic", """g (float[2,8] x) => (int64[1] y) <int64[1] three = {3}>
     { n = Size (x) p = Add (n, three) q = Mul (p, p) r = Div (q, three) y = Sub (r, n) }""",
     ["AF009 n gone", "AF009 p gone", "AF009 q gone", "AF009 r gone", "AF009 y=[104]"], ["Constant"]),
    ("a value of a size that cancels", """g (float[N,8] x) => (int64 y) <int64 nil = {0}>
     { s = Shape (x) n = Gather (s, nil) a = Add (n, n) y = Sub (a, a) }""",
     ["AF009 s gone", "AF009 n gone", "AF009 a gone", "AF009 y=0"], ["Constant"]),
    ("a switch for Expand", """g (float[2,1] x) => (float[2,8] y) <int64[2] w = {-1, 8}, int64[2] minus = {-1, -1}, int64[1] two = {2}>
     { o = ConstantOfShape <value = int64[1] {1}> (two) e = Equal (w, minus) s = Where (e, o, w) y = Expand (x, s) }""",
     ["AF009 o gone", "AF009 e gone", "AF009 s=[1, 8]"], ["Constant", "Expand"]),
    ("what computes the operand of a shape alone", """g (float[2,8] x, float[16] z) => (float[2,8] y)
     { a = Exp (x) b = Neg (a) s = Shape (b) y = Reshape (z, s) }""",
     ["AF009 a gone", "AF009 b gone", "AF009 s=[2, 8]"], ["Constant", "Reshape"]),
    ("bool to int", "g (float[2] x) => (int64 y) <int64 five = {5}> { b = Cast <to = 9> (five) y = Cast <to = 7> (b) }",
     ["AF009 b gone", "AF009 y=1"], ["Constant"]),
    ("a size that is not known", "g (float[N,8] x, float[N,2,4] z) => (float[A,B] y) { s = Shape (x) y = Reshape (z, s) }",
     [], ["Shape", "Reshape"]),
    ("numbers of the caller", "g (int64[2] s, float[1,1] z) => (float[A,B] y) <int64[2] k = {2, 3}> { t = Add (s, k) y = Expand (z, t) }",
     [], ["Add", "Expand"]),
    ("a constant is none", "g (float[16] z) => (float[2,8] y) { s = Constant <value_ints = [2, 8]> () y = Reshape (z, s) }",
     [], ["Constant", "Reshape"]),
    ("another name for a constant is none", "g (float[16] z) => (float[2,8] y) <int64[2] s = {2, 8}> { t = Identity (s) y = Reshape (z, t) }",
     [], ["Identity", "Reshape"]),
    ("a number that does not fit its type", """g (float[2] x) => (int64 y) <int64 big = {4611686018427387904}>
     { a = Add (big, big) b = Div (a, big) y = Add (b, b) }""", [], ["Add", "Div", "Add"]),
    ("more elements than are small", """g (float[2] x) => (int64[65] y) <int64[1] n = {65}>
     { y = ConstantOfShape <value = int64[1] {1}> (n) }""", [], ["ConstantOfShape"]),
    ("behind other cleanups", """g (float[2,8] x, float[16] z) => (float[2,8] y) { s = Shape (x) t = Identity (s) u = Cast <to = 7> (t) y = Reshape (z, u) }""",
     ["AF009 s=[2, 8]", "AF002 t=s", "AF004 u=t"], ["Constant", "Reshape"]),
    ("not where another cleanup takes the reader", """g (float[2,8] x) => (float[2,8] y) { s = Shape (x) a = Reshape (x, s) y = Relu (a) }""",
     ["AF005 s gone", "AF005 a=x"], ["Relu"]),
    ("an output", """g (float[2,8] x) => (int64[2] y) { s = Shape (x) y = Identity (s) }""",
     ["AF009 s=[2, 8]", "AF002 y=s"], ["Constant"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "claims", "left"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_values(text: str, claims: list[str], left: list[str]) -> None:
    after, got = cleaned(model_of(text))
    assert (got, operators(after)) == (claims, left)


def test_a_random_source_stays() -> None:
    """Taking out a random node would change the numbers that others draw."""
    text = """g (float[16] z) => (float[2,8] y) { r = RandomNormal <shape = [2, 8]> () s = Shape (r) y = Reshape (z, s) }"""
    after, got = cleaned(model_of(text))
    assert got == ["AF009 s=[2, 8]"]
    assert operators(after) == ["RandomNormal", "Constant", "Reshape"]


def test_a_source_that_a_nested_graph_reads_stays() -> None:
    text = """g (float[2,8] x, float[16] z, bool c) => (float[2,8] y) {
      s = Shape (x)
      t = Cast <to = 6> (s)
      u = Cast <to = 7> (t)
      v = Reshape (z, u)
      y = If (c) < then_branch = a () => (float[2,8] p) { p = Reshape (z, s) }, else_branch = b () => (float[2,8] q) { q = Neg (v) } >
    }"""
    after, got = cleaned(model_of(text))
    assert got == ["AF009 s=[2, 8]", "AF009 t gone", "AF009 u=[2, 8]"]
    assert operators(after) == ["Constant", "Constant", "Reshape", "If"]


def test_inside_a_nested_graph() -> None:
    text = """g (float[2,8] x, float[16] z, bool c) => (float[2,8] y) {
      y = If (c) < then_branch = a () => (float[2,8] p) { s = Shape (x) p = Reshape (z, s) }, else_branch = b () => (float[2,8] q) { q = Neg (x) } >
    }"""
    after, got = cleaned(model_of(text))
    assert got == ["AF009 s=[2, 8]"]
    assert [n.op_type for n in after.graph.node[0].attribute[0].g.node] == ["Constant", "Reshape"]


def test_the_report_has_one_line_for_each_value() -> None:
    from cleanup_case import found_in

    from ascend_fuse.cleanup.claim import cleanups

    found = found_in(model_of(CASES[1][1]))
    assert [(c.rule, c.node, c.what) for f in found for c in cleanups(f.claims)] == [
        ("AF009", "Concat(t)", "is always -1, 8")
    ]
