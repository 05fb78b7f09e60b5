"""A small plan, as planning a two-layer model would give it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, start
from report_sample import HOSTILE

import ascend_fuse
from ascend_fuse.plan import Cleanup, Figures, NearMiss, Plan, Region, Tiling, Totals
from ascend_fuse.reason import Miss
from ascend_fuse.report.html import LIBRARIES, _library
from models import BUILDERS

TILING = Tiling(block_dim=40, buffer_num=2, tile_rows=8, tile_cols=768, ub_bytes=98304, ub_budget=188160, l1_budget=0)
FIGURES = Figures(Totals(4, 4096, 48.0), Totals(1, 2048, 13.0), assumed_share=0.25, bound="MTE2")
PROGRAM = "elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = add x0, 1\nv1: f32[d0] = mul v0, v0\nout v1"


def region(layer: int, name: str = "") -> Region:
    name = name or f"/layer.{layer}/Add"
    return Region(
        graph="", name=f"AF101_{layer}", op_type="FusedElementwise_0123456789ab", family="elementwise", label="Add+Mul",
        rules=("AF101",), nodes=(4 * layer, 4 * layer + 1), names=(name, f"/layer.{layer}/Mul"),
        ops=("Add", "Mul"), inputs=("x",), outputs=("y",), program=PROGRAM, sizes={"d0": 768}, tiling=TILING, figures=FIGURES,
    )  # fmt: skip


@pytest.fixture
def plan() -> Plan:
    """Two equal fusions, three nodes left for two reasons, one cleanup, one size assumed."""
    misses = (
        NearMiss(
            "",
            2,
            "/layer.0/Softmax",
            "Softmax",
            Miss("axis-not-trailing", "axis 1 of 3", 2, {"axis": 1}),
            Totals(1, 512, 11.0),
        ),
        NearMiss("", 3, "/layer.0/MatMul", "MatMul", Miss("own-kernel", "MatMul", 3), Totals(1, 1024, 20.0)),
        NearMiss("", 7, "/layer.1/MatMul", "MatMul", Miss("own-kernel", "MatMul", 7), Totals(1, 2048, 30.5)),
    )
    return Plan(
        tool="0.1.0", nodes=8, opset=17, digest="ab" * 32, soc="Ascend910B3", dims={"batch": 1, "seq": 128},
        assumed_dims=("seq",), bounds={"launch_us": 10.0, "min_gain": 0.03}, select=(), ignore=(),
        cleanups=(Cleanup("", "AF001", "/dropout", "inference Dropout removed"),),
        regions=(region(0), region(1)), misses=misses, totals_before=Totals(10, 10240, 200.0),
        totals_after=Totals(4, 6144, 130.0), rule_names={"AF101": "elementwise chain"},
    )  # fmt: skip


@pytest.fixture
def hostile(plan: Plan) -> Plan:
    """The same plan with names and labels that try to steer terminal, rich and Markdown."""
    regions = tuple(replace(region(k, HOSTILE), label=HOSTILE, name=HOSTILE) for k in range(2))
    misses = tuple(replace(m, name=HOSTILE, miss=replace(m.miss, message=HOSTILE)) for m in plan.misses)
    return replace(plan, regions=regions, misses=misses)


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    if not all(map(_library, LIBRARIES)):
        pytest.skip("this installation was built without a network: it has no web libraries")
    found = start()
    yield found
    found.quit()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """Two BERT layers."""
    path = tmp_path_factory.mktemp("html") / "layers.html"
    return path, ascend_fuse.optimize(BUILDERS["bert-layer"](layers=2), reports=path).plan


@pytest.fixture(scope="module")
def report(made: tuple[Path, Plan]) -> Path:
    return made[0]


@pytest.fixture
def tab(driver: Any, report: Path) -> Tab:
    return Tab(driver, report)
