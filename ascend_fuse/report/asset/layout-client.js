// Lays graphs out in workers made of the page's own text, so that the page stays fluid meanwhile.

const HEIGHT = 26; // of a node, px of the drawing
const FONT = '12px system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif';

function nodeWidth(node, measure) {
  return Math.round(Math.min(Math.max(measure.measureText(node.title).width + 20, 46), 190));
}

/** Resolves to the graph with a place for each visible node and each edge. */
function layOut(graph, measure, progress) {
  measure.font = FONT;
  const shown = graph.nodes.filter((n) => !n.hidden);
  const index = new Map(shown.map((n, k) => [n, k]));
  for (const node of shown) node.width = nodeWidth(node, measure);
  const plain = {
    height: HEIGHT,
    nodes: shown.map((n) => ({ width: n.width, block: n.block })),
    edges: graph.edges.map((e) => [index.get(e.from), index.get(e.to)]),
  };
  const source = new Blob([document.getElementById("layout").textContent], { type: "text/javascript" });
  const url = URL.createObjectURL(source);
  const worker = new Worker(url);
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data }) => {
      if (data.progress) return progress(...data.progress);
      worker.terminate();
      URL.revokeObjectURL(url);
      shown.forEach((n, k) => {
        [n.x, n.y] = data.done.nodes[k];
      });
      graph.edges.forEach((e, k) => {
        e.points = data.done.edges[k];
      });
      resolve({ ...graph, shown, boxes: data.done.boxes, width: data.done.width, height: data.done.height });
    };
    worker.postMessage({ id: 0, graph: plain });
  });
}
