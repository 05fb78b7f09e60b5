"""Types through bodies and calls: what is known is right for every round and every call."""

from __future__ import annotations

import onnx.parser
import pytest

from ascend_fuse.graph.scope import infer, scopes

HEAD = '<ir_version: 10, opset_import: ["": 18, "local": 1]>'


def shape(text: str, name: str, path: str = "") -> tuple[str, ...] | None:
    """The inferred sizes as text; a size that is one of its own is "?"."""
    found = infer(onnx.parser.parse_model(f"{HEAD}\n{text}"))[path].types[name].shape
    return None if found is None else tuple("?" if str(d).startswith("?") else str(d) for d in found)


LOOP = """g (float[2,b,8] x, int64 n) => (float[] y) <bool yes = {{1}}> {{
  y = Loop (n, yes, x) < body = step (int64 i, bool go, float[] s) => (bool more, float[] t) {{ more = Identity (go) {body} }} >
}}"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("t = Tanh (s)", ("2", "b", "8")),
        ("t = Concat <axis = 0> (s, x)", ("?", "b", "8")),
        ("t = Transpose <perm = [2, 1, 0]> (s)", ("?", "b", "?")),
        ("q = Constant <value = int64[1] {0}> () t = Unsqueeze (s, q)", None),
        ("t = com.example.Odd (s)", None),
    ],
)
def test_a_carried_value_has_the_type_of_all_rounds(body: str, wanted: tuple[str, ...] | None) -> None:
    text = LOOP.format(body=body)
    assert shape(text, "y") == wanted
    assert shape(text, "s", "Loop#0.body") == wanted


def test_two_rounds_are_not_enough_to_see_what_changes() -> None:
    """b takes a's size in the second round only, c in the third."""
    text = """g (float[1] a0, float[2] b0, float[2] c0, int64 n) => (float[] a, float[] b, float[] c) <bool yes = {1}> {
      a, b, c = Loop (n, yes, a0, b0, c0) <
        body = step (int64 i, bool go, float[] p, float[] q, float[] r) => (bool more, float[] p2, float[] q2, float[] r2) {
          more = Identity (go) p2 = Concat <axis = 0> (p, p) q2 = Relu (p) r2 = Relu (q) } >
    }"""
    assert [shape(text, n) for n in "abc"] == [("?",), ("?",), ("?",)]


def test_branches_agree_or_not() -> None:
    text = """g (float[2,b] x, float[3,b] w, bool c) => (float[] y) {
      y = If (c) < then_branch = yes () => (float[] t) { t = Relu (x) }, else_branch = no () => (float[] e) { e = Relu (w) } >
    }"""
    assert shape(text, "y") == ("?", "b")
    assert shape(text.replace("Relu (w)", "Relu (x)"), "y") == ("2", "b")


def test_a_scan_cuts_and_stacks() -> None:
    text = """g (float[4] s, float[5,b,4] x) => (float[] l, float[] a) {
      l, a = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
                   body = step (float[] p, float[] q) => (float[] n, float[] o) { n = Identity (p) o = Add (q, p) }> (s, x)
    }"""
    assert shape(text, "l") == ("4",)
    assert shape(text, "q", "Scan#0.body") == ("5", "4")
    assert shape(text, "a") == ("5", "?", "4")


CALLS = """g (float[2,b] x, float[3,b] w) => (float[] y, float[] z) {{ y = local.f (x) z = local.f ({second}) }}
<domain: "local", opset_import: ["": {opset}]> f (p) => (q) {{ a = Relu (p) q = Tanh (a) }}"""


def test_a_function_has_the_types_of_all_its_calls() -> None:
    differ = CALLS.format(second="w", opset=18)
    assert (shape(differ, "y"), shape(differ, "z")) == (("2", "b"), ("3", "b"))
    assert shape(differ, "a", "function local::f") == ("?", "b")
    assert shape(CALLS.format(second="x", opset=18), "a", "function local::f") == ("2", "b")


def test_a_function_in_another_opset_is_not_entered() -> None:
    text = CALLS.format(second="x", opset=17)
    assert shape(text, "y") is None
    assert "function local::f" not in infer(onnx.parser.parse_model(f"{HEAD}\n{text}"))


def test_what_is_declared_of_inner_values_is_only_a_hint() -> None:
    """The declared size may be a lie; what rests on it is marked, through bodies too."""
    text = """g (float[2] x, bool c) => (float[2] y, float[2] k) <float[2,3] v> {
      v = com.example.Odd (x)
      w = Relu (v)
      y = If (c) < then_branch = yes () => (float[] t) { t = Relu (w) }, else_branch = no () => (float[] e) { e = Neg (w) } >
      k = Relu (x)
    }"""
    model = onnx.parser.parse_model(f"{HEAD}\n{text}")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, [2, 3]))
    found = infer(model)
    assert found[""].hinted == {"v", "w", "y"}
    assert "t" in found["If#0.then_branch"].hinted


def test_paths_are_unique_and_inner_scopes_come_first() -> None:
    body = "If (c) < then_branch = yes () => (float[] t) { t = Relu (x) }, else_branch = no () => (float[] e) { e = Neg (x) } >"
    model = onnx.parser.parse_model(
        f"{HEAD}\ng (float[2] x, bool c) => (float[] y, float[] z, float[] w) {{ y = {body} z = {body} w = {body} }}"
    )
    model.graph.node[0].name = model.graph.node[1].name = "same"
    model.graph.node[2].name = "own"
    paths = [s.path for s in scopes(model)]
    assert paths == [
        "If#0.then_branch", "If#0.else_branch", "If#1.then_branch", "If#1.else_branch", "own.then_branch",
        "own.else_branch", "",
    ]  # fmt: skip
