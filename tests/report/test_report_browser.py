"""The HTML report in Chromium: it opens in silence, links both graphs and the tables, finds, and keeps names as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import Tab, marked
from onnx.parser import parse_model
from report_sample import HOSTILE

import ascend_fuse
from models import BUILDERS

MARKUP = "</script><img src=x onerror=window.hit=1><b>&amp;"
BRANCHES = """
<ir_version: 10, opset_import: ["" : 17]>
branches (float[256, 64] x, bool c) => (float[256, 64] y) {
  a = Add (x, x)
  b = Mul (a, x)
  y = If (c) <
    then_branch = then_graph () => (float[256, 64] t) { t1 = Exp (b)  t2 = Mul (t1, b)  t = Tanh (t2) },
    else_branch = else_graph () => (float[256, 64] e) { e1 = Abs (b)  e2 = Add (e1, b)  e = Sigmoid (e2) }
  >
}
"""


def at(tab: Tab, node: str) -> tuple[Any, int, int]:
    """The canvas that a node is drawn on, and where from its middle."""
    tab.run("graphView.panes.forEach((p) => p.selection.interrupt())")
    return tuple(
        tab.run(
            f"const n = {node}, c = graphView.panes[n.side].canvas, [x, y] = graphView.panes[n.side].transform.apply([n.x, n.y]);"
            "return [c, Math.round(x - c.clientWidth / 2), Math.round(y - c.clientHeight / 2)]"
        )
    )


def click(tab: Tab, node: str) -> None:
    from selenium.webdriver import ActionChains

    canvas, x, y = at(tab, node)
    ActionChains(tab.driver).move_to_element_with_offset(canvas, x, y).click().perform()


def test_it_opens_in_silence(tab: Tab) -> None:
    assert tab.said() == []
    assert tab.fetched() == []
    assert tab.one("h1").text.startswith("ascend-fuse: fusion report")
    assert len(tab.all("section.roofline circle")) > 0


def test_it_is_drawn(tab: Tab) -> None:
    """Both canvases show the colours of the rules that fused."""
    for side in (0, 1):
        found = tab.run(
            "const c = graphView.panes[arguments[0]].canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(`rgb(${d[i]}, ${d[i + 1]}, ${d[i + 2]})`);"
            "return [...drawing.colours.values()].map((colour) => seen.has(d3.rgb(colour).formatRgb()))",
            side,
        )
        assert found and all(found)


def test_no_two_nodes_overlap(tab: Tab) -> None:
    overlaps = """
      const found = [];
      for (const { graph } of graphView.panes) {
        const nodes = graph.shown;
        nodes.forEach((a, i) => nodes.slice(i + 1).forEach((b) => {
          if (Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < 26) found.push([a.label, b.label]);
        }));
      }
      return found;"""
    assert tab.run(overlaps) == []


def test_a_click_marks_the_fusion_on_both_sides_and_tells_of_it(tab: Tab) -> None:
    tab.run("document.querySelector('section.graph').scrollIntoView()")
    click(tab, "drawing.regions[0].fused")
    tab.until("graphView.picked === drawing.regions[0].fused")
    names = tab.run("const r = drawing.regions[0]; return [r.name, r.members.map((n) => n.label)]")
    assert marked(tab) == [names[1], [names[0]]]
    panel = tab.one(".panel").text
    assert names[0] in panel and "estimated time" in panel and "Tiling:" in panel
    tab.run("graphView.panes.forEach((p) => p.fit(false))")
    click(tab, "drawing.regions[1].members[0]")
    tab.until("graphView.picked === drawing.regions[1].members[0]")
    assert marked(tab)[1] == [tab.run("return drawing.regions[1].name")]


def test_a_node_that_stays_says_why(tab: Tab) -> None:
    tab.run("graphView.pick(drawing.scopes[0].graphs[0].nodes[drawing.misses[0].node])")
    tab.until("graphView.picked")
    code, message, cost = tab.run("const m = drawing.misses[0]; return [m.code, m.message, m.cost[2]]")
    panel = tab.one(".panel").text
    assert f"Not fused, {code}" in panel and message in panel and f"{cost:,.1f} µs" in panel
    before, after = marked(tab)
    assert before == after and len(after) == 1


def test_the_search_finds_nodes_operators_tensors_and_reasons(tab: Tab) -> None:
    for words, wanted in (
        ("layer.1/attention softmax", "layer.1/attention"),
        ("LayerNormalization", "LayerNorm"),
        (tab.run("return drawing.scopes[0].values[drawing.scopes[0].graphs[0].nodes[3].outputs[0]]"), None),
        (tab.run("return drawing.misses[0].code"), None),
    ):
        box = tab.one("#search")
        box.clear()
        box.send_keys(words)
        found = tab.all(".results button")
        assert found and (wanted is None or wanted in found[0].text), words
    from selenium.webdriver.common.keys import Keys

    tab.one("#search").send_keys(Keys.ENTER)
    tab.until("graphView.picked")
    tab.one("#search").clear()
    tab.one("#search").send_keys("no such node at all")
    assert tab.all(".results button") == []
    assert "0 found" in tab.one(".results").text


def test_rows_show_their_nodes_and_tables_sort(tab: Tab) -> None:
    row = tab.run("return document.querySelector('tr[data-shows=node]')")
    name = row.get_attribute("data-name")
    tab.run("arguments[0].querySelector('button').click()", row)
    tab.until("graphView.picked")
    assert tab.run("return graphView.picked.label") == name
    table = tab.run(
        "return [...document.querySelectorAll('section')].find((s) => s.querySelector('h2')?.textContent === 'Rules').querySelector('table')"
    )
    head = table.find_element("css selector", "th:nth-child(6) button")
    times = "return [...arguments[0].querySelectorAll('tbody td:nth-child(6)')].map((c) => c.textContent)"

    def shown() -> list[float]:
        """The times, those of rows without one left out: such rows are last."""
        found = tab.run(times, table)
        with_time = [text for text in found if text]
        assert found[: len(with_time)] == with_time
        return [float(text.replace(",", "").split()[0]) for text in with_time]

    wanted = sorted(shown())
    for falling in (True, False):
        tab.run("arguments[0].click()", head)
        again = shown()
        assert again == (wanted[::-1] if falling else wanted)


def test_dark_and_light(tab: Tab) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = tab.run(colour)
    tab.one("#theme").click()
    assert (light, tab.run(colour)) == ("rgb(255, 255, 255)", "rgb(20, 23, 27)")
    assert tab.run("return graphView.panes[0].state.colours.paper") == "rgb(20, 23, 27)"
    tab.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    tab.driver.refresh()
    assert tab.run(colour) == "rgb(20, 23, 27)"
    tab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_pans_and_zooms_by_mouse_and_keys(tab: Tab) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    tab.run("document.querySelector('section.graph').scrollIntoView()")
    canvas = tab.all("canvas")[0]
    place = "const { x, y, k } = graphView.panes[0].transform; return [x, y, k]"
    x, y, k = tab.run(place)
    ActionChains(tab.driver).move_to_element(canvas).click_and_hold().move_by_offset(40, 25).release().perform()
    assert tab.run(place) == pytest.approx([x + 40, y + 25, k])
    canvas.send_keys("+")
    assert tab.run(place)[2] == pytest.approx(k * 1.3)
    canvas.send_keys(Keys.ARROW_RIGHT)
    canvas.send_keys("0")
    tab.until(f"Math.abs(graphView.panes[0].transform.k - {k}) < 1e-6")


def test_graphs_in_graphs_are_chosen(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "branches.html"
    result = ascend_fuse.optimize(parse_model(BRANCHES), reports=path)
    scopes = sorted({r.graph for r in result.plan.regions} - {""})
    assert len(scopes) == 2
    tab = Tab(driver, path)
    assert [o.text.rsplit(" ", 1)[0] for o in tab.all("select option")] == ["main graph", *scopes]
    tab.run(
        "show('node', arguments[0], arguments[1])",
        scopes[0],
        next(r.name for r in result.plan.regions if r.graph == scopes[0]),
    )
    tab.until("graphView.picked && graphView.panes.every((p) => p.graph)")
    assert tab.run("return graphView.scope.path") == scopes[0]
    assert [len(side) for side in marked(tab)] == [3, 1]
    assert tab.said() == []


def test_names_are_text(driver: Any, tmp_path: Path) -> None:
    model = BUILDERS["bert-layer"]()
    for k, node in enumerate(model.graph.node):
        node.name = f"{MARKUP if k % 2 else HOSTILE}{k}"
    path = tmp_path / "hostile.html"
    ascend_fuse.optimize(model, reports=path)
    tab = Tab(driver, path)
    tab.one("#search").send_keys("onerror")
    tab.run("graphView.pick(drawing.regions[0].fused); graphView.hover(drawing.regions[0].members[0])")
    tab.until("graphView.picked")
    assert tab.run("return window.hit ?? null") is None
    rows = "[...document.querySelectorAll('tr[data-shows]')].map((r) => r.dataset)"
    assert tab.run(f"return {rows}.every((d) => shownBy(drawing, d.shows, d.graph, d.name).length)")
    assert tab.all("img, main b, main a") == []
    assert tab.said() == [] and tab.fetched() == []


def test_thousands_of_nodes_are_laid_out_beside_the_page(driver: Any, tmp_path: Path) -> None:
    """What takes long runs in workers: the page answers meanwhile, and draws a frame of 5,000 nodes in one go."""
    path = tmp_path / "large.html"
    ascend_fuse.optimize(BUILDERS["bert-layer"](layers=155, hidden=64, heads=2, inner=128), reports=path)
    tab = Tab(driver, path)
    assert tab.run("return graphView.panes[0].graph.shown.length") > 5000
    drawn = tab.run(
        "const p = graphView.panes[0], start = performance.now();"
        "for (let i = 0; i < 5; i++) drawGraph(p.canvas, p.graph, p.transform, p.state);"
        "return (performance.now() - start) / 5"
    )
    assert drawn < 500  # ms: a frame takes ten on an idle machine; this one catches what is not linear
    assert tab.said() == []
