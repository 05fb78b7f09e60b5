"""A node that onnx infers nothing for is named once, with what onnx says."""

from __future__ import annotations

import onnx
from onnx import parser

import ascend_fuse

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[1,8,16,16] x, float[8,8,1,1] w) => (float y) {
  [conv] c = Conv<PADS>(x, w)
  [relu] r = Relu(c)
  [sigmoid] y = Sigmoid(r)
}"""


def notes(pads: str, *declared: onnx.ValueInfoProto) -> list[str]:
    model: onnx.ModelProto = parser.parse_model(TEXT.replace("PADS", pads))
    model.graph.value_info.extend(declared)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return [n for n in ascend_fuse.optimize(model).notes if "infers" in n]


def test_the_node_that_breaks_the_specification_is_named() -> None:
    assert notes("pads = [1, 1]") == [
        "onnx infers no type of conv, nor of what reads it: Attribute pads has incorrect size"
    ]
    assert notes("pads = [0, 0, 0, 0]") == []


def test_a_type_that_the_model_declares_is_known() -> None:
    declared = onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [1, 8, 16, 16])
    assert notes("pads = [1, 1]", declared) == []
