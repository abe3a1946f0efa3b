// Draws a chart on a canvas: frame, grid, shaded stretches, rules, series. Colours come from the page's CSS variables.

const PALETTE = 10;

function paints(element) {
  const style = getComputedStyle(element), get = (name) => style.getPropertyValue(name).trim();
  const palette = [];
  for (let i = 0; i < PALETTE; i += 1) palette.push(get(`--c${i}`));
  return { palette, ink: get("--ink"), faint: get("--faint"), grid: get("--grid"), soft: get("--soft"), paper: get("--card"), font: style.fontFamily };
}

// Shades run dark blue, green, yellow, as readable in grey as in colour.
const STOPS = [[68, 57, 140], [49, 104, 172], [33, 145, 140], [94, 181, 80], [228, 180, 30]];
function shadeColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1), i = Math.min(Math.floor(place), STOPS.length - 2);
  const mixed = STOPS[i].map((v, k) => Math.round(v + (place - i) * (STOPS[i + 1][k] - v)));
  return `rgb(${mixed.join(",")})`;
}

function colourOf(series, paint) {
  if (isNumber(series.shade)) return shadeColour(series.shade);
  if (series.colour === "ink") return paint.ink;
  if (series.colour === "faint") return paint.faint;
  const place = isNumber(series.colour) ? series.colour : series.order;
  return paint.palette[place % PALETTE];
}

function ellipsis(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let cut = text.length;
  while (cut > 1 && context.measureText(`${text.slice(0, cut)}…`).width > room) cut -= 1;
  return `${text.slice(0, cut)}…`;
}

function frame(context, data, size, paint, found, zoom) {
  context.font = `11px ${paint.font}`;
  const xLimits = zoom || limits(data.x, found.x, data.series.some((s) => s.kind === "points") ? 0.04 : 0);
  const yLimits = limits(data.y, found.y, 0.05);
  const top = 8, bottom = size.height - (data.x.label ? 38 : 24);
  const many = Math.max(2, Math.floor((bottom - top) / 42));
  const [foot, head] = data.y.categories.length ? [top, bottom] : [bottom, top]; // the first category is on top
  const trial = makeScale(data.y, yLimits, foot, head), yTicks = ticks(trial, many);
  const widest = Math.max(...yTicks.map((t) => context.measureText(t.text).width), 10);
  const left = Math.min(widest, size.width * 0.38) + (data.y.label ? 28 : 12), right = size.width - 12;
  const x = makeScale(data.x, xLimits, left, right);
  const label = Math.max(context.measureText(words(x.high, data.x, [x.low, x.high])).width, 34);
  return { x, y: trial, xTicks: ticks(x, Math.max(3, Math.floor((right - left) / (label + 26)))), yTicks, left, right, top, bottom };
}

