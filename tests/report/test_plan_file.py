"""A plan read back is the plan that was written; what is no plan is told by its place."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ascend_fuse
from ascend_fuse.error import UsageError
from ascend_fuse.plan import Cleanup, Figures, NearMiss, Plan, Region, Tiling, Totals, rounded, to_json
from ascend_fuse.plan_file import from_json, read_plan
from ascend_fuse.reason import CODES, Miss
from ascend_fuse.report.fusion import fusion_page
from ascend_fuse.report.page import Format
from ascend_fuse.report.render import render_page
from models import BUILDERS

TEXT = st.text(max_size=6)
WORDS = st.lists(TEXT, max_size=3).map(tuple)
COUNT = st.integers(0, 2**40)
US = st.floats(0, 1e7)
SIZES = st.dictionaries(TEXT, COUNT, max_size=3)
TOTALS = st.builds(Totals, COUNT, COUNT, US, COUNT, US)
FIGURES = st.builds(Figures, TOTALS, st.builds(Totals, COUNT, COUNT, US), st.floats(0, 1), TEXT)
REGIONS = st.builds(
    Region, TEXT, TEXT, TEXT, TEXT, TEXT, st.lists(TEXT, min_size=1, max_size=3).map(tuple),
    st.lists(COUNT, max_size=3).map(tuple), WORDS, WORDS, WORDS, WORDS, TEXT, SIZES, st.builds(Tiling, *[COUNT] * 7), FIGURES,
)  # fmt: skip
FIGURE = COUNT | TEXT | st.floats(-1e6, 1e6)


@st.composite
def misses(draw: st.DrawFn) -> NearMiss:
    node = draw(COUNT)
    figures = draw(st.dictionaries(TEXT, FIGURE, max_size=3))
    miss = Miss(draw(st.sampled_from(sorted(CODES))), draw(TEXT), node, figures, draw(TEXT))
    return NearMiss(draw(TEXT), node, draw(TEXT), draw(TEXT), miss, draw(TOTALS))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    regions = tuple(draw(st.lists(REGIONS, max_size=3)))
    fused = draw(st.booleans())
    totals = (Totals(draw(COUNT)), Totals(draw(COUNT))) if fused else (draw(TOTALS), draw(TOTALS))
    return Plan(
        draw(TEXT), draw(COUNT), draw(COUNT), draw(TEXT), draw(TEXT), draw(SIZES), draw(WORDS),
        draw(st.dictionaries(TEXT, US, max_size=3)), draw(WORDS), draw(WORDS),
        tuple(draw(st.lists(st.builds(Cleanup, TEXT, TEXT, TEXT, TEXT), max_size=3))), regions,
        tuple(draw(st.lists(misses(), max_size=3))), *totals, {r.rules[0]: draw(TEXT) for r in regions}, draw(COUNT),
        fused, draw(TEXT), draw(TEXT), draw(st.booleans()), draw(st.booleans()), draw(TEXT), draw(TEXT), draw(TEXT),
    )  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(plans())
def test_what_is_written_is_read_back(plan: Plan) -> None:
    document = json.loads(json.dumps(to_json(plan), allow_nan=False))
    again = from_json(document)
    assert again == rounded(plan)
    assert to_json(again) == to_json(plan)


def test_a_json_report_is_a_plan(plan: Plan, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(render_page(fusion_page(plan, ("note",), {"ok": True}), Format.JSON), "utf-8")
    assert read_plan(report) == rounded(plan)


def changed(path: tuple[str | int, ...], value: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


def without(path: tuple[str | int, ...]) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "where", "says"),
    [
        (changed(("schema",), "ascend-fuse/plan/2"), "$", "the schema is 'ascend-fuse/plan/2'"),
        (without(("schema",)), "$", "the schema is None"),
        (changed(("region",), []), "$.region", "the key is unknown; did you mean 'regions'?"),
        (without(("soc",)), "$", "the key 'soc' is missing"),
        (changed(("soc",), 3), "$.soc", "3 stands where a string belongs"),
        (changed(("already_fused",), 0), "$.already_fused", "where true or false belongs"),
        (changed(("dims", "seq"), "long"), "$.dims.seq", '"long" stands where an integer belongs'),
        (changed(("dims", "seq"), True), "$.dims.seq", "where an integer belongs"),
        (changed(("bounds", "launch_us"), None), "$.bounds.launch_us", "null stands where a number belongs"),
        (changed(("regions",), {}), "$.regions", "where a list belongs"),
        (changed(("regions", 1), []), "$.regions[1]", "where an object belongs"),
        (changed(("regions", 1, "tilling"), {}), "$.regions[1].tilling", "did you mean 'tiling'?"),
        (changed(("regions", 0, "rules"), []), "$.regions[0].rules", "no rule names the region"),
        (changed(("regions", 0, "nodes", 1), "4"), "$.regions[0].nodes[1]", "where an integer belongs"),
        (changed(("regions", 0, "tiling", "tile_rows"), 1.5), "$.regions[0].tiling.tile_rows", "1.5 stands where"),
        (changed(("regions", 0, "verdict", "fuse"), False), "$.regions[0].verdict", "cannot override it: delete"),
        (changed(("misses", 2, "code"), "no-gains"), "$.misses[2].code", "did you mean 'no-gain'?"),
        (changed(("misses", 0, "figures", "axis"), [1]), "$.misses[0].figures.axis", "a number or a string"),
        (without(("totals", "after")), "$.totals", "the key 'after' is missing"),
        (without(("cleanups", 0, "node")), "$.cleanups[0]", "the key 'node' is missing"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_by_its_place(plan: Plan, change: Callable[[Any], None], where: str, says: str) -> None:
    document = copy.deepcopy(json.loads(json.dumps(to_json(plan))))
    from_json(document)
    change(document)
    with pytest.raises(UsageError) as caught:
        from_json(document, "plan.json")
    assert caught.value.where == f"plan.json: {where}"
    assert says in caught.value.sentence()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "null", "[" * 100_000, "\ud800"])
def test_what_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match=r"plan\.json"):
        read_plan(path)
    with pytest.raises(UsageError, match="cannot read the plan"):
        read_plan(tmp_path)


def test_regions_may_be_deleted(plan: Plan) -> None:
    document = json.loads(json.dumps(to_json(plan)))
    del document["regions"][0]
    del document["cleanups"][0]
    assert from_json(document) == replace(rounded(plan), regions=rounded(plan).regions[1:], cleanups=())


def test_sums_are_of_what_is_written(plan: Plan) -> None:
    third = Figures(Totals(1, 0, 1 / 3), Totals(1, 0, 0.0), 0.0, "")
    many = replace(plan, regions=tuple(replace(plan.regions[0], figures=third) for _ in range(3)))
    document: Any = to_json(many)
    assert math.isclose(document["by_rule"]["AF101"]["time_us_saved"], 0.999)


def test_every_rule_of_a_plan_has_its_name() -> None:
    """An idiom inside a region leads none: sums by rule do not have it."""
    document = json.loads(json.dumps(to_json(ascend_fuse.optimize(BUILDERS["bert-layer"]()).plan)))
    used = {code for r in document["regions"] for code in r["rules"]} | {c["rule"] for c in document["cleanups"]}
    assert used > set(document["by_rule"])
    assert used <= set(document["rule_names"]) and all(document["rule_names"].values())
    assert from_json(document).rule_names == document["rule_names"]
