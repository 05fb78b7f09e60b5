"""Programs of ten million elements through the plugin, each element within its bound. Minutes and gigabytes, so not in CI.

python -m tests.kernels.large [--elements 10000000]
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import onnx

from ascend_fuse import runtime
from ascend_fuse.program.bound import bounds, outside
from ascend_fuse.program.text import parse_program
from tests.runtime.runtime_model import SOFTMAX, claimed, fused_model, open_session


def compare(name: str, model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> bool:
    """Runs the model, whose CPU nodes are exact or rounded as numpy rounds, and prints what came of it."""
    session = open_session(model)
    assert claimed(session), "no kernel runs the node"
    runtime.reset_counters()
    start = time.perf_counter()
    (found,) = session.run(None, feeds)
    run_s = time.perf_counter() - start
    program = parse_program(model.graph.node[1].attribute[0].s.decode())
    ((wanted, bound),) = bounds(program, [feeds["x"] * feeds["x"], *(feeds[n] for n in feeds if n != "x")])
    beyond = int(np.count_nonzero(outside(-found, wanted, bound)))
    total = runtime.counters().total
    print(
        f"{name} {list(feeds['x'].shape)}: {beyond} of {found.size} elements beyond their bound; {total.launches} launch, "
        f"{total.loaded_bytes} B loaded, {total.stored_bytes} B stored, {run_s:.1f} s",
        flush=True,
    )
    return beyond == 0 and total.fused_runs == 1


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--elements", type=int, default=10**7)
    elements = arguments.parse_args().elements
    rng = np.random.default_rng(0)
    side = math.isqrt(elements) | 1  # odd, so that no row is a whole number of blocks
    normal = [rng.standard_normal(shape, np.float32) for shape in ((elements // 16 | 1, 16), (16,), (side, side + 2))]
    softmax = fused_model(
        SOFTMAX, "(float[N,M] x) => (float[N,M] y)", "t", "(a) => (y) { y = Softmax <axis = -1> (a) }"
    )
    good = compare("elementwise", fused_model(), {"x": normal[0], "b": normal[1]})
    return 0 if compare("rowwise", softmax, {"x": normal[2]}) and good else 1


if __name__ == "__main__":
    raise SystemExit(main())
