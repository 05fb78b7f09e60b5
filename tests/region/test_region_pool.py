"""GlobalAveragePool: a row of the spatial axes, with the activation that a squeeze-excite reads twice."""

from __future__ import annotations

import onnx.parser
import pytest
from onnx import ModelProto
from region_case import told

import ascend_fuse
from tests.equal import assert_equal, feeds_of, run


def model(graph: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\n{graph}')


def equal(source: ModelProto, fused: ModelProto) -> None:
    for size in (2, 5):
        feeds = feeds_of(source, size=size)
        assert_equal(run(source, feeds), run(fused, feeds))


@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("picture", ["30", "h,w", "2,h,w"])
def test_the_activation_is_written_beside_its_means(dtype: str, picture: str) -> None:
    x, y = f"{dtype}[n,48,{picture}]", f"{dtype}[n,48{',1' * len(picture.split(','))}]"
    source = model(f"g ({x} x) => ({x} a, {y} y) {{ a = HardSwish (x)\n y = GlobalAveragePool (a) }}")
    result = ascend_fuse.optimize(source)
    (region,) = result.plan.regions
    assert region.rules == ("AF222", "AF019") and region.outputs == ("a", "y")
    assert region.program.startswith("rowwise 1 [d0, ") and region.program.count("= reduce_mean ") == 1
    equal(source, result.model)


def test_what_follows_on_the_means_joins() -> None:
    graph = "g (float[2,48,14,14] x) => (float[2,48,1,1] y) { m = GlobalAveragePool (x)\n y = HardSigmoid (m) }"
    source = model(graph)
    result = ascend_fuse.optimize(source)
    (region,) = result.plan.regions
    assert len(region.nodes) == 2
    equal(source, result.model)


def test_the_gate_comes_back_too_late() -> None:
    """The product by the gate waits for a product on the means: it cannot be in a region with what the pool reads."""
    graph = (
        "g (float[1,48,14,14] x, float[48,48,1,1] w) => (float[1,48,14,14] y) "
        "{ a = HardSwish (x)\n m = GlobalAveragePool (a)\n p = Conv (m, w)\n g = Sigmoid (p)\n y = Mul (a, g) }"
    )
    result = ascend_fuse.optimize(model(graph))
    pool, _ = result.plan.regions
    assert pool.rules[0] == "AF222" and pool.outputs == ("a", "m")
    assert result.plan.totals_after.launches == 3
    equal(model(graph), result.model)


def test_an_image_without_axes() -> None:
    source = model("g (float[2,48] x) => (float[2,48] y) { a = Relu (x)\n y = GlobalAveragePool (a) }")
    assert "shape-unknown" in told(ascend_fuse.optimize(source).plan, "y")


def test_the_row_does_not_depend_on_the_step_that_began_it() -> None:
    """A pool of two axes, one of them 1, in one region with a softmax along the other: a plan is applied as it is."""
    source = model(
        "g (float[2,48,1,64] x) => (float[2,48,1,64] y, float[2,48,1,1] m) "
        "{ a = HardSwish (x)\n m = GlobalAveragePool (a)\n y = Softmax <axis = -1> (a) }"
    )
    result = ascend_fuse.optimize(source)
    (region,) = result.plan.regions
    assert region.program.startswith("rowwise 1 [d0, d1, 1 | d2]\n") and len(region.nodes) == 3
    assert ascend_fuse.apply(source, result.plan).model == result.model
    equal(source, result.model)
