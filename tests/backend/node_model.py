"""onnx's own node models and what becomes of each: equal, untouched, or refused for its opset."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase as NodeCase
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

from ascend_fuse import Result, optimize
from ascend_fuse.error import ModelError
from ascend_fuse.verify.seed import random_nodes, seed_pair
from tests.equal import bits, run

OLDEST_OPSET = 7  # of the default domain, docs/design/0002


@dataclass(frozen=True, slots=True)
class Outcome:
    """`trouble` is empty if all is well; `codes` are the reasons for what stayed; `launches` are of the new model."""

    name: str
    trouble: str
    fused: int = 0
    launches: int = 0
    codes: frozenset[str] = frozenset()


@cache
def cases() -> dict[str, NodeCase]:
    """All of them by name; onnx builds them in about 7 s, with warnings of numpy's that are about its own data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node")}


def chosen(pattern: str) -> list[NodeCase]:
    """The cases whose name behind `test_` begins with the pattern."""
    return [case for name, case in cases().items() if re.match(pattern, name.removeprefix("test_"))]


def judge(case: NodeCase) -> Outcome:
    """Optimise one model with the default options and compare."""
    model = case.model
    try:
        result = optimize(model)
    except ModelError as error:
        oldest = min((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=OLDEST_OPSET)
        return Outcome(case.name, "" if oldest < OLDEST_OPSET else f"refused: {error}")
    fused = sum(node.domain == "ai.ascendfuse" for node in result.model.graph.node)
    trouble = "" if _untouched(model, result.model) else _difference(case, result)
    codes = frozenset(miss.miss.code for miss in result.plan.misses)
    return Outcome(case.name, trouble, fused, result.plan.totals_after.launches, codes)


def _untouched(before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """The graph and the functions are the same; the IR version may have risen."""
    return before.graph == after.graph and list(before.functions) == list(after.functions)


def _difference(case: NodeCase, result: Result) -> str:
    """Empty if both models give the same bits for the case's own inputs: on ONNX Runtime, or where that cannot run
    the original, on onnx's reference evaluator.
    """
    onnx.checker.check_model(result.model)
    before, after = case.model, result.model
    if random_nodes(before):  # each draws anew, but with a seed
        seeded = seed_pair(before, after, 1)
        before, after = seeded.a, seeded.b
    names = [value.name for value in case.model.graph.input]
    for inputs, _ in case.data_sets or ():
        feeds = {name: _array(value) for name, value in zip(names, inputs, strict=True) if value is not None}
        try:
            want, evaluate = run(before, feeds), run
        except Exception as error:  # ONNX Runtime has a class for each status, with no base of their own
            want, evaluate = _reference(before, feeds), _reference
            print(f"{case.name}: compared on the reference evaluator, {str(error).splitlines()[0]}")
        got = evaluate(after, feeds)
        if bits(want) != bits(got):
            return f"differs: {want} became {got}"
    return ""


def _reference(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    with warnings.catch_warnings():  # numpy's, about overflows that the test data mean to have
        warnings.simplefilter("ignore", RuntimeWarning)
        return list(ReferenceEvaluator(model).run(None, feeds))


def _array(value: Any) -> Any:
    """Types that numpy lacks come as TensorProto."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
