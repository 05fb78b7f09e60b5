"""Each rule: what goes, and for each condition a model in which it stays."""

from __future__ import annotations

import cleanup_case
import pytest
from onnx import TensorProto, helper

from ascend_fuse.cleanup.exact import gives_back
from ascend_fuse.cleanup.redirect import find_redirects
from ascend_fuse.graph.guarantee import Guarantee

# rule or reason, opset, graph, claims
CASES = [
    ("AF002", 17, "g (float[N,8] x) => (float[N,8] y) { a = Identity (x) y = Relu (a) }", ["AF002 a=x"]),
    ("AF002 a chain", 17, "g (float[N,8] x) => (float[N,8] y) { a = Identity (x) b = Identity (a) y = Relu (b) }",
     ["AF002 a=x", "AF002 b=a"]),
    ("AF002 of a constant", 17, "g (float[N,8] x) => (float[N,8] y) <float[1] w = {3}> { a = Identity (w) y = Mul (x, a) }",
     ["AF002 a=w"]),
    ("no weight: it would be packed", 17, "g (float[N,8] x) => (float[N,8] y) <float[8] w = {1,2,3,4,5,6,7,8}> { a = Identity (w) y = Mul (x, a) }",
     []),
    ("no half value: its neighbours' rounding would change", 17, "g (float16[N,8] x) => (float16[N,8] y) { a = Identity (x) y = Relu (a) }",
     []),
    ("no Shape that a half value counts", 17, """g (float16[2,8] x, float[16] z) => (float16[2,8] y, float[2,8] w)
     { y = Relu (x) s = Shape (y) w = Reshape (z, s) }""", []),
    ("AF003 before opset 12", 11, "g (float[N,8] x) => (float[N,8] y) { a = Dropout <ratio = 0.4> (x) y = Relu (a) }",
     ["AF003 a=x"]),
    ("AF003", 17, "g (float[N,8] x) => (float[N,8] y) { a = Dropout (x) y = Relu (a) }", ["AF003 a=x"]),
    ("AF003 with an unread mask", 17, "g (float[N,8] x) => (float[N,8] y) <float r = {0.5}, bool t = {0}> { a, m = Dropout (x, r, t) y = Relu (a) }",
     ["AF003 a=x"]),
    ("AF003 without ratio", 17, "g (float[N,8] x) => (float[N,8] y) <bool t = {0}> { a = Dropout (x, , t) y = Relu (a) }",
     ["AF003 a=x"]),
    ("training", 17, "g (float[N,8] x) => (float[N,8] y) <float r = {0}, bool t = {1}> { a = Dropout (x, r, t) y = Relu (a) }", []),
    ("training told by the caller", 17, "g (float[N,8] x, bool t) => (float[N,8] y) <float r = {0}> { a = Dropout (x, r, t) y = Relu (a) }", []),
    ("training overridable", 17, "g (float[N,8] x, bool t) => (float[N,8] y) <bool t = {0}> { a = Dropout (x, , t) y = Relu (a) }", []),
    ("mask read", 17, "g (float[N,8] x) => (float[N,8] y, bool[N,8] n) { a, m = Dropout (x) y = Relu (a) n = Not (m) }", []),
    ("mask an output", 17, "g (float[N,8] x) => (float[N,8] y, bool[N,8] m) { a, m = Dropout (x) y = Relu (a) }", []),
    ("AF004", 17, "g (float[N,8] x) => (float[N,8] y) { a = Cast <to = 1> (x) y = Relu (a) }", ["AF004 a=x"]),
    ("a real cast", 17, "g (float[N,8] x) => (float16[N,8] y) { a = Cast <to = 10> (x) y = Abs (a) }", []),
    ("there and back", 17, "g (float[N,8] x) => (float[N,8] y) { a = Cast <to = 10> (x) b = Cast <to = 1> (a) y = Relu (b) }", []),
    ("AF005 Reshape", 17, "g (float[N,8] x) => (float[N,8] y) <int64[2] s = {-1, 8}> { a = Reshape (x, s) y = Relu (a) }", ["AF005 a=x"]),
    ("AF005 Reshape with copied sizes", 17, "g (float[N,M,8] x) => (float[N,M,8] y) <int64[3] s = {0, 0, -1}> { a = Reshape (x, s) y = Relu (a) }", ["AF005 a=x"]),
    ("AF005 Flatten", 17, "g (float[N,8] x) => (float[N,8] y) { a = Flatten (x) y = Relu (a) }", ["AF005 a=x"]),
    ("AF005 Squeeze", 17, "g (float[2,8] x) => (float[2,8] y) { a = Squeeze (x) y = Relu (a) }", ["AF005 a=x"]),
    ("AF005 Expand", 17, "g (float[N,8] x) => (float[N,8] y) <int64[2] s = {1, 8}> { a = Expand (x, s) y = Relu (a) }", ["AF005 a=x"]),
    ("AF005 by the size that it has", 17, """g (float[N,8] x) => (float[N,8] y)
       { s = Shape (x) a = Reshape (x, s) y = Relu (a) }""", ["AF005 s gone", "AF005 a=x"]),
    ("another shape", 17, "g (float[N,8] x) => (float[K,4] y) <int64[2] s = {-1, 4}> { a = Reshape (x, s) y = Relu (a) }", []),
    ("another rank", 17, "g (float[1,8] x) => (float[8] y) { a = Squeeze (x) y = Relu (a) }", []),
    ("AF005 Squeeze of a size that may be 1", 17, "g (float[N,8] x) => (float[N,8] y) <int64[1] z = {0}> { a = Squeeze (x) s = Shape (x) b = Reshape (a, s) y = Relu (b) }", []),
    ("AF005 Expand by a size that may be another", 17, "g (float[N,8] x, float[M,1,8] z) => (float[M,N,8] y) { s = Shape (z) a = Expand (x, s) y = Relu (a) }", []),
    ("a shape that the caller gives", 17, "g (float[1,1] x, int64[2] s) => (float[A,B] y) { a = Expand (x, s) y = Relu (a) }", []),
    ("a shape that the caller may override", 17, "g (float[2,3] x, int64[2] s) => (float[2,3] y) <int64[2] s = {2, 3}> { a = Reshape (x, s) y = Relu (a) }", []),
    ("0 that is a size", 17, "g (float[0,3] x) => (float[0,3] y) <int64[2] s = {0, 3}> { a = Reshape <allowzero = 1> (x, s) y = Relu (a) }", ["AF005 a=x"]),
    ("Flatten of three axes", 17, "g (float[N,1,8] x) => (float[N,8] y) { a = Flatten (x) y = Relu (a) }", []),
    ("Expand that widens", 17, "g (float[1,8] x) => (float[2,8] y) <int64[2] s = {2, 8}> { a = Expand (x, s) y = Relu (a) }", []),
    ("Expand that adds an axis", 17, "g (float[N,8] x) => (float[1,N,8] y) <int64[3] s = {1, 1, 1}> { a = Expand (x, s) y = Relu (a) }", []),
    ("AF006", 17, "g (float[N,8] x) => (float[N,8] y) { a = Transpose <perm = [0, 1]> (x) y = Relu (a) }", ["AF006 a=x"]),
    ("AF006 of a vector", 17, "g (float[N] x) => (float[N] y) { a = Transpose (x) y = Relu (a) }", ["AF006 a=x"]),
    ("axes that move", 17, "g (float[N,8] x) => (float[8,N] y) { a = Transpose (x) y = Relu (a) }", []),
    ("axes of size 1 that move", 17, "g (float[1,1,8] x) => (float[1,1,8] y) { a = Transpose <perm = [1, 0, 2]> (x) y = Relu (a) }", []),
    ("AF007 Mul", 17, "g (float[N,8] x) => (float[N,8] y) <float one = {1}> { a = Mul (x, one) y = Relu (a) }", ["AF007 a=x"]),
    ("AF007 Mul from the left", 17, "g (float[N,8] x) => (float[N,8] y) <float[1,1] one = {1}> { a = Mul (one, x) y = Relu (a) }", ["AF007 a=x"]),
    ("AF007 Pow", 17, "g (float[N,8] x) => (float[N,8] y) <int64 one = {1}> { a = Pow (x, one) y = Relu (a) }", ["AF007 a=x"]),
    ("AF007 of integers", 17, "g (int64[N] x) => (int64[N] y) <int64 one = {1}> { a = Div (x, one) y = Abs (a) }", ["AF007 a=x"]),
    ("a Constant node goes with it", 17, "g (float[N,8] x) => (float[N,8] y) { one = Constant <value_float = 1.0> () a = Mul (x, one) y = Relu (a) }",
     ["AF007 one gone", "AF007 a=x"]),
    ("Pow of integers", 17, "g (int64[N] x) => (int64[N] y) <int64 one = {1}> { a = Pow (x, one) y = Abs (a) }", []),
    ("nearly 1", 17, "g (float[N,8] x) => (float[N,8] y) <float one = {1.0000001}> { a = Mul (x, one) y = Relu (a) }", []),
    ("1 / x", 17, "g (float[N,8] x) => (float[N,8] y) <float one = {1}> { a = Div (one, x) y = Relu (a) }", []),
    ("1 ** x", 17, "g (float[N,8] x) => (float[N,8] y) <float one = {1}> { a = Pow (one, x) y = Relu (a) }", []),
    ("1 that raises the rank", 17, "g (float[N,8] x) => (float[1,N,8] y) <float[1,1,1] one = {1}> { a = Mul (x, one) y = Relu (a) }", []),
    ("1 in one axis beside a scalar", 17, "g (float x) => (float[1] y) <float[1] one = {1}> { a = Mul (x, one) y = Relu (a) }", []),
    ("several ones", 17, "g (float[1,1] x) => (float[1,2] y) <float[2] one = {1, 1}> { a = Mul (x, one) y = Relu (a) }", []),
    ("1 that the caller may override", 17, "g (float[N,8] x, float one) => (float[N,8] y) <float one = {1}> { a = Mul (x, one) y = Relu (a) }", []),
    ("AF008 Sub", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {0}> { a = Sub (x, zero) y = Abs (a) b = Neg (a) }", ["AF008 a=x"]),
    ("AF008 Add", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {-0.0}> { a = Add (zero, x) y = Neg (a) }", ["AF008 a=x"]),
    ("AF008 of integers", 17, "g (int32[N] x) => (int32[N] y) <int32 zero = {0}> { a = Add (x, zero) b = Sub (a, zero) y = Abs (b) }",
     ["AF008 a=x", "AF008 b=a"]),
    ("x + 0.0", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {0}> { a = Add (x, zero) y = Neg (a) }", []),
    ("x - -0.0", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {-0.0}> { a = Sub (x, zero) y = Neg (a) }", []),
    ("0 - x", 17, "g (int32[N] x) => (int32[N] y) <int32 zero = {0}> { a = Sub (zero, x) y = Abs (a) }", []),
    ("nearly 0", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {1e-40}> { a = Sub (x, zero) y = Neg (a) }", []),
]  # fmt: skip


@pytest.mark.parametrize(("opset", "text", "claims"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_claims(opset: int, text: str, claims: list[str]) -> None:
    """The claims, proved, and the outputs bit for bit."""
    _, got = cleanup_case.cleaned(cleanup_case.model_of(text, opset))
    assert got == claims


@pytest.mark.parametrize("rule", [f"AF00{k}" for k in range(2, 9)])
def test_a_rule_that_is_not_selected_does_nothing(rule: str) -> None:
    rules = cleanup_case.RULES.choose((), (rule,))
    texts = [(c[1], c[2]) for c in CASES if c[0].split()[0] == rule]
    assert texts
    for opset, text in texts:
        _, got = cleanup_case.cleaned(cleanup_case.model_of(text, opset), rules)
        assert not any(claim.startswith(rule) for claim in got)


def test_what_is_merely_declared_is_not_believed() -> None:
    """The type of an unknown operator's output comes from value_info, which may be wrong."""
    text = """g (float[N,8] x) => (float[N,8] y) <float[A,8] u>
      { u = com.example.Mystery (x) a = Cast <to = 1> (u) b = Identity (a) y = Relu (b) }"""
    model = cleanup_case.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>\n{text}')
    found = cleanup_case.found_in(model)
    assert [cleanup_case.brief(c) for f in found for c in f.claims] == ["AF002 b=a"]


def test_declared_sizes_are_not_believed() -> None:
    """A Slice by the length of another tensor: its size is declared, and clamped at run time."""
    text = """g (float[8,16] x, float[N,2] l) => (float[C,16] y) <int64[1] zero = {0}, int64[1] tail = {16}>
      { s = Shape <end = 1> (l) a = Slice (x, zero, s, zero) t = Concat <axis = 0> (s, tail)
        b = Reshape (a, t) y = Relu (b) }"""
    _, claims = cleanup_case.cleaned(cleanup_case.model_of(text))
    assert claims == []


def test_sizes_without_a_name_are_not_equal() -> None:
    """Exporters call any size `?`: the shape of one input says nothing of the other's."""
    text = "g (float[N,8] x, float[N,1,8] z) => (float[A,B,8] y) { s = Shape (z) a = Expand (x, s) y = Relu (a) }"
    model = cleanup_case.model_of(text.replace("float[N,1,8] z", "float[N,8] z").replace("[A,B,8]", "[A,8]"))
    assert [c.rule for f in cleanup_case.found_in(model) for c in f.claims] == ["AF005", "AF005"]
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "?"
    assert [c.rule for f in cleanup_case.found_in(model) for c in f.claims] == []


def test_the_mask_of_an_old_dropout_is_no_bool() -> None:
    text = "g (float[N,8] x) => (float[N,8] y, bool[N,8] n) { y, m = Dropout (x) n = Cast <to = 9> (m) }"
    for opset in (9, 10):
        model = cleanup_case.model_of(text, opset)
        claims = [cleanup_case.brief(c) for f in cleanup_case.found_in(model) for c in f.claims]
        assert claims == ([] if opset < 10 else ["AF004 n=m"])


def test_a_shape_is_not_read_from_what_may_be_stretched() -> None:
    """AF001: a Slice by the length of another tensor may be shorter than it, and an Add then stretches it."""
    text = """g (float[K] x, float[N] z) => (float[N] y, int64[1] s) <int64[1] zero = {0}>
      { n = Shape (z) a = Slice (x, zero, n, zero) b = Relu (z) c = Add (a, b) s = Shape (c) y = Relu (c) }"""
    model = cleanup_case.model_of(text)
    view, inference = cleanup_case.found_in(model)[-1].view, cleanup_case.found_in(model)[-1].inference
    assert find_redirects(view, inference) == ()


def test_a_shape_is_not_read_from_beside_what_a_model_declares() -> None:
    """AF001: a Reshape to a shape that nobody knows may be wider than its value_info says, and so is the sum."""
    text = """g (float[4,8] x, float[a,b] z, int64[n] shape) => (float y, int64[k] s)
      { h = Reshape (z, shape) a = Add (h, x) r = Relu (a) s = Shape (r) y = Tanh (r) }"""
    model = cleanup_case.model_of(text)
    model.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [4, 8]))
    found = cleanup_case.found_in(model)[-1]
    assert find_redirects(found.view, found.inference) == ()


@pytest.mark.parametrize(
    ("op", "bits", "exact"),
    [
        ("Mul", 0x3F80, True), ("Mul", 0x3F81, False), ("Add", 0x8000, True), ("Add", 0, False),
        ("Sub", 0, True), ("Sub", 0x8000, False), ("Sub", 1, False),
    ],
)  # fmt: skip
def test_bfloat16(op: str, bits: int, exact: bool) -> None:
    """By the bits of the constant, although no half value is taken out."""
    text = f"g (bfloat16[N,8] x) => (bfloat16[N,8] y) <bfloat16 c = {{{bits}}}> {{ a = {op} (x, c) y = Relu (a) }}"
    (found,) = cleanup_case.found_in(cleanup_case.model_of(text))
    assert bool(gives_back(found.view.nodes[0], "x", found.view, Guarantee(found.inference))) is exact
    assert not found.claims
