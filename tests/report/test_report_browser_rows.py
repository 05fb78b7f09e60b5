"""The HTML report in Chromium: rows of tables mark what they are about, and everything that is written can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import Tab, marked

from ascend_fuse.plan import Plan
from ascend_fuse.report.fusion import groups


@pytest.fixture(scope="module")
def plan(made: tuple[Path, Plan]) -> Plan:
    return made[1]


def rows(tab: Tab, title: str) -> list[Any]:
    """The rows of a section's own table that show something."""
    return tab.run(
        "const s = [...document.querySelectorAll('section')].find((s) => s.querySelector('h2')?.textContent === arguments[0]);"
        "return [...s.querySelector('table').querySelectorAll('tr[data-shows]')]",
        title,
    )


def test_a_click_on_a_row_marks_all_that_it_is_about(tab: Tab, plan: Plan) -> None:
    for row, (code, saved) in zip(rows(tab, "Rules"), plan.by_rule().items(), strict=False):
        row.find_elements("css selector", "td")[1].click()
        regions = [r for r in plan.regions if code in r.rules]
        before, after = marked(tab)
        assert sorted(before) == sorted(n for r in regions for n in r.names) and saved.launches
        assert sorted(after) == sorted(r.name for r in regions)
        assert tab.one(".panel h3").text == f"Rule {code} {plan.rule_names[code]}"
    for row, group in zip(rows(tab, "Fusions"), groups(plan.regions), strict=True):
        row.find_elements("css selector", "td")[2].click()
        assert sorted(marked(tab)[1]) == sorted(r.name for r in group)
    for row in rows(tab, "Not fused"):
        row.find_elements("css selector", "td")[1].click()
        code = row.get_attribute("data-name")
        assert set(marked(tab)[0]) == {m.name for m in plan.misses if m.miss.code == code}
    for row in rows(tab, "Most expensive of what is left"):
        row.find_elements("css selector", "td")[1].click()
        assert len(marked(tab)[0]) == int(row.find_elements("css selector", "td")[2].text)


@pytest.mark.parametrize("title", ["Rules", "Not fused", "Blocks"])
def test_a_total_marks_what_all_rows_of_its_table_do(tab: Tab, title: str) -> None:
    seen: tuple[set[str], set[str]] = set(), set()
    for row in rows(tab, title):
        row.find_elements("css selector", "td")[1].click()
        for found, labels in zip(seen, marked(tab), strict=True):
            found.update(labels)
    total = rows(tab, title)[0].find_element("xpath", "ancestor::table/tfoot/tr")
    total.find_elements("css selector", "td")[1].click()
    assert tuple(map(set, marked(tab))) == seen and seen[0]
    assert tab.one(".panel h3").text == f"{title}: total"


def test_rows_answer_to_the_keyboard(tab: Tab) -> None:
    from selenium.webdriver.common.keys import Keys

    (*_, row) = (r for r in rows(tab, "Blocks") if r.get_attribute("data-name").endswith("layer.1"))
    row.find_element("css selector", "button").send_keys(Keys.ENTER)
    before, after = marked(tab)
    assert all("/layer.1/" in label for label in before) and len(before) > len(after) > 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_of_nodes_can_be_read_dimmed_or_not(tab: Tab, theme: str) -> None:
    tab.run("document.documentElement.dataset.theme = arguments[0]; graphView.recolour()", theme)
    found = tab.run("""
const { colours } = graphView.panes[0].state;
const nodes = drawing.scopes.flatMap((s) => s.graphs.flatMap((g) => g.nodes));
return COLOURS.map((colour) => ({ kind: "node", misses: [], region: { colour } })).concat(nodes).flatMap((n) =>
  [false, true].map((dimmed) => nodeColours(n, colours, dimmed, 1)).map(({ fill, text }) => contrast(fill, text)));
""")
    assert min(found) >= 4.5 and max(found) <= 21


def test_titles_keep_the_end_that_tells_layers_apart(tab: Tab) -> None:
    fitted = (
        "const c = document.createElement('canvas').getContext('2d'); c.font = '10px sans-serif';"
        "return fittedEnd(c, 'encoder/layer.12', c.measureText(arguments[0]).width + 1)"
    )
    assert tab.run(fitted, "encoder/layer.12") == "encoder/layer.12"
    assert tab.run(fitted, "…layer.12") == "…layer.12"


def test_labels_of_the_roofline_stand_apart_and_off_the_roofs(tab: Tab) -> None:
    texts = tab.run("""
return [...document.querySelectorAll('section.roofline svg > g:last-of-type text')].map((t) => {
  const { x, y, width, height } = t.getBBox();
  return [x, y, width, height];
});
""")
    lines = tab.run(
        "return [...document.querySelectorAll('.roofs line')].map((l) => ['x1', 'y1', 'x2', 'y2'].map((a) => Number(l.getAttribute(a))))"
    )
    assert texts
    for k, (x, y, width, height) in enumerate(texts):
        for ox, oy, owidth, oheight in texts[k + 1 :]:
            assert x + width <= ox or ox + owidth <= x or y + height <= oy + 4 or oy + oheight <= y + 4
        for x1, y1, x2, y2 in lines:
            if y1 == y2 and x1 <= x + width and x <= x2:
                assert not y + 3 < y1 < y + height - 3
