// One graph that can be panned, zoomed and clicked.

const SCALES = [0.01, 4];

class Pane {
  /** `on`: hover(node or undefined), pick(node or undefined). */
  constructor(host, title, on) {
    this.root = element("div", "pane");
    this.root.append(element("h3", "", title));
    this.canvas = element("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `Graph ${title}: arrow keys move, plus and minus zoom, 0 shows it all`);
    this.busy = element("p", "busy", "Laying out …");
    this.root.append(this.canvas, this.busy);
    host.append(this.root);
    this.state = { marked: new Set(), edges: false, hovered: new Set(), colours: themeColours() };
    this.zoom = d3
      .zoom()
      .scaleExtent(SCALES)
      .on("zoom", () => this.request());
    this.selection = d3.select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("pointermove", (event) => on.hover(this.nodeAt(event)));
    this.canvas.addEventListener("pointerleave", () => on.hover(undefined));
    this.canvas.addEventListener("click", (event) => on.pick(this.nodeAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  get transform() {
    return d3.zoomTransform(this.canvas);
  }

  show(graph) {
    this.graph = graph;
    this.busy.hidden = graph !== null;
    this.tree =
      graph &&
      d3.quadtree(
        graph.shown,
        (n) => n.x,
        (n) => n.y,
      );
    this.resize();
    if (graph) this.fit(false);
  }

  wait(text) {
    this.graph = null;
    this.busy.hidden = false;
    this.busy.textContent = text;
    this.request();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    this.request();
  }

  /** Draws once before the next frame, however often it is asked to. */
  request() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      if (this.graph) drawGraph(this.canvas, this.graph, this.transform, this.state);
      else this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
    });
  }

  nodeAt(event) {
    if (!this.graph) return undefined;
    const [x, y] = this.transform.invert(d3.pointer(event, this.canvas));
    let found;
    // a node is at most 190 wide: what covers the point has its middle near it
    this.tree.visit((quad, x0, y0, x1, y1) => {
      if (!quad.length) {
        for (let q = quad; q; q = q.next) {
          const n = q.data;
          if (Math.abs(n.x - x) <= n.width / 2 && Math.abs(n.y - y) <= HEIGHT / 2) found = n;
        }
      }
      return x0 > x + 100 || x1 < x - 100 || y0 > y + HEIGHT || y1 < y - HEIGHT;
    });
    return found;
  }

  fit(animated = true) {
    if (!this.graph) return;
    this.frame(0, 0, this.graph.width, this.graph.height, 1, animated);
  }

  /** Centres on the nodes, near enough to read them. */
  centre(nodes) {
    const own = nodes.filter((n) => this.graph?.shown.includes(n));
    if (!own.length) return;
    const left = d3.min(own, (n) => n.x - n.width / 2),
      right = d3.max(own, (n) => n.x + n.width / 2);
    const top = d3.min(own, (n) => n.y),
      bottom = d3.max(own, (n) => n.y);
    this.frame(left - 60, top - 120, right + 60, bottom + 60, 1, true); // with the title of their block
  }

  frame(left, top, right, bottom, largest, animated) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const k = Math.min(largest, w / (right - left + 20), h / (bottom - top + 20));
    const target = d3.zoomIdentity
      .translate(w / 2 - (k * (left + right)) / 2, h / 2 - (k * (top + bottom)) / 2)
      .scale(k);
    const still = !animated || matchMedia("(prefers-reduced-motion: reduce)").matches;
    (still ? this.selection : this.selection.transition().duration(350)).call(this.zoom.transform, target);
  }

  scaleBy(factor) {
    this.selection.call(this.zoom.scaleBy, factor);
  }

  key(event) {
    const step = 60 / this.transform.k;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (event.key in moves) this.selection.call(this.zoom.translateBy, ...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.scaleBy(1.3);
    else if (event.key === "-") this.scaleBy(1 / 1.3);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}
