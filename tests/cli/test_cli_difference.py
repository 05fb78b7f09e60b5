"""`diff`: what counts as a difference and what does not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto, TensorProto

from ascend_fuse import Difference
from ascend_fuse import diff as difference
from ascend_fuse.cli.main import app_main
from ascend_fuse.error import ModelError

WriteModel = Callable[[str, str], Path]

HEAD = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>\n'
BASE = """
m (float[batch, 4] x) => (float[batch, 4] y, float[batch, 4] z)
<float[4] w = {1, 2, 3, 4}> {
  a = Add (x, w)
  b = local.Twice (x)
  y = LeakyRelu <alpha = 0.1> (a)
  z = Mul (b, w)
}
<domain: "local", opset_import: ["" : 17]>
Twice (v) => (r) { r = Add (v, v) }
"""


def compare(write_model: WriteModel, old: str, new: str) -> Difference:
    assert old in BASE or old in HEAD
    a = write_model("a.onnx", HEAD + BASE)
    b = write_model("b.onnx", (HEAD + BASE).replace(old, new))
    return difference(a, b)


def kinds(d: Difference) -> set[str]:
    return {c.kind for c in d.changes}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  a = Add (x, w)\n  b = local.Twice (x)\n", "  b = local.Twice (x)\n  a = Add (x, w)\n"),
        ("  a = Add (x, w)\n", "  [node] a = Add (x, w)\n"),
        ("Twice (v) => (r) { r = Add (v, v) }", "Twice (n) => (out) { out = Add (n, n) }"),
    ],
    ids=["node order", "node name", "names in a function"],
)
def test_what_computes_nothing_is_no_difference(write_model: WriteModel, old: str, new: str) -> None:
    found = compare(write_model, old, new)
    assert found.is_same
    assert found.changes == ()


def test_value_names_and_documentation_are_no_difference(write_model: WriteModel, tmp_path: Path) -> None:
    a = write_model("a.onnx", HEAD + BASE)
    model = onnx.load(a)
    for node in model.graph.node:
        node.doc_string = "changed"
        for names in (node.input, node.output):
            for k, name in enumerate(names):
                if name in ("a", "b"):
                    names[k] = f"renamed_{name}"
    model.graph.doc_string = "changed"
    onnx.save(model, tmp_path / "b.onnx")
    assert difference(a, tmp_path / "b.onnx").is_same


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a = Add (x, w)", "a = Sub (x, w)", {"operator", "computation"}),
        ("a = Add (x, w)", "a = Add (w, x)", {"computation"}),
        ("alpha = 0.1", "alpha = 0.2", {"computation"}),
        ("{1, 2, 3, 4}", "{1, 2, 3, 5}", {"initializer"}),
        ("r = Add (v, v)", "r = Mul (v, v)", {"operator", "function", "computation"}),
        ('"" : 17, "local"', '"" : 18, "local"', {"opset"}),
        ("(float[batch, 4] x)", "(float[n, 4] x)", {"input"}),
        ("(float[batch, 4] x)", "(float[2, 4] x)", {"input"}),
        (
            "(float[batch, 4] y, float[batch, 4] z)",
            "(float[batch, 4] z, float[batch, 4] y)",
            {"output order"},
        ),
        ("(float[batch, 4] y, float[batch, 4] z)", "(float[batch, 4] y)", {"output"}),
    ],
)
def test_what_differs_is_named(write_model: WriteModel, old: str, new: str, expected: set[str]) -> None:
    assert kinds(compare(write_model, old, new)) == expected


def test_only_the_output_that_changed_is_listed(write_model: WriteModel) -> None:
    assert [c.name for c in compare(write_model, "alpha = 0.1", "alpha = 0.2").computation] == ["y"]


def test_operators_are_counted(write_model: WriteModel) -> None:
    found = compare(write_model, "a = Add (x, w)", "a = Sub (x, w)")
    assert [(c.name, c.before, c.after) for c in found.operators] == [("Add", "2", "1"), ("Sub", "", "1")]
    assert (found.a.counts.nodes, found.a.counts.launches, found.a.counts.functions) == (4, 4, 1)


def test_an_initializer_that_may_be_replaced_is_part_of_the_interface(write_model: WriteModel, tmp_path: Path) -> None:
    a = write_model("a.onnx", HEAD + BASE)
    model = onnx.load(a)
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", TensorProto.FLOAT, [4]))
    onnx.save(model, tmp_path / "b.onnx")
    assert kinds(difference(a, tmp_path / "b.onnx")) == {"optional input"}


def test_the_bytes_decide_not_the_field_that_holds_them(write_model: WriteModel, tmp_path: Path) -> None:
    a = write_model("a.onnx", HEAD + BASE)
    model = onnx.load(a)
    (w,) = model.graph.initializer
    raw = bool(w.raw_data)
    array = onnx.numpy_helper.to_array(w)
    if raw:
        w.ClearField("raw_data")
        w.float_data.extend(array.tolist())
    else:
        w.ClearField("float_data")
        w.raw_data = array.tobytes()
    onnx.save(model, tmp_path / "b.onnx")
    assert difference(a, tmp_path / "b.onnx").is_same


def external(model: ModelProto, path: Path, location: str, offset: int) -> Path:
    """The model with its one weight said to lie in a file; the file is not made."""
    changed = ModelProto()
    changed.CopyFrom(model)
    (w,) = changed.graph.initializer
    w.ClearField("raw_data")
    w.ClearField("float_data")
    w.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", "16")):
        w.external_data.add(key=key, value=value)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(changed.SerializeToString())
    return path


def test_external_weights_at_one_place_are_never_read(write_model: WriteModel, tmp_path: Path) -> None:
    model = onnx.load(write_model("m.onnx", HEAD + BASE))
    a = external(model, tmp_path / "a.onnx", "absent.bin", 0)
    assert difference(a, external(model, tmp_path / "b.onnx", "absent.bin", 0)).is_same
    below = external(model, tmp_path / "sub" / "b.onnx", "../absent.bin", 0)
    assert difference(a, below).is_same
    moved = external(model, tmp_path / "c.onnx", "absent.bin", 16)
    assert kinds(difference(a, moved, by_place=True)) == {"initializer"}
    with pytest.raises(ModelError, match="missing"):
        difference(a, moved)


def test_external_weights_at_two_places_are_compared_by_their_bytes(write_model: WriteModel, tmp_path: Path) -> None:
    inline = write_model("m.onnx", HEAD + BASE)
    model = onnx.load(inline)
    held = onnx.numpy_helper.to_array(model.graph.initializer[0]).tobytes()
    (tmp_path / "w.bin").write_bytes(b"before" + held)
    (tmp_path / "v.bin").write_bytes(held[:-1] + b"x")
    a = external(model, tmp_path / "a.onnx", "w.bin", 6)
    assert difference(a, inline).is_same
    assert kinds(difference(a, external(model, tmp_path / "b.onnx", "v.bin", 0))) == {"initializer"}
    os.link(tmp_path / "w.bin", tmp_path / "linked.bin")
    assert difference(a, external(model, tmp_path / "l.onnx", "linked.bin", 6), by_place=True).is_same


def test_subgraphs_are_compared(write_model: WriteModel) -> None:
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (bool c, float[4] x) => (float[4] y) {
      s = Relu (x)
      y = If (c) <
        then_branch = t () => (float[4] p) { p = Abs (s) },
        else_branch = e () => (float[4] q) { q = Neg (x) }
      >
    }"""
    a = write_model("a.onnx", text)
    renamed = write_model("r.onnx", text.replace("float[4] q) { q", "float[4] n) { n"))
    captured = write_model("b.onnx", text.replace("p = Abs (s)", "p = Abs (x)"))
    assert difference(a, a).is_same
    assert difference(a, renamed).is_same
    assert [c.name for c in difference(a, captured).computation] == ["y"]


def test_the_command_tells_with_its_exit_code_only_when_asked(
    write_model: WriteModel, capsys: pytest.CaptureFixture[str]
) -> None:
    a = str(write_model("a.onnx", HEAD + BASE))
    b = str(write_model("b.onnx", (HEAD + BASE).replace("Sub", "Add").replace("LeakyRelu", "Elu")))
    assert app_main(["diff", a, b]) == 0
    assert app_main(["diff", a, b, "--exit-code"]) == 1
    assert app_main(["diff", a, a, "--exit-code"]) == 0
    capsys.readouterr()
    assert app_main(["diff", a, b, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "ascend-fuse/difference/1"
    assert document["same"] is False
    assert {c["name"] for c in document["operators"]} == {"Elu", "LeakyRelu"}
    assert app_main(["diff", a, b, "--format", "markdown"]) == 0
    assert "| LeakyRelu | 1 | 0 | -1 |" in capsys.readouterr().out
