"""Models that no runtime would take are refused with the node and what to do; unknown operators are told."""

from __future__ import annotations

import pytest
from onnx import ModelProto, defs, parser

from ascend_fuse import ModelError, optimize

BODY = "g (float[4,8] x) => (float[4,8] y) { a = Relu (x) y = Tanh (a) }"


def model(opset: int | str = 17, body: str = BODY) -> ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {body}')


def refused(bad: ModelProto) -> str:
    with pytest.raises(ModelError) as caught:
        optimize(bad)
    return str(caught.value)


def test_a_good_model_is_taken() -> None:
    assert len(optimize(model()).plan.regions) == 1


@pytest.mark.parametrize("opset", [6, defs.onnx_opset_version() + 1])
def test_an_unknown_opset_is_refused(opset: int) -> None:
    assert f"opset {opset} " in refused(model(opset))


def test_a_model_of_other_domains_needs_no_default_opset() -> None:
    text = '<ir_version: 8, opset_import: ["com.x" : 1]> g (float[4] x) => (float[4] y) { y = com.x.Do (x) }'
    assert optimize(parser.parse_model(text)).plan.regions == ()


def test_a_value_that_nothing_makes_is_named() -> None:
    bad = model()
    bad.graph.node[1].input[0] = "ghost"
    assert "reads ghost, which nothing makes" in refused(bad)


def test_an_output_that_nothing_makes_is_named() -> None:
    bad = model()
    del bad.graph.node[1]
    assert "nothing makes output y" in refused(bad)


def test_a_value_made_twice_is_named() -> None:
    bad = model()
    bad.graph.node[1].output[0] = "a"
    assert "value a is made twice" in refused(bad)


def test_a_misspelt_operator_is_told() -> None:
    odd = model()
    odd.graph.node[1].op_type = "Tahn"
    assert any("no operator Tahn" in note for note in optimize(odd).notes)
