"""onnx's own node models (more than 1,800): none crashes, all come out equal or untouched, as many fuse as before."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import onnx
import pytest
from packaging.version import Version

from tests.backend.node_model import Outcome, cases, chosen, judge

# How many models of each chunk fuse at least.  It may rise: the end of a run prints what was found, write it here.
# A change that lowers a number takes something away from users; it says what and why, or is mended.
FLOOR = {
    "at": 85,
    "a[^t]|b": 7,
    "ca": 9,
    "c[^a]|d": 14,
    "[e-h]": 30,
    "[i-l]": 58,
    "[m-p]": 17,
    "[q-r]": 32,
    "[s-z]": 46,
}
COUNTED_WITH = Version("1.23.0")  # older onnx has fewer models: there the numbers do not bind

DECOMPOSED = r"(layer_normalization|rms_normalization|(log)?softmax|gelu|group_normalization|mish)_.*expanded"
# Decompositions that are more than one launch, with the reason that the report gives for each.
NOT_ONE = {
    r"(log)?softmax_axis_[01]_expanded": "axis-not-trailing",
}


@cache
def outcomes(chunk: str) -> dict[str, Outcome]:
    return {case.name: judge(case) for case in chosen(chunk)}


@pytest.mark.parametrize("chunk", FLOOR)
def test_node_models(chunk: str, record_property: Callable[[str, object], None]) -> None:
    found = outcomes(chunk)
    fused = sum(outcome.fused > 0 for outcome in found.values())
    record_property("onnx_node_models", (chunk, len(found), fused))
    assert {name: o.trouble for name, o in found.items() if o.trouble} == {}
    if Version(onnx.__version__) >= COUNTED_WITH:
        assert fused >= FLOOR[chunk]


def test_every_model_is_in_one_chunk() -> None:
    split = sorted(case.name for chunk in FLOOR for case in chosen(chunk))
    assert split == sorted(cases())
    assert len(split) > 1500


def test_decompositions_become_one_launch() -> None:
    several: dict[str, str] = {}
    judged = {case.name: judge(case) for case in chosen(DECOMPOSED)}
    assert len(judged) > 50
    for name, outcome in judged.items():
        excused = next((code for p, code in NOT_ONE.items() if re.match(p, name.removeprefix("test_"))), None)
        if (outcome.fused, outcome.launches) != (1, 1) and excused not in outcome.codes:
            several[name] = f"{outcome.launches} launches, {', '.join(sorted(outcome.codes))}"
    assert several == {}
