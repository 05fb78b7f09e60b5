"""Names when nodes go: graph outputs, nested graphs, shadowed names, functions, declarations."""

from __future__ import annotations

import cleanup_case
import onnx
import pytest
from cleanup_case import cleaned, model_of, operators
from onnx import TensorAnnotation, helper
from onnx.parser import parse_model

from ascend_fuse.cleanup.claim import Claim
from ascend_fuse.cleanup.edit import clean

# what is shown, graph, claims, operators that are left
OUTPUTS = [
    ("the maker takes the output's name", "g (float[N,8] x) => (float[N,8] y) { a = Relu (x) y = Identity (a) }",
     ["AF002 y=a"], ["Relu"]),
    ("along a chain", "g (float[N,8] x) => (float[N,8] y) { a = Relu (x) b = Identity (a) c = Identity (b) y = Identity (c) }",
     ["AF002 b=a", "AF002 c=b", "AF002 y=c"], ["Relu"]),
    ("other readers take the new name", "g (float[N,8] x) => (float[N,8] y, float[N,8] z) { a = Relu (x) y = Identity (a) z = Neg (a) }",
     ["AF002 y=a"], ["Relu", "Neg"]),
    ("an input keeps its name", "g (float[N,8] x) => (float[N,8] y) { y = Identity (x) }", [], ["Identity"]),
    ("a weight keeps its name", "g (float[N,8] x) => (float[2] y, float[N,8] z) <float[2] w = {1, 2}> { y = Identity (w) z = Relu (x) }", [], ["Identity", "Relu"]),
    ("two outputs of one value", "g (float[N,8] x) => (float[N,8] y, float[N,8] z) { a = Relu (x) y = Identity (a) z = Identity (a) }",
     ["AF002 y=a"], ["Relu", "Identity"]),
    ("an output that is read", "g (float[N,8] x) => (float[N,8] a, float[N,8] z) { a = Relu (x) z = Identity (a) }", [], ["Relu", "Identity"]),
    ("behind an output", "g (float[N,8] x) => (float[N,8] a, float[N,8] z) { a = Relu (x) b = Identity (a) z = Neg (b) }",
     ["AF002 b=a"], ["Relu", "Neg"]),
    ("by way of an Identity that stays", "g (float[N,8] x) => (float[N,8] a, float[N,8] z) { a = Relu (x) b = Identity (a) z = Identity (b) }",
     ["AF002 b=a"], ["Relu", "Identity"]),
]  # fmt: skip

IF = """g (float[N,8] x, bool c) => (float[N,8] y) {
  a = Relu (x)
  b = Identity (a)
  y = If (c) <
    then_branch = t () => (float[N,8] p) { p = Neg (b) },
    else_branch = e () => (float[N,8] q) { q = Identity (b) }
  >
}"""
SHADOWED = """g (float[N,8] x, bool c) => (float[N,8] y, float[N,8] z) {
  a = Relu (x)
  b = Identity (a)
  z = Abs (b)
  y = If (c) <
    then_branch = t () => (float[N,8] p) { INNER = Exp (x) p = Add (OUTER, INNER) },
    else_branch = e () => (float[N,8] q) { q = Neg (x) }
  >
}"""
LOOP = """g (float[2,8] x, int64 n) => (float[2,8] y) {
  t = Constant <value_int = 1> ()
  k = Cast <to = 9> (t)
  y = Loop (n, k, x) <
    body = b (int64 i, bool go, float[2,8] s) => (bool more, float[2,8] next) {
      more = Identity (go)
      d = Identity (s)
      e = Identity (d)
      f = Add (e, x)
      next = Identity (f)
    }
  >
}"""
FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
g (float[N,8] x) => (float[N,8] y) { y = own.twice (x) }
<domain: "own", opset_import: ["" : 17]>
twice (a) => (d) { b = Identity (a) c = Add (b, b) d = Identity (c) }
"""


@pytest.mark.parametrize(("text", "claims", "left"), [c[1:] for c in OUTPUTS], ids=[c[0] for c in OUTPUTS])
def test_outputs_keep_their_names(text: str, claims: list[str], left: list[str]) -> None:
    after, got = cleaned(model_of(text))
    assert (got, operators(after)) == (claims, left)


def test_nested_graphs_read_what_stays() -> None:
    """A body's output cannot be an outer value: the Identity there stays."""
    after, got = cleaned(model_of(IF))
    assert got == ["AF002 b=a"]
    read = {g.name: [list(n.input) for n in g.node] for a in after.graph.node[-1].attribute for g in [a.g]}
    assert read == {"t": [["a"]], "e": [["a"]]}


