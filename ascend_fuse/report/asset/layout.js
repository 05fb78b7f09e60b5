"use strict";
// Runs in a worker, behind dagre: places the nodes of one graph. Blocks are laid out one by one and set in columns, as
// a newspaper sets its articles: a model is hundreds of layers deep and a few nodes wide, so that one drawing of it all
// would be a line. Layers that repeat are laid out once. Both keep the time near-linear in the nodes.

const MOST = 160; // nodes laid out together: dagre takes more than linear time
const FEW = 48; // the same where no names tell blocks: a column for each, instead of one line
const GAP = 46; // between columns, px of the drawing
const TITLE = 100; // above the nodes of a block: of an overview of some thousand nodes, a line that can be read
const PAD = 16;
const SHELF = 620; // width that a block may take by standing unconnected parts side by side
const ASPECT = 0.75; // width to height of the whole

function chunks(graph) {
  const byBlock = new Map();
  graph.nodes.forEach((node, k) => {
    if (!byBlock.has(node.block)) byBlock.set(node.block, []);
    byBlock.get(node.block).push(k);
  });
  const found = [];
  const most = byBlock.size > 2 ? MOST : FEW;
  for (const [block, nodes] of byBlock) {
    const parts = Math.ceil(nodes.length / most);
    const size = Math.ceil(nodes.length / parts);
    for (let k = 0; k < parts; k++) found.push({ block, part: k, parts, nodes: nodes.slice(k * size, (k + 1) * size) });
  }
  return found;
}

/** The nodes that hang together, as lists of positions; those that hang on nothing are one list. */
function components(count, edges) {
  const root = Array.from({ length: count }, (_, k) => k);
  const find = (k) => {
    while (root[k] !== k) k = root[k] = root[root[k]];
    return k;
  };
  const joined = new Set(edges.flat());
  for (const [from, to] of edges) root[find(from)] = find(to);
  const found = new Map();
  for (let k = 0; k < count; k++) {
    const key = joined.has(k) ? find(k) : -1;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(k);
  }
  return found;
}

/** Boxes in rows no wider than the widest or `SHELF`: their corners, the size of all. */
function shelves(boxes) {
  const limit = Math.max(SHELF, ...boxes.map((b) => b.width));
  let x = 0,
    y = 0,
    tall = 0,
    width = 0;
  const at = boxes.map((b) => {
    if (x > 0 && x + b.width > limit) {
      x = 0;
      y += tall + PAD;
      tall = 0;
    }
    const here = [x, y];
    x += b.width + PAD;
    tall = Math.max(tall, b.height);
    width = Math.max(width, x - PAD);
    return here;
  });
  return { at, width: Math.max(width, 1), height: Math.max(y + tall, 1) };
}

/** Positions from the chunk's upper left corner, with the points of its edges. */
function place(widths, height, edges) {
  const parts = [];
  const within = new Map();
  for (const [key, nodes] of components(widths.length, edges)) {
    if (key === -1) {
      for (const k of nodes)
        parts.push({ nodes: [k], edges: [], width: widths[k], height, at: [[widths[k] / 2, height / 2]] });
      continue;
    }
    nodes.forEach((k, i) => within.set(k, [parts.length, i]));
    parts.push({ nodes, edges: [] });
  }
  edges.forEach(([from], e) => parts[within.get(from)[0]].edges.push(e));
  for (const p of parts) {
    if (!p.at)
      Object.assign(
        p,
        layered(
          p.nodes.map((k) => widths[k]),
          height,
          p.edges.map((e) => edges[e].map((k) => within.get(k)[1])),
        ),
      );
  }
  const set = shelves(parts);
  const at = new Array(widths.length),
    points = new Array(edges.length);
  parts.forEach((p, i) => {
    const [x, y] = set.at[i];
    p.nodes.forEach((k, n) => {
      at[k] = [x + p.at[n][0], y + p.at[n][1]];
    });
    p.edges.forEach((e, n) => {
      points[e] = p.points[n].map(([px, py]) => [x + px, y + py]);
    });
  });
  return { nodes: at, edges: points, width: set.width, height: set.height };
}

