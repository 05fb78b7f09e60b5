"""Models that are odd but no reason to fail: types that differ, rows without a number, masks as halves."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

import ascend_fuse

HEAD = '<ir_version: 10, opset_import: ["" : 18]>'


def fused(graph: str) -> ascend_fuse.Plan:
    return ascend_fuse.optimize(parser.parse_model(f"{HEAD} {graph}")).plan


@pytest.mark.parametrize("dtype", [10, 16])
def test_a_mask_of_halves(dtype: int) -> None:
    kind = onnx.helper.tensor_dtype_to_string(dtype).removeprefix("TensorProto.").lower()
    plan = fused(
        f"g (float[64,256] x) => ({kind}[64,256] y) {{ p = Sigmoid (x)\n y = Bernoulli <dtype = {dtype}> (p) }}"
    )
    assert len(plan.regions) == 1


def test_a_row_without_a_number_before_hardmax() -> None:
    plan = fused("g (float[64,256] x) => (float[64,256] y) { a = Sqrt (x)\n y = Hardmax <axis = -1> (a) }")
    assert len(plan.regions) == 1


def test_operands_of_two_types() -> None:
    plan = fused(
        "g (float[64,256] x, float16[64,256] z) => (float[64,256] y) { a = Exp (x)\n b = Sub (a, z)\n y = Neg (b) }"
    )
    assert [m.miss.message for m in plan.misses if m.miss.code == "dtype-unsupported"] == ["sub of f16 and f32"]
