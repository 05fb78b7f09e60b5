"""Types and shapes that are not known: the reason names the node that makes them so, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from ascend_fuse import ModelError, optimize
from ascend_fuse.plan import Plan
from ascend_fuse.report.advice import ADVICE

CALLS = """
<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
g (float[batch, 64] x, float[64] z) => (float[batch, 64] y, float[64] q) {{
  a = local.F (x)
  b = Mul (a, x)
  y = Relu (b)
  q = local.F (z)
}}
<domain: "local", opset_import: ["" : {opset}]>
F (i) => (o) {{ u = Exp (i) v = Neg (u) o = Tanh (v) }}
"""
CUSTOM = """
<ir_version: 10, opset_import: ["" : 17, "com.x" : 1]>
g (float[batch, 64] x) => (float[batch, 64] y) {
  a = com.x.Foo (x)
  b = Mul (a, a)
  y = Relu (b)
}
"""


def plan(text: str, **options: bool) -> tuple[Plan, tuple[str, ...]]:
    result = optimize(parse_model(text), **options)
    return result.plan, result.notes


def reasons(plan: Plan) -> Mapping[str, tuple[str, str]]:
    return {m.name: (m.miss.code, m.miss.message) for m in plan.misses}


def test_a_function_of_several_ranks_names_what_expands_it() -> None:
    kept, notes = plan(CALLS.format(opset=17))
    found = reasons(kept)
    assert notes == ()
    for name in ("Exp(u)", "Neg(v)", "Tanh(o)"):
        code, message = found[name]
        assert code == "shape-unknown"
        assert message.endswith("has one shape for all of its calls: --inline-functions gives each call its own")
    expanded, notes = plan(CALLS.format(opset=17), inline_functions=True)
    assert (expanded.misses, notes) == ((), ())
    assert expanded.totals_after.launches < kept.totals_after.launches


def test_a_function_in_another_opset_stays_and_is_blamed() -> None:
    left, notes = plan(CALLS.format(opset=16), inline_functions=True)
    assert notes == ("--inline-functions left a function in another opset than the model's 17 in place: local::F",)
    found = reasons(left)
    assert found["F(a)"][0] == "function-opset"
    blamed = "the type is unknown because of F(a), a call of a function in another opset"
    assert found["Mul(b)"] == ("dtype-unsupported", f"Mul on an unknown type; {blamed}")
    assert found["Relu(y)"][1].endswith(blamed)  # through Mul
    assert "use --inline-functions" not in ADVICE["function-opset"]


def test_an_operator_that_nobody_knows_is_blamed_until_its_output_is_declared() -> None:
    found = reasons(plan(CUSTOM)[0])
    says = "the type is unknown because of Foo(a): nobody knows com.x.Foo; declare its output in value_info"
    assert found["Mul(b)"][1].endswith(says)
    model = parse_model(CUSTOM)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, ["batch", 64]))
    declared = optimize(model).plan
    assert set(reasons(declared)) == {"Foo(a)"}
    assert len(declared.regions) == 1


@pytest.mark.parametrize("in_file", [True, False])
def test_an_error_names_the_file_and_a_node(in_file: bool, tmp_path: Path) -> None:
    text = CUSTOM.replace("com.x.Foo (x)", "Add (x, b)")
    path = tmp_path / "ring.onnx"
    onnx.save(parse_model(text), path)
    with pytest.raises(ModelError, match="has a cycle") as caught:
        optimize(path if in_file else parse_model(text))
    place, _, node = caught.value.where.rpartition("node ")
    assert place == (f"{path}: " if in_file else "")
    assert node in ("Add(a)", "Mul(b)")


def test_a_missing_data_file_is_told_as_the_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative where the model's path is."""
    model = parse_model(CUSTOM)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((64, 64), np.float32), "w"))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    monkeypatch.chdir(tmp_path.parent)
    folder = Path(tmp_path.name)
    with pytest.raises(ModelError, match="is missing") as caught:
        optimize(folder / "m.onnx")
    assert caught.value.where == f"{folder / 'm.onnx'}: {folder / 'w.bin'}"
