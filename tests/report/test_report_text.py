"""Plain text: nothing is cut, nothing is interpreted; JSON: the plan."""

from __future__ import annotations

import io
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_fuse.error import UsageError
from ascend_fuse.plan import Plan, Totals, to_json
from ascend_fuse.reason import Miss
from ascend_fuse.report import quantity
from ascend_fuse.report.fusion import fusion_page
from ascend_fuse.report.miss import costliest, misses
from ascend_fuse.report.page import Format, Page, Section, Table, printable
from ascend_fuse.report.render import format_of, render_page, show
from ascend_fuse.report.text import FILE_WIDTH, render_text


def test_equal_fusions_share_a_row(plan: Plan) -> None:
    text = render_text(fusion_page(plan))
    rows = [line for line in text.splitlines() if "Add+Mul" in line]
    assert len(rows) == 1
    assert re.match(r"\s+1\s+2\s+Add\+Mul\s+AF101\s+elementwise\s+2\s+70\.0 µs\s+25 %$", rows[0])


def test_misses_are_grouped_by_reason_most_first(plan: Plan) -> None:
    lines = render_text(fusion_page(plan)).splitlines()
    own, axis = (next(k for k, line in enumerate(lines) if code in line) for code in ("own-kernel", "axis-not"))
    assert own < axis
    assert "MatMul 2" in lines[own]
    assert any("axis=1" in line for line in lines[axis:])


def test_the_time_of_a_reason_is_that_of_its_nodes(plan: Plan) -> None:
    """One node with two reasons of one code is counted once."""
    twice = replace(plan, misses=(*plan.misses, replace(plan.misses[1], miss=Miss("own-kernel", "again", 3))))
    for p in (plan, twice):
        own = next(row for row in misses(p).table.rows if row[0] == "own-kernel")
        assert own[3] == "50.5 µs"


def test_what_costs_most_of_what_is_left(plan: Plan) -> None:
    assert costliest(plan).table.rows == (
        ("/layer.1/MatMul", "MatMul", "1", "1", "30.5 µs", "own-kernel: MatMul"),
        ("/layer.0/MatMul", "MatMul", "1", "1", "20.0 µs", "own-kernel: MatMul"),
        ("/layer.0/Softmax", "Softmax", "1", "1", "11.0 µs", "axis-not-trailing: axis 1 of 3"),
    )
    many = tuple(replace(plan.misses[0], node=k, cost=Totals(1, 0, float(k))) for k in range(9))
    assert [row[4] for row in costliest(replace(plan, misses=many)).table.rows] == [
        f"{k}.0 µs" for k in range(8, 3, -1)
    ]


def test_equal_nodes_that_are_left_are_one_row_with_their_sum(plan: Plan) -> None:
    """Four at 10 µs cost more than one at 30.5."""
    same = tuple(replace(plan.misses[0], node=100 + k, cost=Totals(1, 0, 10.0)) for k in range(4))
    first, second, *_ = costliest(replace(plan, misses=(*plan.misses, *same))).table.rows
    assert first[2:5] == ("4", "4", "40.0 µs")
    assert second[2:5] == ("1", "1", "30.5 µs")


def test_a_model_that_was_fused_before_has_no_tables(plan: Plan) -> None:
    """Nothing was estimated, so no zero stands for an estimate."""
    done = replace(
        plan, already_fused=True, regions=(), misses=(), cleanups=(),
        totals_before=Totals(44), totals_after=Totals(44),
    )  # fmt: skip
    page = fusion_page(done, ("already fused",))
    assert render_text(page).splitlines()[1] == "already fused"
    assert all(s.table is None for s in page.sections)
    assert "44 launches" in render_text(page)
    assert to_json(done)["totals"] == {"before": {"launches": 44}, "after": {"launches": 44}}


def test_sizes_that_nobody_can_give_are_counted(plan: Plan) -> None:
    text = render_text(fusion_page(replace(plan, undeclared_dims=3)))
    assert "3 sizes that no input declares: assumed 64." in text
    assert "no input declares" not in render_text(fusion_page(plan))


def test_a_plan_without_fusions_says_so(plan: Plan) -> None:
    text = render_text(fusion_page(replace(plan, regions=(), totals_after=plan.totals_before)))
    assert "Nothing is fused." in text
    assert " 0 %" in text and "-0 %" not in text
    assert "Fused nodes" not in text