function drawFrame(context, data, plan, size, paint) {
  context.font = `11px ${paint.font}`;
  context.lineWidth = 1;
  for (const span of data.spans) {
    context.fillStyle = paint.soft;
    const from = Math.max(plan.x.at(span.low), plan.left), to = Math.min(plan.x.at(span.high), plan.right);
    if (to > from) context.fillRect(from, plan.top, to - from, plan.bottom - plan.top);
    context.fillStyle = paint.faint;
    context.textAlign = "left";
    if (span.label && to > from) context.fillText(span.label, from + 4, plan.top + 11);
  }
  context.strokeStyle = paint.grid;
  context.fillStyle = paint.faint;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of plan.yTicks) {
    const y = Math.round(plan.y.at(tick.value)) + 0.5;
    stroke(context, plan.left, y, plan.right, y);
    context.fillText(ellipsis(context, tick.text, plan.left - (data.y.label ? 26 : 10)), plan.left - 6, y);
  }
  drawBottom(context, data, plan);
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  if (data.x.label) context.fillText(ellipsis(context, data.x.label, plan.right - plan.left), (plan.left + plan.right) / 2, size.height - 6);
  if (data.y.label) {
    context.save();
    context.translate(11, (plan.top + plan.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(ellipsis(context, data.y.label, plan.bottom - plan.top), 0, 0);
    context.restore();
  }
}

function drawBottom(context, data, plan) {
  context.textBaseline = "top";
  const slot = data.x.categories.length ? (plan.right - plan.left) / data.x.categories.length : 90;
  const widest = Math.max(...plan.xTicks.map((tick) => context.measureText(tick.text).width), 1);
  const every = data.x.categories.length && widest < 60 ? Math.ceil((widest + 8) / slot) : 1, room = Math.max(slot * every - 4, 4);
  for (const tick of plan.xTicks) {
    const x = plan.x.at(tick.value);
    if (!data.x.categories.length) stroke(context, Math.round(x) + 0.5, plan.top, Math.round(x) + 0.5, plan.bottom);
    if (data.x.categories.length && tick.value % every) continue;
    const text = ellipsis(context, tick.text, room), wide = context.measureText(text).width / 2;
    context.textAlign = "center";
    context.fillText(text, Math.min(Math.max(x, wide), plan.right + 10 - wide), plan.bottom + 6);
  }
}

function stroke(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

function drawSeries(context, series, plan, paint, strong) {
  context.strokeStyle = context.fillStyle = colourOf(series, paint);
  if (series.kind === "band") drawBand(context, series);
  else if (series.kind === "line") drawLine(context, series, strong);
  else if (series.kind === "points") drawPoints(context, series, paint);
  else drawBars(context, series);
  context.globalAlpha = 1;
}

function drawLine(context, series, strong) {
  const { px, py } = series.pixels;
  context.globalAlpha = strong || !series.faint ? 1 : 0.5;
  context.lineWidth = strong ? 2.8 : series.faint ? 1 : series.width || 1.8;
  context.lineJoin = "round";
  context.setLineDash(series.dashed ? [5, 4] : []);
  context.beginPath();
  let gap = true, dots = [];
  for (let i = 0; i < px.length; i += 1) {
    if (Number.isNaN(px[i]) || Number.isNaN(py[i])) { gap = true; continue; }
    const alone = gap && (i + 1 >= px.length || Number.isNaN(px[i + 1]) || Number.isNaN(py[i + 1]));
    if (alone) dots.push(i);
    else if (gap) context.moveTo(px[i], py[i]);
    else context.lineTo(px[i], py[i]);
    gap = false;
  }
  context.stroke();
  context.setLineDash([]);
  for (const i of dots) context.fillRect(px[i] - 1, py[i] - 1, 2, 2);
}

function drawBand(context, series) {
  const { px, plow, phigh } = series.pixels;
  context.globalAlpha = series.strength || 0.2;
  let i = 0;
  while (i < px.length) {
    const from = i;
    while (i < px.length && !Number.isNaN(px[i] + plow[i] + phigh[i])) i += 1;
    if (i - from > 1) {
      context.beginPath();
      for (let k = from; k < i; k += 1) context.lineTo(px[k], phigh[k]);
      for (let k = i - 1; k >= from; k -= 1) context.lineTo(px[k], plow[k]);
      context.fill();
    }
    i += 1;
  }
}

function drawPoints(context, series, paint) {
  const { px, py, plow, phigh } = series.pixels, size = series.size || 4;
  for (let i = 0; i < px.length; i += 1) {
    if (Number.isNaN(px[i]) || Number.isNaN(py[i])) continue;
    if (series.shades) context.strokeStyle = context.fillStyle = isNumber(series.shades[i]) ? shadeColour(series.shades[i]) : paint.faint;
    if (plow && !Number.isNaN(plow[i] + phigh[i])) {
      context.globalAlpha = 0.55;
      context.lineWidth = 1.5;
      if (series.sideways) stroke(context, plow[i], py[i], phigh[i], py[i]);
      else stroke(context, px[i], plow[i], px[i], phigh[i]);
    }
    context.globalAlpha = 0.85;
    context.beginPath();
    context.arc(px[i], py[i], size, 0, 7);
    context.fill();
  }
}

function drawBars(context, series) {
  for (const box of series.pixels.boxes) {
    context.globalAlpha = series.kind === "bars" ? 0.85 : 0.55;
    context.fillRect(box.x, box.y, Math.max(box.width, 1), box.height);
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    if (box.whisker) stroke(context, ...box.whisker);
  }
}

function drawRules(context, data, plan, paint) {
  context.strokeStyle = paint.ink;
  context.fillStyle = paint.faint;
  context.font = `11px ${paint.font}`;
  context.lineWidth = 1;
  for (const rule of data.rules) {
    context.setLineDash([4, 4]);
    const x = plan.x.at(rule.at), y = plan.y.at(rule.at);
    if (rule.axis === "y") stroke(context, plan.left, y, plan.right, y);
    else if (rule.axis === "x") stroke(context, x, plan.top, x, plan.bottom);
    else stroke(context, plan.x.at(plan.x.low), plan.y.at(plan.x.low), plan.x.at(plan.x.high), plan.y.at(plan.x.high));
    context.setLineDash([]);
    context.textAlign = rule.axis === "x" ? "left" : "right";
    if (rule.label) context.fillText(rule.label, rule.axis === "x" ? x + 4 : plan.right - 4, rule.axis === "x" ? plan.top + 11 : rule.axis === "y" ? y - 5 : plan.top + 11);
  }
}
