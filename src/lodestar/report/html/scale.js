// Scales: values to pixels and back, ticks at round numbers, numbers in few signs. Knows nothing of canvases.

const isNumber = (v) => typeof v === "number" && Number.isFinite(v);

function extent(lists, positive) {
  let low = Infinity, high = -Infinity;
  for (const list of lists) {
    for (const v of list) {
      if (!isNumber(v) || (positive && v <= 0)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return low <= high ? [low, high] : positive ? [0.1, 1] : [0, 1];
}

function limits(axis, found, room) {
  if (axis.categories.length) return [-0.5, axis.categories.length - 0.5];
  let [low, high] = found;
  if (axis.log) {
    const wide = Math.max(Math.log10(high / low), 0.05);
    [low, high] = [low / 10 ** (room * wide), high * 10 ** (room * wide)];
  } else {
    const wide = high - low || Math.abs(high) * 0.1 || 1;
    [low, high] = [low - room * wide, high + room * wide];
  }
  return [isNumber(axis.low) ? axis.low : low, isNumber(axis.high) ? axis.high : high];
}

function makeScale(axis, [low, high], from, to) {
  if (!(high > low)) high = axis.log ? low * 1.1 : low + 1;
  const bend = axis.log ? Math.log10 : (v) => v;
  const start = bend(low), width = bend(high) - start;
  const at = (v) => (!isNumber(v) || (axis.log && v <= 0) ? NaN : from + ((bend(v) - start) / width) * (to - from));
  const back = (p) => {
    const v = start + ((p - from) / (to - from)) * width;
    return axis.log ? 10 ** v : v;
  };
  return { axis, low, high, from, to, at, back };
}

function ticks(scale, most) {
  const { axis, low, high } = scale;
  if (axis.categories.length) return axis.categories.map((name, value) => ({ value, text: name }));
  const values = axis.log ? logTicks(low, high, most) : roundTicks(low, high, most);
  const kept = axis.style === "count" ? values.filter(Number.isInteger) : values;
  return kept.map((value) => ({ value, text: words(value, axis, kept) }));
}

function roundTicks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999) || rough;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function logTicks(low, high, most) {
  const decades = [];
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  for (const digits of [[1], [1, 3], [1, 2, 5]]) {
    const found = [];
    for (let k = first; k <= last; k += 1) for (const d of digits) found.push(Number(`${d}e${k}`));
    decades.push(found.filter((v) => v >= low * 0.999 && v <= high * 1.001));
  }
  let best = decades[0];
  for (const found of decades) if (found.length <= most && found.length > best.length) best = found;
  if (best.length < 2) return roundTicks(low, high, Math.min(most, 4)).filter((v) => v > 0);
  const every = Math.ceil(best.length / Math.max(most, 2));
  return best.filter((_, i) => i % every === 0);
}

function words(value, axis, others) {
  if (axis.style === "percent") return `${trim((100 * value).toFixed(others ? places(others.map((v) => 100 * v)) : 2))} %`;
  if (!others) return figure(value);
  const size = Math.max(...others.map(Math.abs));
  if (size >= 1e5 && !axis.log) return `${trim((value / 1000).toFixed(1))}k`;
  return axis.log || size < 1e-3 ? figure(value) : value.toFixed(places(others));
}

function places(values) {
  let most = 0;
  for (const v of values) {
    let n = 0;
    while (n < 6 && Math.abs(v - Number(v.toFixed(n))) > 1e-9 * Math.max(1, Math.abs(v))) n += 1;
    most = Math.max(most, n);
  }
  return most;
}

const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

function figure(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) {
    const [head, power] = value.toExponential(3).split("e");
    return `${trim(head)}e${Number(power)}`;
  }
  return Number.isInteger(value) ? value.toLocaleString("en") : trim(value.toPrecision(4));
}
