"""Every case: equal bits, the interface as it was, the fusion that has to be there and none that must not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import onnx
import pytest

from ascend_fuse import Result, optimize
from ascend_fuse.emit.inline import inline_model
from tests.cases.case import CASES, Case
from tests.equal import assert_equal, feeds_of, run

IDS = sorted(CASES)


@pytest.fixture(scope="module", params=IDS)
def outcome(request: pytest.FixtureRequest) -> tuple[Case, onnx.ModelProto, Result]:
    """One case, its model and what became of it with the default options."""
    case = CASES[request.param]
    model = case.model()
    onnx.checker.check_model(model, full_check=True)
    return case, model, optimize(model)


Outcome = tuple[Case, onnx.ModelProto, Result]


def feeds(model: onnx.ModelProto) -> Iterator[dict[str, np.ndarray]]:
    """Random inputs twice, with either value of a control input."""
    for seed in range(2):
        drawn = feeds_of(model, seed=seed)
        yield {name: np.array(bool(seed)) if value.dtype == bool else value for name, value in drawn.items()}


def writer(model: onnx.ModelProto, value: str) -> int:
    """The position of the node that writes a value."""
    return next(k for k, node in enumerate(model.graph.node) if value in node.output)


def test_outputs_are_equal(outcome: Outcome) -> None:
    _, model, result = outcome
    onnx.checker.check_model(result.model, full_check=True)
    for fed in feeds(model):
        assert_equal(run(model, fed), run(result.model, fed))


def test_the_interface_is_kept(outcome: Outcome) -> None:
    _, model, result = outcome
    fused = result.model
    assert list(fused.graph.input) == list(model.graph.input)
    assert list(fused.graph.output) == list(model.graph.output)
    assert (fused.doc_string, fused.graph.doc_string) == (model.doc_string, model.graph.doc_string)
    assert {p.key: p.value for p in fused.metadata_props}["author"] == "the exporter"
    imports = {o.domain: o.version for o in fused.opset_import}
    assert imports[""] == model.opset_import[0].version
    assert {node.domain for node in fused.graph.node} <= set(imports)


def test_what_has_to_fuse_does(outcome: Outcome) -> None:
    case, model, result = outcome
    wanted = {writer(model, value) for value in case.fuses.split()}
    regions = [r for r in result.plan.regions if wanted and wanted <= set(r.nodes)]
    assert len(regions) == (1 if wanted else 0), result.report()
    for region in regions:
        assert not case.rule or case.rule in region.rules
        assert all(line in region.program for line in case.instructions), region.program


def test_what_must_not_fuse_does_not(outcome: Outcome) -> None:
    case, model, result = outcome
    for region in result.plan.regions:
        assert not set(region.rules) & set(case.never)
        assert not {writer(model, value) for value in case.alone.split()} & set(region.nodes)
    for value in case.alone.split():
        assert model.graph.node[writer(model, value)] == result.model.graph.node[writer(result.model, value)]
    assert not case.refused or case.refused in {m.miss.code for m in result.plan.misses}


def test_inline_gives_the_graph_back(outcome: Outcome) -> None:
    _, model, result = outcome
    inlined = onnx.ModelProto()
    inlined.CopyFrom(result.model)
    inline_model(inlined)
    if not result.plan.cleanups:
        assert list(inlined.graph.node) == list(model.graph.node)


def test_the_table_is_complete() -> None:
    assert [f"A{k:02}" for k in range(1, 21)] == IDS
    for case in CASES.values():
        assert case.fuses or case.alone or case.never
        assert all(re.fullmatch(r"[\w-]+/[\w-]+#\d+", report) for report in case.reports) and case.reports
