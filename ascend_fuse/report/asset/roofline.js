// Operations per second over operations per byte, both logarithmic: each kind of fusion before and after.

const ROOF = { width: 860, height: 420, left: 64, right: 150, top: 16, bottom: 46 };

const LABEL = { digit: 7, height: 14 }; // of a label, px

const withPrefix = (value) =>
  d3
    .format(".3~s")(value)
    .replace(/(?=[a-zA-Z]?$)/, " ");

function drawRoofline(host, data, drawing, pick) {
  if (!data.points.length) return host.append(element("p", "", "No fusion computes anything: they only move data."));
  const all = data.points.flatMap((p) => [p.before, p.after]);
  const highest = d3.max(data.tops, (t) => t[1]);
  const x = d3.scaleLog(
    [
      d3.min(all, (p) => p[0]) / 2,
      Math.max(
        d3.max(all, (p) => p[0]),
        highest / data.memory,
      ) * 2,
    ],
    [ROOF.left, ROOF.width - ROOF.right],
  );
  const y = d3.scaleLog([d3.min(all, (p) => p[1]) / 2, highest * 2], [ROOF.height - ROOF.bottom, ROOF.top]);
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart")
    .attr("viewBox", `0 0 ${ROOF.width} ${ROOF.height}`)
    .attr("role", "img")
    .attr("aria-label", "Roofline; its figures are in the table below");
  drawAxes(svg, x, y);
  drawRoofs(svg, x, y, data);
  drawPoints(svg, x, y, data, drawing, pick);
}

function drawAxes(svg, x, y) {
  const bottom = ROOF.height - ROOF.bottom;
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${bottom})`)
    .call(
      d3
        .axisBottom(x)
        .ticks(6, "~g")
        .tickSize(-(bottom - ROOF.top)),
    );
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(${ROOF.left},0)`)
    .call(
      d3
        .axisLeft(y)
        .ticks(5)
        .tickFormat((v) => (Number.isInteger(Math.log10(v)) ? d3.format("~s")(v) : ""))
        .tickSize(-(ROOF.width - ROOF.left - ROOF.right)),
    );
  svg
    .append("text")
    .attr("x", (ROOF.left + ROOF.width - ROOF.right) / 2)
    .attr("y", ROOF.height - 8)
    .attr("text-anchor", "middle")
    .text("operations per byte of HBM traffic");
  svg
    .append("text")
    .attr("transform", `translate(14,${bottom / 2}) rotate(-90)`)
    .attr("text-anchor", "middle")
    .text("operations per second, estimated");
}

function drawRoofs(svg, x, y, data) {
  const [left, right] = x.domain();
  const highest = d3.max(data.tops, (t) => t[1]);
  const roofs = svg.append("g").attr("class", "roofs");
  const line = (x1, y1, x2, y2) =>
    roofs.append("line").attr("x1", x(x1)).attr("y1", y(y1)).attr("x2", x(x2)).attr("y2", y(y2));
  const start = Math.max(left, y.domain()[0] / data.memory);
  line(start, start * data.memory, highest / data.memory, highest);
  for (const [name, rate] of data.tops) {
    line(rate / data.memory, rate, right, rate);
    roofs
      .append("text")
      .attr("x", x(right) + 8)
      .attr("y", y(rate) + 4)
      .text(`${name} ${withPrefix(rate)}op/s`);
  }
  const at = Math.sqrt(start * (highest / data.memory));
  const slope = (Math.atan2(y(10) - y(100), x(100) - x(10)) * 180) / Math.PI;
  roofs
    .append("text")
    .attr("transform", `translate(${x(at)},${y(at * data.memory) - 8}) rotate(${-slope})`)
    .attr("text-anchor", "middle")
    .text(`HBM ${withPrefix(data.memory)}B/s`);
}