def test_markup_and_controls_in_names_are_shown(hostile: Plan) -> None:
    text = re.sub(r"\s+", "", render_text(fusion_page(hostile)))
    assert "\x1b" not in text
    assert "[boldred]" in text
    assert "\\x1b[2J" in text


def test_each_fused_node_is_named_with_its_first_and_last_source(plan: Plan) -> None:
    text = render_text(fusion_page(plan))
    rows = [line.split() for line in text.splitlines() if "AF101_" in line]
    assert rows == [
        ["1", f"AF101_{k}", f"/layer.{k}/Add", f"/layer.{k}/Mul", *"48.0 → 13.0 µs".split()] for k in range(2)
    ]


def test_a_fused_node_of_another_fusion_points_at_its_row(plan: Plan) -> None:
    other = replace(plan.regions[1], label="gelu", op_type="FusedElementwise_ba9876543210")
    text = render_text(fusion_page(replace(plan, regions=(plan.regions[0], other))))
    assert re.search(r"^\s+2\s+1\s+gelu\s", text, re.M)
    assert re.search(r"^\s+2\s+AF101_1\s+/layer\.1/Add\s+/layer\.1/Mul\s+48\.0 → 13\.0 µs$", text, re.M)


def test_a_long_name_is_folded_not_cut(plan: Plan) -> None:
    name = "/".join(f"block{k}" for k in range(60))
    long = replace(plan, regions=(replace(plan.regions[0], names=(name,)),))
    text = render_text(fusion_page(long))
    lines = text.splitlines()
    assert len(name) > FILE_WIDTH
    header = next(k for k, line in enumerate(lines) if "last source node" in line)
    column, end = lines[header].index("last source node"), lines[header].index("estimated time")
    folded = itertools.takewhile(bool, (line[column:end].rstrip() for line in lines[header + 1 :]))
    assert "".join(folded) == name


def test_no_name_is_broken_where_there_is_no_terminal() -> None:
    """The widest cells of sentences give way; a table is wider than the page when its words are."""
    names = ("a" * 70, "b" * 80, "nothing to fuse, verified")
    sentence = " ".join(["words"] * 40)
    page = Page("t", (Section("", (), Table(("m", "n", "result", "why"), ((*names, sentence),))),), {})
    lines = render_text(page).splitlines()
    assert all(any(name in line for line in lines) for name in ("a" * 70, "b" * 80))
    assert sum(line.count("words") for line in lines) == 40
    page = Page("t", (Section("", (), Table(("m", "why"), (("a" * 70, sentence),))),), {})
    assert max(map(len, render_text(page).splitlines())) <= FILE_WIDTH


def test_json_is_the_plan_with_notes(plan: Plan) -> None:
    document = json.loads(render_page(fusion_page(plan, ("n",), {"ok": True}), Format.JSON))
    assert {k: document[k] for k in to_json(plan)} == json.loads(json.dumps(to_json(plan)))
    assert document["notes"] == ["n"]
    assert document["verification"] == {"ok": True}


@pytest.mark.parametrize("form", list(Format))
def test_a_stream_that_is_no_terminal_gets_what_a_file_gets(plan: Plan, form: Format) -> None:
    stream = io.StringIO()
    page = fusion_page(plan)
    show(page, form, stream)
    shown = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert shown == render_page(page, form).splitlines()


def test_the_ending_names_the_format() -> None:
    assert format_of(Path("a.b.MD")) is Format.MARKDOWN
    with pytest.raises(UsageError, match=r"report\.pdf: no report format.*\.json, \.md, \.html, \.txt"):
        format_of(Path("report.pdf"))


def test_a_table_with_a_short_row_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells"):
        Table(("a", "b"), (("x",),))


@pytest.mark.parametrize(
    ("n", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (-1536, "-1.50 KiB"), (5 << 40, "5,120.00 GiB")],
)
def test_sizes(n: int, shown: str) -> None:
    assert quantity.size(n) == shown


def test_printable_keeps_scripts_and_escapes_controls() -> None:
    assert printable("層/Add") == "層/Add"
    assert printable("a\nb\x1b\u202e") == "a\\nb\\x1b\\u202e"
