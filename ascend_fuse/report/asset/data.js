"use strict";
// The drawing that the page carries (docs/design/0011), with each node and fusion as an object that knows its relations.

const BEFORE = 0;
const AFTER = 1;
// Okabe and Ito, then Tol: apart for every eye. A rule keeps its colour in graph and roofline.
const COLOURS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#332288",
  "#999933",
  "#882255",
  "#661100",
];

function readDrawing(text) {
  const drawing = JSON.parse(text);
  const codes = [...new Set(drawing.regions.map((r) => r.rules[0]))].sort();
  drawing.colours = new Map(codes.map((code, k) => [code, COLOURS[k % COLOURS.length]]));
  for (const scope of drawing.scopes) scope.graphs = scope.graphs.map((g, k) => readGraph(scope, g, k));
  const byPath = new Map(drawing.scopes.map((scope) => [scope.path, scope]));
  for (const region of drawing.regions) linkRegion(byPath.get(region.scope), region, drawing);
  for (const miss of drawing.misses) {
    const node = byPath.get(miss.scope)?.graphs[BEFORE].nodes[miss.node];
    node?.misses.push(miss);
  }
  for (const [path, label, rule, what] of drawing.cleanups) {
    const node = byPath.get(path)?.graphs[BEFORE].byLabel.get(label);
    if (node) node.cleanup = { rule, what };
  }
  for (const scope of drawing.scopes) linkSides(scope);
  return drawing;
}

function readGraph(scope, raw, side) {
  const nodes = raw.nodes.map(([label, op, block, inputs, outputs], id) => ({
    id,
    side,
    scope,
    label,
    op,
    title: op,
    block,
    inputs,
    outputs,
    kind: "node",
    misses: [],
    // weights and constants are listed with the nodes that read them
    hidden: op === "Constant",
  }));
  const maker = new Map();
  for (const node of nodes) for (const value of node.outputs) maker.set(value, node);
  const first = nodes.length ? nodes[0].block : 0;
  for (const value of raw.inputs) {
    const node = border(scope, side, nodes, "input", value, [], [value]);
    node.block = first;
    maker.set(value, node);
  }
  for (const value of raw.outputs) {
    const node = border(scope, side, nodes, "output", value, [value], []);
    node.block = maker.get(value)?.block ?? first;
  }
  const readers = new Map();
  const edges = [];
  for (const node of nodes) {
    for (const value of node.inputs) {
      const from = maker.get(value);
      if (!from || from === node) continue;
      (readers.get(value) ?? readers.set(value, []).get(value)).push(node);
      if (!from.hidden && !node.hidden) edges.push({ from, to: node, value });
    }
  }
  const byLabel = new Map();
  for (const n of nodes) if (n.kind !== "input" && !byLabel.has(n.label)) byLabel.set(n.label, n);
  return { scope, side, nodes, edges, maker, readers, byLabel };
}

/** An input or output of the graph, as a node of its own. */
function border(scope, side, nodes, kind, value, inputs, outputs) {
  const name = scope.values[value];
  const node = {
    id: nodes.length,
    side,
    scope,
    label: name,
    op: kind,
    title: name,
    block: 0,
    inputs,
    outputs,
    kind,
    misses: [],
    hidden: false,
  };
  nodes.push(node);
  return node;
}

function linkRegion(scope, region, drawing) {
  region.colour = drawing.colours.get(region.rules[0]);
  region.members = [];
  if (!scope) return;
  region.members = region.nodes.map((k) => scope.graphs[BEFORE].nodes[k]).filter(Boolean);
  for (const node of region.members) node.region = region;
  region.fused = scope.graphs[AFTER]?.byLabel.get(region.name);
  if (region.fused) {
    region.fused.region = region;
    region.fused.title = region.label;
  }
}

/** What stays is the same node on both sides: the one that makes the same value, or has the same name. */
function linkSides(scope) {
  const [before, after] = scope.graphs;
  if (!after) return;
  for (const node of after.nodes) {
    if (node.region) continue;
    // a cleanup may have given its value another name
    const candidates = [before.maker.get(node.outputs[0]), before.byLabel.get(node.label)];
    const same = candidates.find((n) => n && n.kind === node.kind && n.op === node.op && !n.region);
    if (!same) continue;
    node.same = same;
    same.same = node;
    node.misses = same.misses;
  }
}

/** The nodes of both sides that belong together with this one. */
function together(node) {
  if (node.region) return [...node.region.members, ...(node.region.fused ? [node.region.fused] : [])];
  return node.same ? [node, node.same] : [node];
}

/** All nodes of both sides that a row of a table is about; its `kind` as report/page.py has them. */
function shownBy(drawing, kind, path, name) {
  const scope = drawing.scopes.find((s) => s.path === path);
  const nodes = drawing.scopes.flatMap((s) => s.graphs.flatMap((g) => g.nodes)).filter((n) => !n.hidden);
  const ofRegions = (wanted) => nodes.filter((n) => n.region && wanted(n.region));
  switch (kind) {
    case "rule":
      return ofRegions((r) => r.rules.includes(name));
    case "row":
      return ofRegions((r) => r.row === Number(name));
    case "block":
      return nodes.filter((n) => n.scope === scope && n.kind === "node" && scope.blocks[n.block] === name);
    case "reason":
      return nodes.filter((n) => n.misses.some((m) => m.code === name));
    case "cleanup":
      return nodes.filter((n) => n.cleanup?.rule === name);
    case "alike": {
      const key = (n) => n.misses.length && `${n.op} ${n.misses[0].code} ${n.misses[0].cost[0]} ${n.misses[0].cost[2]}`;
      const wanted = scope && findNode(scope, name);
      return wanted ? nodes.filter((n) => n === wanted || (key(n) && key(n) === key(wanted))) : [];
    }
  }
  return [scope && findNode(scope, name)].filter(Boolean);
}

/** The node that a table names: a fused one after, else one before. */
function findNode(scope, label) {
  return scope.graphs[AFTER]?.byLabel.get(label) ?? scope.graphs[BEFORE].byLabel.get(label);
}

/** Nodes whose name, operator or one of whose values has the words in it, the best first. */
function search(scope, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const names = scope.values.map((v) => v.toLowerCase());
  const found = [];
  for (const graph of scope.graphs) {
    for (const node of graph.nodes) {
      if (node.hidden || (graph.side === AFTER && node.same)) continue;
      const label = node.label.toLowerCase();
      const op =
        `${node.op} ${node.title} ${node.region?.rules.join(" ") ?? ""} ${node.misses.map((m) => m.code).join(" ")}`.toLowerCase();
      const values = [...node.inputs, ...node.outputs];
      let rank = 0;
      for (const word of words) {
        const at =
          label === word
            ? 0
            : op.split(" ").includes(word)
              ? 1
              : label.includes(word)
                ? 2
                : op.includes(word)
                  ? 3
                  : values.some((v) => names[v].includes(word))
                    ? 4
                    : -1;
        if (at < 0) rank = NaN;
        rank += at;
      }
      if (words.length && !Number.isNaN(rank)) found.push({ node, rank });
    }
  }
  found.sort((a, b) => a.rank - b.rank);
  return found.map((f) => f.node);
}
