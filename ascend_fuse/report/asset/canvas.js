// Draws one laid-out graph on a canvas. What is too small to read is left out, what lies outside is skipped.

const TEXT_FROM = 0.5; // scale from which nodes have their names
const EDGES_FROM = 0.12;
const STUB = 9; // of an edge to another block, px of the drawing
const OUTLINES_FROM = 0.2;
const TITLE_SIZES = [10, 18]; // least height in px of the screen and of the drawing

function themeColours() {
  const style = getComputedStyle(document.body);
  const probe = document.createElement("span");
  document.body.append(probe);
  const of = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = {
    paper: of("--paper"),
    surface: of("--surface"),
    raised: of("--raised"),
    ink: of("--ink"),
    muted: of("--muted"),
    line: of("--line"),
    accent: of("--accent"),
    font: style.fontFamily,
  };
  probe.remove();
  return found;
}

/** Of WCAG 2: 1 to 21, and 4.5 is what text needs. */
function contrast(one, other) {
  const luminance = (colour) => {
    const { r, g, b } = d3.rgb(colour);
    const [lr, lg, lb] = [r, g, b].map((c) => (c <= 10.31 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * lr + 0.7152 * lg + 0.0722 * lb;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Black or white, whichever is read better on the colour: one of them always has 4.5. */
const inkOn = (colour) => (contrast(colour, "#000000") > contrast(colour, "#ffffff") ? "#000000" : "#ffffff");

/** What a node is filled with and written in; dimmed, its colour is paler and its text as easy to read. */
function nodeColours(node, colours, dimmed, k) {
  const border = node.kind !== "node";
  const costs = node.region || node.misses.length > 0;
  const own = border ? colours.line : costs && k < OUTLINES_FROM ? colours.muted : colours.raised;
  const fill = node.region?.colour ?? own;
  const paler = dimmed && (node.region || k < OUTLINES_FROM) ? d3.interpolateRgb(fill, colours.surface)(0.55) : fill;
  const ink = costs || border ? colours.ink : colours.muted;
  const text = node.region ? inkOn(paler) : dimmed && !border ? colours.muted : ink;
  return { fill: paler, text };
}

function visible(view, x, y, width, height) {
  return (
    x + width / 2 >= view.left &&
    x - width / 2 <= view.right &&
    y + height / 2 >= view.top &&
    y - height / 2 <= view.bottom
  );
}

function drawGraph(canvas, graph, transform, state) {
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  const { k, x, y } = transform;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y);
  const view = {
    left: -x / k,
    top: -y / k,
    right: (canvas.clientWidth - x) / k,
    bottom: (canvas.clientHeight - y) / k,
  };
  drawBoxes(context, graph, state.colours, view);
  if (k >= EDGES_FROM) drawEdges(context, graph, k, state, view);
  drawMarkedEdges(context, graph, k, state);
  for (const node of graph.shown) {
    if (visible(view, node.x, node.y, node.width, HEIGHT)) drawNode(context, node, k, state);
  }
  drawTitles(context, graph, k, state.colours, view);
}

function drawBoxes(context, graph, colours, view) {
  for (const box of graph.boxes) {
    if (!visible(view, box.x + box.width / 2, box.y + box.height / 2, box.width, box.height)) continue;
    context.fillStyle = colours.surface;
    context.fillRect(box.x, box.y, box.width, box.height);
  }
}

function drawTitles(context, graph, k, colours, view) {
  const size = Math.max(TITLE_SIZES[0] / k, TITLE_SIZES[1]);
  for (const box of graph.boxes) {
    const inside = visible(view, box.x + box.width / 2, box.y + box.height / 2, box.width, box.height);
    if (inside && box.width * k > 36 && box.height * k > 16) drawTitle(context, graph, box, size, colours);
  }
}

function drawTitle(context, graph, box, size, colours) {
  context.textBaseline = "top";
  context.textAlign = "left";
  context.font = `600 ${size}px ${colours.font}`;
  const part = box.parts > 1 ? ` (${box.part + 1}/${box.parts})` : "";
  const name = graph.scope.blocks[box.block];
  const whole = name + part;
  const short = name.slice(name.lastIndexOf("/") + 1) + part;
  const room = box.width - size * 0.6;
  const title = context.measureText(whole).width <= room ? whole : fittedEnd(context, short, room);
  context.fillStyle = colours.surface; // no node shows through
  context.fillRect(box.x, box.y, context.measureText(title).width + size * 0.6, size * 1.3);
  context.fillStyle = colours.ink;
  context.fillText(title, box.x + size * 0.3, box.y + size * 0.2);
}

/** The text, or as much of it as fits the width. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0,
    high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}

/** The text, or as much of its end as fits the width: the end tells the layers of a model apart. */
function fittedEnd(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  for (let k = 1; k < text.length; k++) {
    if (context.measureText(`…${text.slice(k)}`).width <= width) return `…${text.slice(k)}`;
  }
  return "";
}

/** From the lower border of one node to the upper of another; between blocks a curve, or with `stubs` its two ends. */
function traceEdge(path, e, stubs = false) {
  if (e.points) {
    path.moveTo(...e.points[0]);
    for (let i = 1; i < e.points.length; i++) path.lineTo(...e.points[i]);
    return;
  }
  const [x1, y1, x2, y2] = [e.from.x, e.from.y + HEIGHT / 2, e.to.x, e.to.y - HEIGHT / 2];
  path.moveTo(x1, y1);
  if (stubs) {
    path.lineTo(x1, y1 + STUB);
    path.moveTo(x2, y2 - STUB);
    path.lineTo(x2, y2);
    return;
  }
  const bend = Math.min(120, Math.abs(y2 - y1) / 2 + Math.abs(x2 - x1) / 6);
  path.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
}

function drawEdges(context, graph, k, state, view) {
  if (!graph.path) {
    graph.path = new Path2D();
    for (const e of graph.edges) traceEdge(graph.path, e, true);
  }
  context.strokeStyle = state.colours.muted;
  context.lineWidth = Math.min(1.2, 0.9 / k);
  context.globalAlpha = state.marked.size ? 0.35 : 0.75;
  if (k < 0.4) {
    context.stroke(graph.path);
  } else {
    context.beginPath(); // few are in sight: the others need not be clipped
    for (const e of graph.edges) {
      if (inSight(view, e)) traceEdge(context, e, true);
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Whether something of the edge may be seen: of one between blocks its ends are drawn, wherever they are. */
function inSight(view, e) {
  if (!e.points) return true;
  const [top, bottom] = [e.points[0][1], e.points[e.points.length - 1][1]];
  return bottom >= view.top && top <= view.bottom;
}

function drawMarkedEdges(context, graph, k, state) {
  if (!state.edges) return;
  context.strokeStyle = state.colours.accent;
  context.lineWidth = Math.max(1.6, 1.6 / k);
  context.beginPath();
  for (const e of graph.edges) {
    if (state.marked.has(e.from) || state.marked.has(e.to)) traceEdge(context, e);
  }
  context.stroke();
}

function drawNode(context, node, k, state) {
  const { colours, marked, hovered } = state;
  const [left, top] = [node.x - node.width / 2, node.y - HEIGHT / 2];
  const isMarked = marked.has(node);
  const border = node.kind !== "node";
  const costs = node.region || node.misses.length > 0;
  const { fill, text } = nodeColours(node, colours, marked.size > 0 && !isMarked, k);
  context.fillStyle = fill;
  if (k < OUTLINES_FROM && !isMarked && !hovered.has(node)) return context.fillRect(left, top, node.width, HEIGHT);
  context.beginPath();
  context.roundRect(left, top, node.width, HEIGHT, border ? HEIGHT / 2 : 5);
  context.fill();
  if (!node.region || isMarked || hovered.has(node)) outline(context, node, k, state, costs);
  if (k >= TEXT_FROM) {
    context.font = FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = text;
    node.fitted ??= fitted(context, node.title, node.width - 12);
    context.fillText(node.fitted, node.x, node.y + 0.5);
  }
}

function outline(context, node, k, { colours, marked, hovered }, costs) {
  const chosen = marked.has(node) || hovered.has(node);
  context.setLineDash(node.cleanup && !chosen ? [4, 3] : []);
  const plain = costs && !marked.size ? colours.ink : costs || node.cleanup ? colours.muted : colours.line;
  context.strokeStyle = chosen ? colours.accent : plain;
  context.lineWidth = marked.has(node) ? Math.max(3, 2.5 / k) : chosen ? Math.max(2, 2 / k) : 1.1;
  context.stroke();
  context.setLineDash([]);
}
