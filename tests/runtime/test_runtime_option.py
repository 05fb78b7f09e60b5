"""Provider options: the knobs by name, what they change, and what is said about a wrong one."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_fuse import runtime
from ascend_fuse.error import UsageError
from tests.runtime.runtime_model import ADD_RELU, DROPOUT, add_relu, arrays, claimed, fused_model, open_session


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sock": 1}, "unknown option 'sock'; near names: soc"),
        ({"min_gian": 1}, "unknown option 'min_gian'; near names: min_gain"),
        ({"min_gain": "much"}, "option min_gain is 'much', wanted a number"),
        ({"min_gain": 2}, "option min_gain is 2, wanted 0 to 1"),
        ({"ub_reserve": -0.5}, "option ub_reserve is -0.5, wanted 0 to 0.95"),
        ({"min_tile_k": 1.5}, "option min_tile_k is '1.5', wanted an integer"),
        ({"fuse": "maybe"}, "option fuse is 'maybe', wanted 0 or 1"),
        ({"soc": "Ascend910B33"}, "unknown SoC 'Ascend910B33'; near names: Ascend910B3"),
        ({"soc": "/nowhere/chip.ini"}, "cannot read the platform file /nowhere/chip.ini"),
    ],
)
def test_a_wrong_option_is_an_error_and_no_session(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        open_session(fused_model(), **options)
    assert said in str(error.value)
    with pytest.raises(UsageError) as error:  # the same without ONNX Runtime
        runtime.run(ADD_RELU, list(arrays().values()), **options)
    assert said in str(error.value)


def test_unfused_runs_launch_each_instruction() -> None:
    counts = []
    for fuse in (True, False):
        runtime.reset_counters()
        session = open_session(fused_model(), fuse=fuse)
        feeds = arrays()
        np.testing.assert_array_equal(session.run(None, feeds)[0], add_relu(**feeds))
        counts.append(runtime.counters().total)
    fused, apart = counts
    assert (fused.launches, fused.fused_runs, apart.launches, apart.fused_runs) == (1, 1, 2, 0)
    rows, bias, byte = 5 * 16, 16, 4
    assert apart.loaded_bytes - fused.loaded_bytes == rows * byte
    assert apart.stored_bytes - fused.stored_bytes == rows * byte
    assert fused.loaded_bytes >= (rows + bias) * byte


def test_a_verdict_of_no_runs_step_by_step() -> None:
    runtime.reset_counters()
    session = open_session(fused_model(), min_gain=1.0)
    feeds = arrays()
    np.testing.assert_array_equal(session.run(None, feeds)[0], add_relu(**feeds))
    (node,) = runtime.counters().nodes
    assert (node.launches, node.fused_runs) == (2, 0)
    assert node.verdict.startswith("no-gain: ")


def _dropped(session) -> np.ndarray:
    (found,) = session.run(None, {"x": np.ones((64, 16), np.float32)})
    return found == 0


def test_masks_differ_by_run_and_session_unless_seeded() -> None:
    graph = "(float[N,16] x) => (float[N,16] y)"
    model = fused_model(DROPOUT, graph, "t", "(a) => (y) { y = Identity(a) }")
    first, second = open_session(model), open_session(model)
    assert claimed(first) == ["Fused_0"]
    masks = [_dropped(first), _dropped(first), _dropped(second)]
    for mask in masks:
        assert 400 < mask.sum() < 624  # of 1024, at a ratio of one half: seven deviations
    assert not any((a == b).all() for a, b in ((masks[0], masks[1]), (masks[0], masks[2])))
    third, fourth = open_session(model, seed=7), open_session(model, seed=7, fuse=False)
    for _ in range(2):
        np.testing.assert_array_equal(_dropped(third), _dropped(fourth))
