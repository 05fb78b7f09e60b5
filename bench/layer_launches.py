"""Launches of models before and after fusion, products and transposes apart, with the seconds of `optimize`.

python bench/layer_launches.py MODEL.onnx ...
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from onnx import ModelProto

from ascend_fuse import optimize
from ascend_fuse.graph.launch import launches_by_node

PRODUCTS = ("MatMul", "Gemm", "Conv")


def by_class(model: ModelProto) -> Counter[str]:
    """Launches as product, transpose, fused, other."""
    found: Counter[str] = Counter()
    for node, launches in zip(model.graph.node, launches_by_node(model), strict=True):
        op = node.op_type
        plain = "product" if op in PRODUCTS else "transpose" if op == "Transpose" else "other"
        found["fused" if node.domain else plain] += launches
    return found


def main(paths: list[str]) -> None:
    print(f"{'model':44} {'before':>6} {'after':>6} {'product':>8} {'transpose':>9} {'fused':>6} {'other':>6} {'s':>6}")
    for path in paths:
        begin = time.perf_counter()
        result = optimize(path)
        seconds = time.perf_counter() - begin
        kinds = by_class(result.model)
        print(
            f"{Path(path).stem:44} {result.plan.totals_before.launches:6} {result.plan.totals_after.launches:6} "
            f"{kinds['product']:8} {kinds['transpose']:9} {kinds['fused']:6} {kinds['other']:6} {seconds:6.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
