// Hover: which values are under a pointer or a finger, as lines of text. Knows pixels, not events.

const NEAR = 28, FEW = 9;

function nearest(px, x) {
  let best = -1, gap = Infinity;
  for (let i = 0; i < px.length; i += 1) {
    const off = Math.abs(px[i] - x);
    if (off < gap) { gap = off; best = i; }
  }
  return best;
}

function underPointer(data, plan, shown, at) {
  const box = boxUnder(data, shown, at);
  if (box) return box;
  const dot = dotUnder(data, shown, at);
  if (dot) return dot;
  const lines = shown.filter((s) => s.kind === "line" || s.kind === "band");
  if (!lines.length) return null;
  return lines.length <= FEW ? column(data, lines, at) : closestLine(data, lines, at);
}

function boxUnder(data, shown, at) {
  for (const series of shown) {
    if (series.kind !== "bars" && series.kind !== "histogram") continue;
    for (const box of series.pixels.boxes) {
      const inside = box.lying ? at.y >= box.y && at.y <= box.y + box.height : at.x >= box.x && at.x <= box.x + box.width;
      if (!inside) continue;
      return { title: box.title, rows: [{ series, text: box.text }], marks: [], x: null };
    }
  }
  return null;
}

function dotUnder(data, shown, at) {
  let best = null, gap = NEAR;
  for (const series of shown) {
    if (series.kind !== "points") continue;
    const { px, py } = series.pixels;
    for (let i = 0; i < px.length; i += 1) {
      const off = Math.hypot(px[i] - at.x, py[i] - at.y);
      if (off < gap) { gap = off; best = { series, i }; }
    }
  }
  if (!best) return null;
  const { series, i } = best;
  const title = series.labels ? series.labels[i] : series.name;
  const range = series.low && isNumber(series.low[i]) ? ` (${words(series.low[i], side(data, series))} to ${words(series.high[i], side(data, series))})` : "";
  const rows = [
    { text: `${data.x.label || "x"}: ${valueOf(data.x, series.x[i])}${series.sideways ? range : ""}` },
    { text: `${data.y.label || "y"}: ${valueOf(data.y, series.y[i])}${series.sideways ? "" : range}` },
  ];
  if (series.shades && data.shades) rows.push({ text: `${data.shades.label}: ${figure(shadeValue(data.shades, series.shades[i]))}` });
  return { title, rows, marks: [{ series, x: series.pixels.px[i], y: series.pixels.py[i] }], x: null };
}

const side = (data, series) => (series.sideways ? data.x : data.y);

const valueOf = (axis, v) => (axis.categories.length ? axis.categories[v] ?? figure(v) : words(v, axis));

function shadeValue(shades, share) {
  if (!isNumber(share)) return NaN;
  return shades.log ? shades.low * (shades.high / shades.low) ** share : shades.low + share * (shades.high - shades.low);
}

function column(data, lines, at) {
  let step = null, gap = Infinity;
  for (const series of lines) {
    const i = nearest(series.pixels.px, at.x), off = i < 0 ? Infinity : Math.abs(series.pixels.px[i] - at.x);
    if (off < gap) { gap = off; step = { value: series.x[i], pixel: series.pixels.px[i] }; }
  }
  if (!step) return null;
  const rows = [], marks = [];
  for (const series of lines) {
    const i = nearest(series.pixels.px, step.pixel);
    if (i < 0 || Math.abs(series.pixels.px[i] - step.pixel) > NEAR) continue;
    if (series.kind === "band") {
      if (isNumber(series.low[i])) rows.push({ series, text: `${series.name}: ${words(series.low[i], data.y)} to ${words(series.high[i], data.y)}` });
    } else if (isNumber(series.y[i])) {
      rows.push({ series, text: `${series.name}: ${words(series.y[i], data.y)}` });
      marks.push({ series, x: series.pixels.px[i], y: series.pixels.py[i] });
    }
  }
  return rows.length ? { title: `${data.x.label || "x"} ${valueOf(data.x, step.value)}`, rows, marks, x: step.pixel } : null;
}

function closestLine(data, lines, at) {
  let best = null, gap = 2 * NEAR;
  for (const series of lines) {
    if (series.kind !== "line") continue;
    const { px, py } = series.pixels;
    for (let i = 0; i < px.length; i += 1) {
      const off = Math.hypot(px[i] - at.x, py[i] - at.y);
      if (off < gap) { gap = off; best = { series, i }; }
    }
  }
  if (!best) return null;
  const { series, i } = best;
  const rows = [
    { text: `${data.x.label || "x"}: ${valueOf(data.x, series.x[i])}` },
    { series, text: `${data.y.label || "y"}: ${words(series.y[i], data.y)}` },
  ];
  if (series.group) rows.push({ text: series.group });
  return { title: series.name, rows, marks: [{ series, x: series.pixels.px[i], y: series.pixels.py[i] }], x: null, strong: series };
}