function drawPoints(svg, x, y, data, drawing, pick) {
  const marks = svg
    .append("g")
    .selectAll("g")
    .data(data.points)
    .join("g")
    .attr("class", "point")
    .attr("tabindex", 0)
    .attr("role", "button")
    .attr("aria-label", (p) => `Row ${p.row} of Fusions, ${p.label}`)
    .on("click", (_, p) => pick(p))
    .on("keydown", (event, p) => event.key === "Enter" && pick(p));
  const colour = (p) => drawing.colours.get(p.rule);
  const radius = (p) => 4 + Math.min(6, Math.sqrt(p.count));
  marks
    .append("title")
    .text(
      (p) =>
        `#${p.row} ${p.label} (${p.rule}), ${p.count}×: ${withPrefix(p.before[1])} → ${withPrefix(p.after[1])}op/s, ` +
        `${p.before[0].toPrecision(3)} → ${p.after[0].toPrecision(3)} op/B`,
    );
  marks
    .append("line")
    .attr("x1", (p) => x(p.before[0]))
    .attr("y1", (p) => y(p.before[1]))
    .attr("x2", (p) => x(p.after[0]))
    .attr("y2", (p) => y(p.after[1]))
    .attr("stroke", colour);
  marks
    .append("circle")
    .attr("class", "hollow")
    .attr("cx", (p) => x(p.before[0]))
    .attr("cy", (p) => y(p.before[1]))
    .attr("r", 4)
    .attr("stroke", colour);
  marks
    .append("circle")
    .attr("cx", (p) => x(p.after[0]))
    .attr("cy", (p) => y(p.after[1]))
    .attr("r", radius)
    .attr("fill", colour);
  const labels = new Map(); // points that lie on each other share one
  for (const p of data.points) {
    const place = `${Math.round(x(p.after[0]) / 14)},${Math.round(y(p.after[1]) / 14)}`;
    labels.set(place, [...(labels.get(place) ?? []), p]);
  }
  svg
    .append("g")
    .selectAll("text")
    .data(placeLabels([...labels.values()], x, y, data, radius))
    .join("text")
    .attr("x", (l) => l.x)
    .attr("y", (l) => l.y + LABEL.height / 2 - 3)
    .text((l) => l.text);
}

/** The numbers beside their points, where no other number, point or roof is; one without such a place is left out. */
function placeLabels(groups, x, y, data, radius) {
  const circles = data.points.flatMap((p) => [
    [x(p.before[0]), y(p.before[1]), 5],
    [x(p.after[0]), y(p.after[1]), radius(p)],
  ]);
  const placed = [];
  const isFree = (l) =>
    circles.every(([cx, cy, r]) => {
      const [dx, dy] = [cx - Math.max(l.x, Math.min(cx, l.x + l.width)), cy - clampY(l, cy)];
      return dx * dx + dy * dy >= r * r;
    }) &&
    placed.every((o) => Math.abs(o.y - l.y) >= LABEL.height || o.x + o.width < l.x || l.x + l.width < o.x) &&
    [l.x, l.x + l.width].every((at) => roofsAt(x, y, data, at).every((roof) => Math.abs(roof - l.y) > LABEL.height / 2));
  for (const group of groups) {
    const text = group.map((p) => p.row).join(", ");
    const width = text.length * LABEL.digit;
    const [cx, cy, r] = [x(group[0].after[0]), y(group[0].after[1]), d3.max(group, radius)];
    const spots = [8, 16, 26].flatMap((far) => [
      [cx + r + far - 4, cy],
      [cx + r + far - 6, cy + far],
      [cx + r + far - 6, cy - far],
      [cx - width / 2, cy - r - far],
      [cx - width / 2, cy + r + far],
      [cx - r - width - far + 4, cy],
    ]);
    const spot = spots.map(([left, middle]) => ({ text, width, x: left, y: middle })).find(isFree);
    if (spot) placed.push(spot);
  }
  return placed;
}

const clampY = (label, cy) =>
  Math.max(label.y - LABEL.height / 2, Math.min(cy, label.y + LABEL.height / 2));

/** The heights of the roofs at a place of the chart, px. */
function roofsAt(x, y, data, at) {
  const memory = x.invert(at) * data.memory;
  const highest = d3.max(data.tops, (t) => t[1]);
  return [y(Math.min(memory, highest)), ...data.tops.filter((t) => t[1] <= memory).map((t) => y(t[1]))];
}
