// What is to be said of the node that was picked. Names are set as text, never as markup.

const LISTED = 60; // nodes in the panel

function element(tag, kind = "", text = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
}

const microseconds = (us) => `${us.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} µs`;

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let k = 0;
  for (; n >= 1024 && k < 3; k++) n /= 1024;
  return `${k ? n.toFixed(2) : n} ${units[k]}`;
}

const percent = (part) => `${Math.round(100 * part)} %`;

function terms(pairs) {
  const list = element("dl");
  for (const [name, value] of pairs) list.append(element("dt", "", name), element("dd", "", value));
  return list;
}

/** Fills the panel; `pick` goes to another node, `drawing` has rules and reasons. */
function fillPanel(panel, node, drawing, pick) {
  panel.replaceChildren();
  if (!node) return panel.append(element("p", "hint", "Click a node, a row of a table or a result of the search."));
  panel.append(element("h3", "", node.kind === "node" ? node.title : `${node.kind} ${node.title}`));
  if (node.kind === "node") panel.append(element("p", "name", node.label));
  if (node.scope.path) panel.append(element("p", "", `In ${node.scope.path}.`));
  if (node.region) tellRegion(panel, node, drawing, pick);
  else tellRest(panel, node, drawing);
  tellValues(panel, node, pick);
}

/** What a row of a table marked. */
function tellMany(panel, title, nodes, pick) {
  const fused = nodes.filter((n) => n.region?.fused === n);
  const own = nodes.filter((n) => n.side === BEFORE);
  panel.replaceChildren(element("h3", "", title));
  for (const [what, found] of [
    ["fused nodes after", fused],
    ["nodes before", own],
  ]) {
    if (!found.length) continue;
    panel.append(element("h4", "", `${found.length} ${found.length === 1 ? what.replace("nodes", "node") : what}`));
    panel.append(nodeList(found.slice(0, LISTED), pick));
    if (found.length > LISTED) panel.append(element("p", "hint", `and ${found.length - LISTED} more, marked too`));
  }
}

function tellRegion(panel, node, drawing, pick) {
  const r = node.region;
  const [before, after] = [r.before, r.after];
  const named = r.rules.map((code) => `${code} ${drawing.rules[code] ?? ""}`.trim()).join(", ");
  const tag = element("p", "tag", node.side === AFTER ? `Fused by ${named}` : `Goes into a fusion by ${named}`);
  tag.style.borderColor = r.colour;
  panel.append(
    tag,
    terms([
      ["fused node", r.name],
      ["family", r.family],
      ["row of Fusions", String(r.row)],
      ["estimated time", `${microseconds(before[2])} → ${microseconds(after[2])}`],
      ["gain", `${microseconds(before[2] - after[2])}, ${percent((before[2] - after[2]) / before[2])}`],
      ["launches", `${before[0]} → ${after[0]}`],
      ["HBM traffic", `${bytes(before[1])} → ${bytes(after[1])}`],
      ["bound by", r.bound],
      ["assumed figures", `${percent(r.assumed)} of the estimate`],
    ]),
  );
  const [lines, tiling] = drawing.programs[r.program];
  panel.append(element("p", "", tiling));
  panel.append(folded("Program", element("pre", "", lines.join("\n"))));
  panel.append(folded(`${r.members.length} source nodes`, nodeList(r.members, pick)));
}

function tellRest(panel, node, drawing) {
  if (node.cleanup) panel.append(element("p", "tag", `Cleanup ${node.cleanup.rule}: ${node.cleanup.what}`));
  for (const m of node.misses) {
    const [meaning, advice] = drawing.reasons[m.code];
    panel.append(element("p", "tag", `Not fused, ${m.code}${m.rule ? ` (${m.rule})` : ""}`));
    panel.append(element("p", "", `${m.message}.`), prose(`${meaning}. ${advice}`));
    const figures = Object.entries(m.figures).map(([k, v]) => [k, String(v)]);
    panel.append(
      terms([
        ["estimated time", microseconds(m.cost[2])],
        ["launches", String(m.cost[0])],
        ["HBM traffic", bytes(m.cost[1])],
        ...figures,
      ]),
    );
  }
  if (node.kind !== "node") return;
  if (!node.misses.length && !node.cleanup) {
    panel.append(
      element(
        "p",
        "",
        "Starts no kernel by itself: a view, a constant, a shape, or a part of an idiom that its last node tells of.",
      ),
    );
  }
  if (!node.same && !node.cleanup && node.side === BEFORE) panel.append(element("p", "", "Not in the graph after."));
}

/** A sentence of ours, its commands and options set as code. */
function prose(text) {
  const made = element("p");
  text.split(/`(ascend-fuse [^`]+|--[^`]+)`/).forEach((part, k) => made.append(k % 2 ? element("code", "", part) : part));
  return made;
}

function folded(title, content) {
  const made = element("details");
  made.append(element("summary", "", title), content);
  return made;
}

function nodeList(nodes, pick) {
  const list = element("ul");
  for (const n of nodes) {
    const item = element("li");
    const button = element("button", "link", n.title === n.label ? n.label : `${n.title} ${n.label}`);
    button.type = "button";
    button.addEventListener("click", () => pick(n));
    item.append(button);
    list.append(item);
  }
  return list;
}

/** Inputs with who makes them, outputs with who reads them. */
function tellValues(panel, node, pick) {
  const { scope } = node;
  const graph = scope.graphs[node.side];
  for (const [title, values, near] of [
    ["Reads", node.inputs, (v) => (graph.maker.has(v) ? [graph.maker.get(v)] : [])],
    ["Writes", node.outputs, (v) => graph.readers.get(v) ?? []],
  ]) {
    if (!values.length) continue;
    panel.append(element("h4", "", title));
    for (const v of values) {
      const line = element("p", "value");
      line.append(element("span", "name", scope.values[v]), element("span", "type", scope.types[v] ?? ""));
      panel.append(line);
      const others = near(v).filter((n) => !n.hidden);
      if (others.length) panel.append(nodeList(others.slice(0, 12), pick));
    }
  }
}
