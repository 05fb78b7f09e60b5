"""Reports mark what was measured: per region, per node that stays, and of the whole."""

from __future__ import annotations

from dataclasses import replace

from ascend_fuse.plan import Plan, Totals
from ascend_fuse.report.explanation import Filter, explanation_page
from ascend_fuse.report.fusion import ESTIMATE, fusion_page
from ascend_fuse.report.page import Format
from ascend_fuse.report.render import render_page


def measured(plan: Plan) -> Plan:
    """The first region's launches are measured, three of four, the second's are not."""
    first, second = plan.regions
    before = Totals(4, 4096, 48.0, 3, 36.0)
    misses = tuple(replace(m, cost=replace(m.cost, measured=1, measured_us=m.cost.time_us)) for m in plan.misses[:1])
    return replace(
        plan, regions=(replace(first, figures=replace(first.figures, before=before), label="measured one"), second),
        misses=(*misses, *plan.misses[1:]), totals_before=Totals(10, 10240, 200.0, 4, 50.0),
        totals_after=Totals(4, 6144, 130.0, 1, 13.0), profile_digest="ab", profile_source="msprof",
    )  # fmt: skip


def test_what_is_measured_is_marked(plan: Plan) -> None:
    for form in (Format.TEXT, Format.MARKDOWN):
        text = render_page(fusion_page(measured(plan)), form).replace("\\", "")
        words = " ".join(text.split())
        assert "Measured by msprof: 4 of 10 launches and 25 % of the time before, 1 of 4 launches and 10 % of" in words
        assert "not measurements" not in words
        assert "3 of 4, 75 %" in words
        assert "0 of 4, 0 %" in words
        assert "11.0 µs measured" in words
    page = explanation_page("m.onnx", measured(plan), (), Filter())
    assert "48.0 µs partly measured" in render_page(page, Format.TEXT)


def test_a_cpus_times_are_not_passed_off_as_the_chips(plan: Plan) -> None:
    told = replace(measured(plan), profile_source="ONNX Runtime, CPUExecutionProvider")
    text = " ".join(render_page(fusion_page(told), Format.TEXT).split())
    assert "Measured by ONNX Runtime, CPUExecutionProvider (not this chip): 4 of 10 launches" in text
    assert "time, partly measured 200.0 µs 130.0 µs" in text
    assert "(not this chip)" not in render_page(fusion_page(measured(plan)), Format.TEXT)


def test_nothing_is_said_of_measurements_where_there_are_none(plan: Plan) -> None:
    text = render_page(fusion_page(plan), Format.TEXT)
    assert " ".join(ESTIMATE.split()) in " ".join(text.split())
    assert text.count("measured") == 0


def test_json_has_counts_and_times(plan: Plan) -> None:
    document = fusion_page(measured(plan)).document
    assert document["profile"] == {"digest": "ab", "source": "msprof"}
    totals, regions, misses = document["totals"], document["regions"], document["misses"]
    assert isinstance(totals, dict) and isinstance(regions, list) and isinstance(misses, list)
    assert (totals["before"]["measured"], totals["before"]["measured_us"]) == (4, 50.0)
    assert [(r["verdict"]["measured"], r["verdict"]["measured_us"]) for r in regions] == [(3, 36.0), (0, 0.0)]
    assert [(m["measured"], m["measured_us"]) for m in misses] == [(1, 11.0), (0, 0.0), (0, 0.0)]
