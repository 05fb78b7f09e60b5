// Brings the page to life: the drawings at their places, rows that show their nodes, tables that sort, the theme.

const drawing = readDrawing(document.getElementById("drawing").textContent);
const places = Object.fromEntries([...document.querySelectorAll(".drawn")].map((e) => [e.dataset.drawn, e]));
const graphView = places.graph ? new GraphView(places.graph, drawing) : null;

const TITLES = { rule: "Rule", row: "Row of Fusions:", block: "Block", reason: "Not fused:", cleanup: "Cleanup", alike: "Like" };
const MEANING = { rule: drawing.rules };

/** Marks what a row is about and goes to the graph. */
function show(kind, path, name) {
  const nodes = graphView ? shownBy(drawing, kind, path, name) : [];
  if (nodes.length && kind === "node") mark(() => graphView.pick(nodes[0]));
  else showAll([TITLES[kind], name, MEANING[kind]?.[name]].filter(Boolean).join(" "), nodes);
}

function showAll(title, nodes) {
  if (nodes.length) mark(() => graphView.pickAll(title, nodes));
}

function mark(pick) {
  places.graph.closest("section").scrollIntoView({ block: "start" });
  pick();
}

/** Marks what all rows of a table are about. */
function showTotal(table, rows) {
  const found = rows.flatMap(({ dataset }) => shownBy(drawing, dataset.shows, dataset.graph, dataset.name));
  showAll(`${table.closest("section").querySelector("h2").textContent}: total`, [...new Set(found)]);
}

/** A click on the row, or on its button for those without a mouse, does that. */
function answer(row, act) {
  const cell = row.insertCell();
  cell.className = "show";
  const button = element("button", "link", "show");
  Object.assign(button, { type: "button", title: "Show in the graph" });
  cell.append(button);
  row.addEventListener("click", () => {
    if (getSelection().isCollapsed) act(); // who marks a name wants to copy it
  });
}

if (places.roofline) drawRoofline(places.roofline, drawing.roofline, drawing, (p) => show("row", "", String(p.row)));

for (const table of document.querySelectorAll("table:has(tr[data-shows])")) {
  table.tHead.rows[0].append(element("th", "bar"));
}
for (const row of document.querySelectorAll("tr[data-shows]")) {
  const { shows, graph, name } = row.dataset;
  answer(row, () => show(shows, graph, name));
}
for (const row of document.querySelectorAll("tfoot tr")) {
  const table = row.closest("table");
  const rows = [...table.querySelectorAll("tr[data-shows]")];
  if (graphView && rows.length) answer(row, () => showTotal(table, rows));
}

/** What a cell sorts by: its first number with its unit (of a change, what is after), else its text. */
function sortKey(text) {
  const scale = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const found = /^([+-]?[\d,.]+)\s*([KMG]iB|[kMGT](?=\w))?/.exec(text.split("→ ").at(-1));
  return found ? Number(found[1].replaceAll(",", "")) * (scale[found[2]] ?? 1) : text;
}

function sortBy(table, column, falling) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [sortKey(row.cells[column].textContent), row]);
  rows.sort(([a], [b]) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // cells without a number are last both ways
    return (a < b ? -1 : a > b ? 1 : 0) * (falling ? -1 : 1);
  });
  body.append(...rows.map(([, row]) => row));
}

for (const head of document.querySelectorAll("th:not(.bar)")) {
  const table = head.closest("table");
  if (table.tBodies[0].rows.length < 2 || head.closest(".headline")) continue;
  const button = element("button", "sort", head.textContent);
  button.type = "button";
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const falling =
      head.getAttribute("aria-sort") === null
        ? head.classList.contains("number")
        : head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    sortBy(table, head.cellIndex, falling);
  });
}

const system = matchMedia("(prefers-color-scheme: dark)");
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  graphView?.recolour();
});
system.addEventListener("change", () => graphView?.recolour());
