"""Blocks of convolutional networks: what a further one launches and moves, as exported and optimised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import onnx
import pytest
from onnx import helper, shape_inference

import models
from ascend_fuse import optimize
from ascend_fuse.graph.launch import launches_by_node
from tests.equal import assert_equal, feeds_of, run

Build = Callable[..., onnx.ModelProto]
# Launches and MB of a further block: as exported, optimised.
BLOCKS: dict[str, tuple[Build, tuple[int, float], tuple[int, float]]] = {
    "bottleneck": (models.resnet_bottleneck, (7, 29.2), (4, 14.7)),
    "mobilenet": (models.mobilenet_block, (14, 7.5), (7, 4.0)),
    "mobilenet, hard-swish an operator": (partial(models.mobilenet_block, opset=14), (12, 5.3), (7, 4.0)),
    "u-net": (
        partial(models.groupnorm_block, channels=320, size=32, groups=32, time=1280, scaled=False),
        (15, 49.7),
        (5, 22.1),
    ),
}
SMALL: dict[str, Build] = {
    "bottleneck": partial(models.resnet_bottleneck, 2, 16, 4, 6),
    "bottleneck symbolic": partial(models.resnet_bottleneck, "b", 16, 4, "s"),
    "bottleneck f16": partial(models.resnet_bottleneck, 1, 16, 4, 6, dtype="float16"),
    "mobilenet": partial(models.mobilenet_block, 2, 8, 24, 6),
    "mobilenet symbolic": partial(models.mobilenet_block, "b", 8, 24, "s", opset=14),
    "mobilenet f16": partial(models.mobilenet_block, 1, 8, 24, 6, dtype="float16"),
    "u-net": partial(models.groupnorm_block, 2, 16, 4, 4, 8),
    "u-net symbolic": partial(models.groupnorm_block, "b", 16, 4, 4, 8, scaled=False),
}


def cost(model: onnx.ModelProto, sizes: dict[str, int]) -> tuple[int, float]:
    """Launches, and MB: each reads its inputs and writes its outputs once."""
    launches, moved = 0, 0
    for node, count in zip(model.graph.node, launches_by_node(model), strict=True):
        launches += count
        if count:
            moved += sum(sizes[name] for name in dict.fromkeys((*node.input, *node.output)) if name)
    return launches, moved / 1e6


def sizes_of(model: onnx.ModelProto) -> dict[str, int]:
    """Bytes of every tensor."""
    graph = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    found = {t.name: prod(t.dims) * helper.tensor_dtype_to_np_dtype(t.data_type).itemsize for t in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        dims = [d.dim_value for d in kind.shape.dim]
        found[value.name] = prod(dims) * helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
    return found


@pytest.mark.parametrize("name", BLOCKS)
def test_a_further_block_launches_and_moves_no_more(name: str) -> None:
    build, before, after = BLOCKS[name]
    exported = build(blocks=1), build(blocks=2)
    optimised = tuple(optimize(m).model for m in exported)
    for pair, wanted in ((exported, before), (optimised, after)):
        one, two = (cost(m, sizes_of(source)) for m, source in zip(pair, exported, strict=True))
        assert two[0] - one[0] == wanted[0]
        assert two[1] - one[1] == pytest.approx(wanted[1], abs=0.1)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("blocks", [1, 2])
def test_blocks_are_equal_once_optimised(name: str, blocks: int) -> None:
    model = SMALL[name](blocks=blocks)
    onnx.checker.check_model(model, full_check=True)
    result = optimize(model)
    assert result.plan.totals_after.launches < result.plan.totals_before.launches
    feeds = feeds_of(model, size=4)
    assert_equal(run(model, feeds), run(result.model, feeds), name)