/** One component in layers. */
function layered(widths, height, edges) {
  const g = new dagre.graphlib.Graph({ multigraph: true });
  g.setGraph({ rankdir: "TB", nodesep: 14, edgesep: 8, ranksep: 24, ranker: "tight-tree", marginx: 0, marginy: 0 });
  g.setDefaultEdgeLabel(() => ({}));
  widths.forEach((width, k) => g.setNode(String(k), { width, height }));
  edges.forEach(([from, to], k) => g.setEdge(String(from), String(to), {}, String(k)));
  dagre.layout(g);
  return {
    at: widths.map((_, k) => [g.node(String(k)).x, g.node(String(k)).y]),
    points: edges.map(([from, to], k) =>
      g.edge({ v: String(from), w: String(to), name: String(k) }).points.map((p) => [p.x, p.y]),
    ),
    width: g.graph().width,
    height: g.graph().height,
  };
}

/** The place of each panel, in columns no taller than `tallest` but for single ones. */
function columns(panels, tallest) {
  let x = 0,
    y = 0,
    wide = 0,
    height = 0;
  const at = panels.map((p) => {
    if (y > 0 && y + p.height > tallest) {
      x += wide + GAP;
      y = wide = 0;
    }
    const here = [x, y];
    y += p.height + GAP / 2;
    wide = Math.max(wide, p.width);
    height = Math.max(height, y);
    return here;
  });
  return { at, width: x + wide, height };
}

/** The columns whose whole comes nearest to the wanted shape. */
function arrange(panels) {
  const total = panels.reduce((sum, p) => sum + p.height + GAP / 2, 0);
  let best = null;
  for (let n = 1; n <= Math.min(panels.length, 60); n++) {
    const set = columns(panels, (total / n) * 1.06);
    const off = Math.abs(Math.log(set.width / set.height / ASPECT));
    if (!best || off < best.off) best = { ...set, off };
  }
  return best ?? { at: [], width: 1, height: 1 };
}

function layout(graph, tell) {
  const known = new Map();
  const parts = chunks(graph);
  const chunkOf = new Array(graph.nodes.length);
  const within = new Array(graph.nodes.length);
  parts.forEach((part, c) =>
    part.nodes.forEach((k, i) => {
      chunkOf[k] = c;
      within[k] = i;
    }),
  );
  const own = parts.map(() => []);
  graph.edges.forEach(([from, to], e) => {
    if (chunkOf[from] === chunkOf[to]) own[chunkOf[from]].push(e);
  });
  const placed = parts.map((part, c) => {
    const widths = part.nodes.map((k) => graph.nodes[k].width);
    const edges = own[c].map((e) => [within[graph.edges[e][0]], within[graph.edges[e][1]]]);
    const key = `${widths}|${edges.join(";")}`;
    if (!known.has(key)) known.set(key, place(widths, graph.height, edges));
    tell(c + 1, parts.length);
    return known.get(key);
  });
  const panels = placed.map((p) => ({ width: p.width + 2 * PAD, height: p.height + TITLE + PAD }));
  const set = arrange(panels);
  const nodes = new Array(graph.nodes.length),
    edges = new Array(graph.edges.length).fill(null);
  parts.forEach((part, c) => {
    const [x, y] = [set.at[c][0] + PAD, set.at[c][1] + TITLE];
    part.nodes.forEach((k, i) => {
      nodes[k] = [x + placed[c].nodes[i][0], y + placed[c].nodes[i][1]];
    });
    own[c].forEach((e, i) => {
      edges[e] = placed[c].edges[i].map(([px, py]) => [x + px, y + py]);
    });
  });
  const boxes = parts.map((part, c) => ({
    block: part.block,
    part: part.part,
    parts: part.parts,
    x: set.at[c][0],
    y: set.at[c][1],
    ...panels[c],
  }));
  return { nodes, edges, boxes, width: set.width, height: set.height };
}

if (typeof self !== "undefined" && typeof document === "undefined") {
  self.onmessage = (event) => {
    const { id, graph } = event.data;
    self.postMessage({ id, done: layout(graph, (done, all) => self.postMessage({ id, progress: [done, all] })) });
  };
}
