"""AF013 and AF014: what nothing reads or is of goes, and everything that anything might use stays."""

from __future__ import annotations

import onnx
import pytest
from cleanup_case import RULES, model_of, same_outputs
from onnx import TensorAnnotation, helper
from onnx.parser import parse_model

from ascend_fuse.cleanup.unused import drop_unused, find_unused

READ = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}, float[2] u = {3, 4}> { y = Mul (x, w) }"
NESTED = """g (float[N,2] x, bool c) => (float[N,2] y) <float[2] w = {1, 2}> {
  y = If (c) <
    then_branch = t () => (float[N,2] p) <float[2] v = {1, 2}> { p = Mul (x, w) },
    else_branch = e () => (float[N,2] q) <float[2] k = {5, 6}> { q = Mul (x, k) }
  >
}"""
DOMAINS = """<ir_version: 8, opset_import: ["" : 17, "own" : 1, "other" : 1, "third" : 1]>
g (float[N,2] x) => (float[N,2] y) { y = own.twice (x) }
<domain: "own", opset_import: ["" : 17, "third" : 1, "fourth" : 1]>
twice (a) => (d) { d = third.Mystery (a) }
"""


def names(model: onnx.ModelProto) -> list[tuple[str, str, str]]:
    return [(u.rule, u.path, u.name) for u in find_unused(model, RULES)]


def dropped(model: onnx.ModelProto) -> onnx.ModelProto:
    after = onnx.ModelProto()
    after.CopyFrom(model)
    drop_unused(after, find_unused(after, RULES))
    assert names(after) == []
    return after


def test_an_initializer_that_nothing_reads() -> None:
    model = model_of(READ)
    assert names(model) == [("AF013", "", "u")]
    after = dropped(model)
    assert [t.name for t in after.graph.initializer] == ["w"]
    same_outputs(model, after)
    assert find_unused(model, RULES)[0].cleanup.what == "nothing reads this initializer"


def test_nested_graphs() -> None:
    """What a nested graph captures is read; its own initializers count by themselves."""
    model = model_of(NESTED)
    found = names(model)
    assert [(rule, name) for rule, _, name in found] == [("AF013", "v")]
    assert "then_branch" in found[0][1]
    same_outputs(model, dropped(model))


@pytest.mark.parametrize("what", ["input", "output", "annotation", "training"])
def test_an_initializer_that_is_of_use(what: str) -> None:
    model = model_of(READ)
    if what == "input":
        model.graph.input.append(helper.make_tensor_value_info("u", 1, [2]))
    elif what == "output":
        model.graph.output.append(helper.make_tensor_value_info("u", 1, [2]))
    elif what == "annotation":
        entry = onnx.StringStringEntryProto(key="SCALE_TENSOR", value="u")
        model.graph.quantization_annotation.append(
            TensorAnnotation(tensor_name="y", quant_parameter_tensor_names=[entry])
        )
    else:
        model.training_info.add()
    assert names(model) == []


def test_imports() -> None:
    """A function's imports count by its own nodes, the model's by those of all functions as well."""
    model = parse_model(DOMAINS)
    assert names(model) == [("AF014", "", "other"), ("AF014", "function own::twice", "fourth")]
    after = dropped(model)
    assert [o.domain for o in after.opset_import] == ["", "own", "third"]
    assert [o.domain for o in after.functions[0].opset_import] == ["", "third"]


def test_the_default_domain_stays() -> None:
    model = parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\ng (float[N] x) => (float[N] y) { y = own.Op (x) }'
    )
    assert names(model) == []


def test_an_import_that_a_nested_graph_needs_stays() -> None:
    text = NESTED.replace("p = Mul (x, w)", "p = own.Op (x, w, v)")
    assert names(parse_model(f'<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\n{text}')) == []


def test_rules_that_are_not_selected() -> None:
    both = READ.replace("g (", "g (", 1)
    model = parse_model(f'<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\n{both}')
    for ignored, left in (("AF013", "AF014"), ("AF014", "AF013")):
        assert [u.rule for u in find_unused(model, RULES.choose((), (ignored,)))] == [left]
