"""Products of matrices that once stopped a run, or whose program was not what their body computes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

from ascend_fuse import apply, optimize
from ascend_fuse.emit.inline import inline_model
from tests.equal import assert_equal, feeds_of, run

CHEAP = {"min_gain": 0.0, "launch_us": 15.0}
HUGE = 2**31 - 1


def model(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17]>\ng {graph}')


@pytest.mark.parametrize(("left", "right", "x"), [("x", "w", "N,1"), ("w", "x", "1,N")])
def test_a_constant_that_is_operand_and_number(left: str, right: str, x: str) -> None:
    """The product reads it as an input, the epilogue holds it as a literal: the body must not read one for the other."""
    proto = model(
        f"(float[{x}] x) => (float[{x}] y) <float[1,1] w = {{2.5}}> "
        f"{{ p = MatMul ({left}, {right})\n q = Mul (p, w)\n y = Tanh (q) }}"
    )
    result = optimize(proto, **CHEAP)
    (region,) = result.plan.regions
    assert region.family == "matmul" and "mul v0, 2.5" in region.program
    (body,) = result.model.functions
    assert [n.op_type for n in body.node] == ["MatMul", "Constant", "Mul", "Tanh"]
    feeds = feeds_of(proto)
    assert_equal(run(proto, feeds), run(result.model, feeds))
    inline_model(result.model)
    assert list(result.model.graph.node) == list(proto.graph.node)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_a_gemm_with_beta_0_does_not_read_its_addend(alpha: float) -> None:
    """ONNX Runtime does not, as in BLAS; 0 · C + … of a program would be NaN where C is infinite."""
    proto = model(
        "(float[2,4] x, float[4,6] w, float[6] c) => (float[2,6] y) "
        f"{{ p = Gemm <alpha = {alpha}, beta = 0.0> (x, w, c)\n y = Tanh (p) }}"
    )
    ones = {"x": np.ones((2, 4), np.float32), "w": np.ones((4, 6), np.float32)}
    assert np.isfinite(run(proto, ones | {"c": np.full(6, np.inf, np.float32)})[0]).all()
    result = optimize(proto, **CHEAP)
    assert not result.plan.regions
    miss = next(m.miss for m in result.plan.misses if m.op == "Gemm")
    assert (miss.code, miss.figures["attribute"]) == ("attribute-unsupported", "beta")


@pytest.mark.parametrize("last", ["Tanh", "Softmax"])
@pytest.mark.parametrize(("m", "k", "n"), [(HUGE, HUGE, 4), (HUGE, 4, HUGE), (4, 2**62, 4)])
def test_sizes_that_nobody_gave_and_the_engine_does_not_count(m: int, k: int, n: int, last: str) -> None:
    """The model has them, so it stays as it is: there is no option that the user could change."""
    proto = model(
        f"(float[{m},{k}] a, float[{k},{n}] b, float[{n}] c) => (float[{m},{n}] y) "
        f"{{ p = MatMul (a, b)\n q = Add (p, c)\n y = {last} (q) }}"
    )
    plan = optimize(proto, **CHEAP).plan
    assert all(region.family != "matmul" for region in plan.regions)
    assert next(m.miss for m in plan.misses if m.op == "MatMul").code in ("shape-mismatch", "nothing-to-join")


def test_a_plan_whose_region_did_not_grow_from_its_anchor() -> None:
    """Elu declares a size that its operand has not: only from the front does the region reach both."""
    proto = model(
        "(float[N] x, float s, int64[1] a, int64[1] b) => (float[2] y) "
        "{ t = Slice (x, a, b)\n u = Min (t, s)\n y = Elu (u) }"
    )
    result = optimize(proto, **CHEAP)
    (region,) = result.plan.regions
    assert region.nodes == (1, 2)
    again = apply(proto, result.plan).model
    assert again.SerializeToString(deterministic=True) == result.model.SerializeToString(deterministic=True)