@pytest.mark.parametrize(
    ("outer", "inner", "claims"),
    [("b", "a", []), ("x", "b", []), ("b", "other", ["AF002 b=a"])],
    ids=["inner name of the value that stays", "inner name of the value that goes", "no shadow"],
)
def test_shadowed_names(outer: str, inner: str, claims: list[str]) -> None:
    """A nested graph that defines a name itself would read its own."""
    text = SHADOWED.replace("OUTER", outer).replace("INNER", inner)
    model = parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')
    assert [cleanup_case.brief(c) for f in cleanup_case.found_in(model) for c in f.claims] == claims


def test_loop_bodies() -> None:
    """What a round hands on may be renamed, its inputs may not become outputs."""
    after, got = cleaned(model_of(LOOP))
    assert got == ["AF002 d=s", "AF002 e=d", "AF002 next=f", "AF009 t gone", "AF009 k=True"]
    body = after.graph.node[-1].attribute[0].g
    assert [(n.op_type, list(n.input), list(n.output)) for n in body.node] == [
        ("Identity", ["go"], ["more"]),
        ("Add", ["s", "x"], ["next"]),
    ]


def test_functions() -> None:
    """Inside a function the types are the caller's, but an Identity is one whatever they are."""
    after, got = cleaned(parse_model(FUNCTION))
    assert got == ["AF002 b=a", "AF002 d=c"]
    assert [(n.op_type, list(n.input), list(n.output)) for n in after.functions[0].node] == [("Add", ["a", "a"], ["d"])]


def test_declarations_of_what_is_gone_go() -> None:
    model = model_of(
        "g (float[N,8] x) => (float[N,8] y) { a = Relu (x) b = Identity (a) c = Neg (b) y = Identity (c) }"
    )
    for name in ("a", "b", "c"):
        model.graph.value_info.append(helper.make_tensor_value_info(name, 1, ["N", 8]))
    after, _ = cleaned(model)
    assert [v.name for v in after.graph.value_info] == ["a"]


def test_annotated_values_keep_their_names() -> None:
    model = model_of("g (float[N,8] x) => (float[N,8] y) { a = Relu (x) b = Identity (a) y = Neg (b) }")
    model.graph.quantization_annotation.append(TensorAnnotation(tensor_name="b"))
    assert cleaned(model)[1] == []


def test_annotated_values_stay() -> None:
    model = model_of(
        "g (float[2,8] x, float[16] z) => (float[2,8] y) { a = Relu (x) s = Shape (a) y = Reshape (z, s) }"
    )
    assert cleaned(model)[1] == ["AF009 a gone", "AF009 s=[2, 8]"]
    model.graph.quantization_annotation.append(TensorAnnotation(tensor_name="a"))
    assert cleaned(model)[1] == ["AF009 s=[2, 8]"]


def test_the_rest_comes_out_as_it_went_in() -> None:
    model = model_of(IF)
    model.graph.node[0].doc_string = "kept"
    model.metadata_props.append(onnx.StringStringEntryProto(key="k", value="v"))
    after, _ = cleaned(model)
    assert after.graph.node[0] == model.graph.node[0]
    for field in ("input", "output", "initializer"):
        assert list(getattr(after.graph, field)) == list(getattr(model.graph, field))
    assert list(after.metadata_props) == list(model.metadata_props)


def test_positions_of_what_is_left() -> None:
    model = model_of(
        "g (float[N,8] x) => (float[N,8] y) { a = Relu (x) b = Identity (a) c = Neg (b) y = Identity (c) }"
    )
    left = cleanup_case.clean_all(cleanup_case.found_in(model))
    assert {path: tuple(where) for path, where in left.items()} == {"": (0, 2)}


def test_the_edit_leaves_hidden_names_alone() -> None:
    """Should a claim ever meet a nested graph with a value of the same name, that one is another value."""
    text = SHADOWED.replace("OUTER", "x").replace("INNER", "b")
    model = parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')
    found = cleanup_case.found_in(model)[-1]
    clean(model.graph, found.view, (Claim("AF002", 1, "b", "b", "a", None, ""),))
    assert [list(n.input) for n in model.graph.node] == [["x"], ["a"], ["c"]]
    inner = next(a.g for a in model.graph.node[-1].attribute if a.name == "then_branch")
    assert [(list(n.input), list(n.output)) for n in inner.node] == [(["x"], ["b"]), (["x", "b"], ["p"])]
