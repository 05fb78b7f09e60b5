"""Convolutions with epilogues, from file to file: external weights, bodies, functions, plans, a second run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper
from pipeline_model import feeds, fuse, launches, parse, run, same_bits

import ascend_fuse
import models

X, Y = "float[2,64,28,28]", "float[2,128,28,28]"
CONV = "p = Conv <kernel_shape = [1, 1]> (x, w, b) y = Relu (p)"
WEIGHTS = "float[128,64,1,1] w, float[128] b"


def test_a_body_of_an_if_captures_weight_and_bias() -> None:
    model = parse(
        f"g ({X} x, {WEIGHTS}, bool c) => ({Y} z) {{ z = If (c) "
        f"<then_branch = t () => ({Y} y) {{ {CONV} }}, "
        f"else_branch = e () => ({Y} q) {{ q = Conv (x, w) }}> }}"
    )
    result = fuse(model)
    (region,) = result.plan.regions
    assert region.graph == "If#0.then_branch" and region.rules == ("AF403",)
    for on in (True, False):
        values = feeds(model) | {"c": np.array(on)}
        assert same_bits(run(model, values), run(result.model, values))


def test_inside_a_function() -> None:
    head = '<ir_version: 10, opset_import: ["": 18, "com.example": 1]>'
    model = onnx.parser.parse_model(
        f"{head} g ({X} x, {WEIGHTS}) => ({Y} z) {{ z = com.example.Pointwise (x, w, b) }}"
        f' <domain: "com.example", opset_import: ["": 18]> Pointwise (x, w, b) => (y) {{ {CONV} }}'
    )
    result = fuse(model)
    (region,) = result.plan.regions
    assert region.graph == "function com.example::Pointwise" and region.rules == ("AF403",)
    values = feeds(model)
    assert same_bits(run(model, values), run(result.model, values))


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A bottleneck with its weights beside it."""
    path = tmp_path / "bottleneck.onnx"
    onnx.save_model(models.resnet_bottleneck(), path, save_as_external_data=True, size_threshold=1024)
    return path


def test_file_to_file_and_again(exported: Path) -> None:
    target = exported.with_name("fused.onnx")
    result = ascend_fuse.optimize(exported, output=target, verify=True)
    assert launches(result.model) == [
        "ai.ascendfuse:FusedMatmul", "Conv", "Relu", "ai.ascendfuse:FusedMatmul",
    ]  # fmt: skip
    again = ascend_fuse.optimize(target)
    assert again.plan.already_fused
    before, after = onnx.load(exported), onnx.load(target)
    values = feeds(before)
    assert same_bits(run(before, values), run(after, values))


def test_weights_that_depend_on_the_input() -> None:
    """A weight from outside is an operand as any other; so are images that are constant."""
    model = parse(f"g ({X} x, {WEIGHTS}) => ({Y} y) {{ {CONV} }}")
    made = ModelProto.FromString(model.SerializeToString())
    made.graph.initializer.append(numpy_helper.from_array(feeds(model)["x"], "x"))
    del made.graph.input[0]
    for each in (model, made):
        result = fuse(each)
        assert len(result.plan.regions) == 1
        values = {k: v for k, v in feeds(model).items() if k in {i.name for i in each.graph.input}}
        assert same_bits(run(each, values), run(result.model, values))
