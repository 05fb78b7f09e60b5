// The graphs side by side: search, selection on both sides, legend, the panel beside them.

const RESULTS = 40;

class GraphView {
  constructor(host, drawing) {
    this.drawing = drawing;
    this.laid = new Map();
    host.append(this.toolbar(), this.body(), this.legend());
    this.open(drawing.scopes[0]);
    fillPanel(this.panel, undefined, drawing, (n) => this.pick(n));
  }

  toolbar() {
    const bar = element("div", "toolbar");
    this.search = element("input");
    Object.assign(this.search, {
      type: "search",
      placeholder: "Search node, operator, tensor, rule or reason",
      id: "search",
    });
    this.search.setAttribute("aria-label", "Search the graph");
    this.results = element("div", "results");
    this.results.hidden = true;
    this.search.addEventListener("input", () => this.look());
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
    const box = element("div", "searchbox");
    box.append(this.search, this.results);
    bar.append(box);
    if (this.drawing.scopes.length > 1) bar.append(this.scopes());
    for (const [text, title, act] of [
      ["−", "Smaller", (p) => p.scaleBy(1 / 1.5)],
      ["+", "Larger", (p) => p.scaleBy(1.5)],
      ["Fit", "Show all", (p) => p.fit()],
    ]) {
      const button = element("button", "", text);
      Object.assign(button, { type: "button", title });
      button.addEventListener("click", () => this.panes.forEach(act));
      bar.append(button);
    }
    return bar;
  }

  scopes() {
    this.chooser = element("select");
    this.chooser.setAttribute("aria-label", "Graph");
    this.drawing.scopes.forEach((scope, k) => {
      const option = element("option", "", `${scope.path || "main graph"} (${scope.graphs[BEFORE].nodes.length})`);
      option.value = String(k);
      this.chooser.append(option);
    });
    this.chooser.addEventListener("change", () => this.open(this.drawing.scopes[Number(this.chooser.value)]));
    return this.chooser;
  }

  body() {
    const body = element("div", "graphs");
    const on = { hover: (n) => this.hover(n), pick: (n) => this.pick(n, false) };
    this.panes = ["Before", "After"].map((title) => new Pane(body, title, on));
    this.panel = element("aside", "panel");
    this.panel.setAttribute("aria-live", "polite");
    body.append(this.panel);
    return body;
  }

  legend() {
    const legend = element("ul", "legend");
    const add = (kind, text, colour) => {
      const item = element("li");
      const sample = element("span", kind);
      if (colour) sample.style.background = colour;
      item.append(sample, text);
      legend.append(item);
    };
    for (const [code, colour] of this.drawing.colours) add("fused", `${code} ${this.drawing.rules[code]}`, colour);
    add("left", "not fused: stays a launch of its own");
    add("free", "no launch: view, constant, shape");
    add("cleaned", "removed by a cleanup");
    return legend;
  }

  /** Shows a scope, laid out on its first time; resolves when both sides are there. */
  async open(scope) {
    this.scope = scope;
    if (this.chooser) this.chooser.value = String(this.drawing.scopes.indexOf(scope));
    const measure = document.createElement("canvas").getContext("2d");
    await Promise.all(
      this.panes.map(async (pane, side) => {
        const graph = scope.graphs[side];
        if (!graph) return pane.wait("Not in the model after.");
        pane.wait("Laying out …");
        if (!this.laid.has(graph)) {
          this.laid.set(
            graph,
            layOut(graph, measure, (done, all) => {
              if (this.scope === scope) pane.busy.textContent = `Laying out ${done} of ${all} blocks …`;
            }),
          );
        }
        try {
          const done = await this.laid.get(graph);
          if (this.scope === scope) pane.show(done);
        } catch (error) {
          pane.wait(`This browser does not lay the graph out: ${error.message}`);
        }
      }),
    );
  }

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    const set = new Set(node ? together(node) : []);
    for (const pane of this.panes) {
      pane.state.hovered = set;
      pane.canvas.style.cursor = node ? "pointer" : "";
      pane.canvas.title = node ? `${node.title} · ${node.label}` : "";
      pane.request();
    }
  }

  /** Marks the node on both sides and tells of it; `moving`: also the side that it is on moves to it. */
  async pick(node, moving = true) {
    if (node && node.scope !== this.scope) await this.open(node.scope);
    this.mark(node ? together(node) : [], true, (side) => node && (moving || side !== node.side));
    this.picked = node;
    fillPanel(this.panel, node, this.drawing, (n) => this.pick(n));
  }

  /** Marks all of the nodes and lists them. */
  async pickAll(title, nodes) {
    if (!nodes.some((n) => n.scope === this.scope)) await this.open(nodes[0].scope);
    this.mark(nodes, false, () => true);
    this.picked = undefined;
    tellMany(this.panel, title, nodes, (n) => this.pick(n));
  }

  mark(nodes, edges, moves) {
    this.results.hidden = true;
    const marked = new Set(nodes);
    for (const [side, pane] of this.panes.entries()) {
      Object.assign(pane.state, { marked, edges: edges && marked.size > 0 });
      if (moves(side)) pane.centre(nodes.filter((n) => n.side === side));
      pane.request();
    }
    this.panel.scrollTop = 0;
  }

  look() {
    const found = search(this.scope, this.search.value);
    const nodes = found.slice(0, RESULTS);
    this.results.replaceChildren();
    this.results.hidden = !this.search.value.trim();
    const more = found.length > RESULTS ? `, the first ${RESULTS} listed` : "";
    this.results.append(
      element("p", "", `${found.length} found${more}`),
      nodeList(nodes, (n) => this.pick(n)),
    );
    const marked = new Set(found.flatMap(together));
    for (const pane of this.panes) {
      Object.assign(pane.state, { marked, edges: false });
      pane.request();
    }
  }

  searchKey(event) {
    const first = this.results.querySelector("button");
    if (event.key === "Enter" && first) first.click();
    else if (event.key === "ArrowDown" && first) first.focus();
    else if (event.key === "Escape") this.results.hidden = true;
    else return;
    event.preventDefault();
  }

  /** After the theme changed. */
  recolour() {
    const colours = themeColours();
    for (const pane of this.panes) {
      pane.state.colours = colours;
      pane.request();
    }
  }
}
