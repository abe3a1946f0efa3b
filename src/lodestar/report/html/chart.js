// A chart on the page: draws itself when it comes into view, again when its size or the theme changes; hover and legend.

const tip = document.getElementById("tip");

class Chart {
  constructor(figureElement) {
    this.element = figureElement;
    this.plot = figureElement.querySelector(".plot");
    this.legend = figureElement.querySelector(".legend");
    this.hidden = new Set();
    this.zoom = null;
    this.data = null;
  }

  start() {
    if (!this.data) this.load(JSON.parse(this.element.querySelector("script").textContent));
  }

  // Also later, with newer data: what is hidden and the part that is looked at stay.
  load(data) {
    const first = !this.data, groups = new Map();
    this.data = data;
    for (const series of this.data.series) {
      series.entry = series.group || series.name;
      if (!groups.has(series.entry)) groups.set(series.entry, []);
      groups.get(series.entry).push(series);
      if (series.kind === "bars") series.lying = this.data.y.categories.length > 0;
      if (series.kind === "points") series.sideways = this.data.y.categories.length > 0;
    }
    let order = 0;
    for (const members of groups.values()) {
      const own = members.some((s) => s.colour === undefined && s.shade === undefined && !s.shades);
      for (const series of members) series.order = order;
      if (own) order += 1;
    }
    this.legend.replaceChildren();
    this.makeLegend(groups);
    if (!first) { this.draw(); return; }
    this.base = this.plot.appendChild(document.createElement("canvas"));
    this.over = this.plot.appendChild(document.createElement("canvas"));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  makeLegend(groups) {
    if (this.data.shades) this.legend.append(this.shadeBar());
    if (groups.size < 2) return;
    for (const [name, members] of groups) {
      const button = document.createElement("button"), mark = document.createElement("i");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(mark, name + (members.filter((s) => s.faint).length > 1 ? ` (${members.filter((s) => s.faint).length})` : ""));
      button.title = "Click to hide or show, double click for this one alone";
      button.addEventListener("click", () => this.toggle(name));
      button.addEventListener("dblclick", () => this.only(name, [...groups.keys()]));
      button.entry = { name, members, mark };
      this.legend.append(button);
    }
  }

  shadeBar() {
    const bar = document.createElement("span"), ramp = document.createElement("i"), { label, low, high } = this.data.shades;
    ramp.style.background = `linear-gradient(90deg,${STOPS.map((_, i) => shadeColour(i / (STOPS.length - 1))).join(",")})`;
    bar.className = "ramp";
    bar.append(`${label} ${figure(low)} `, ramp, ` ${figure(high)}`);
    return bar;
  }

  toggle(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.draw();
  }

  only(name, names) {
    const alone = !this.hidden.has(name) && this.hidden.size === names.length - 1;
    this.hidden = new Set(alone ? [] : names.filter((other) => other !== name));
    this.draw();
  }

  draw() {
    const size = { width: this.plot.clientWidth, height: this.plot.clientHeight };
    if (!this.data || size.width < 40) return;
    this.paint = paints(this.element);
    const shown = (this.shown = this.data.series.filter((s) => !this.hidden.has(s.entry)));
    const context = this.clear(this.base, size), plan = (this.plan = frame(context, this.data, size, this.paint, this.found(shown), this.zoom));
    this.clear(this.over, size);
    for (const series of shown) series.pixels = this.place(series, shown, plan);
    drawFrame(context, this.data, plan, size, this.paint);
    context.save();
    context.beginPath();
    context.rect(plan.left, plan.top - 6, plan.right - plan.left + 4, plan.bottom - plan.top + 7);
    context.clip();
    for (const kind of ["band", "histogram", "bars", "line", "points"]) {
      for (const series of shown) if (series.kind === kind) drawSeries(context, series, plan, this.paint, false);
    }
    drawRules(context, this.data, plan, this.paint);
    context.restore();
    for (const button of this.legend.querySelectorAll("button")) {
      const { name, members, mark } = button.entry, lead = members.find((s) => s.kind === "line") || members[0];
      mark.style.background = lead.shades ? "linear-gradient(90deg,rgb(68,57,140),rgb(228,180,30))" : colourOf(lead, this.paint);
      mark.className = lead.kind === "line" ? (lead.dashed ? "dash" : "stroke") : lead.kind === "points" ? "dot" : lead.kind === "band" ? "band" : "box";
      button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
    }
    this.element.dataset.drawn = "yes";
  }

  clear(canvas, size) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(size.width * ratio);
    canvas.height = Math.round(size.height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return context;
  }

  found(shown) {
    const x = [], y = [];
    for (const s of shown) {
      if (s.kind === "line") { x.push(s.x); y.push(s.y); }
      if (s.kind === "points") { x.push(s.x); y.push(s.y); (s.sideways ? x : y).push(s.low || [], s.high || []); }
      if (s.kind === "band") { x.push(s.x); y.push(s.low, s.high); }
      if (s.kind === "bars") (s.lying ? x : y).push(s.values, s.low || [], s.high || [], [0]);
      if (s.kind === "histogram") { x.push(s.edges); y.push(s.counts, [0]); }
    }
    for (const rule of this.data.rules) if (rule.axis !== "diagonal") (rule.axis === "x" ? x : y).push([rule.at]);
    return { x: extent(x, this.data.x.log), y: extent(y, this.data.y.log) };
  }

  place(series, shown, plan) {
    const pixels = (list, scale) => Float64Array.from(list, (v) => scale.at(v));
    if (series.kind === "bars") return { boxes: this.barBoxes(series, shown, plan) };
    if (series.kind === "histogram") return { boxes: this.binBoxes(series, plan) };
    const along = series.sideways ? plan.x : plan.y, ends = series.low ? { plow: pixels(series.low, along), phigh: pixels(series.high, along) } : {};
    return { px: pixels(series.x, plan.x), py: series.y ? pixels(series.y, plan.y) : null, ...ends };
  }

  barBoxes(series, shown, plan) {
    const peers = shown.filter((s) => s.kind === "bars"), place = peers.indexOf(series), lying = series.lying;
    const across = lying ? plan.y : plan.x, along = lying ? plan.x : plan.y, axis = lying ? this.data.y : this.data.x;
    const thick = (Math.abs(across.at(1) - across.at(0)) * 0.8) / peers.length;
    const zero = along.at(along.axis.log ? along.low : Math.max(0, along.low));
    return series.at.map((at, i) => {
      const from = across.at(at) + (place - peers.length / 2) * thick, end = along.at(series.values[i]);
      const text = `${series.name}: ${words(series.values[i], along.axis)}${series.low ? ` (${words(series.low[i], along.axis)} to ${words(series.high[i], along.axis)})` : ""}`;
      const mid = from + thick / 2, ends = series.low && [along.at(series.low[i]), along.at(series.high[i])];
      const shape = lying
        ? { x: Math.min(zero, end), y: from, width: Math.abs(end - zero), height: thick - 1, whisker: ends && [ends[0], mid, ends[1], mid] }
        : { x: from, y: Math.min(zero, end), width: thick - 1, height: Math.abs(zero - end), whisker: ends && [mid, ends[0], mid, ends[1]] };
      return { ...shape, lying, title: axis.categories[at] ?? figure(at), text };
    });
  }

  binBoxes(series, plan) {
    const floor = plan.y.at(plan.y.axis.log ? plan.y.low : Math.max(0, plan.y.low));
    return series.counts.map((count, i) => {
      const from = plan.x.at(series.edges[i]), to = plan.x.at(series.edges[i + 1]), top = plan.y.at(count);
      const title = `${words(series.edges[i], this.data.x)} to ${words(series.edges[i + 1], this.data.x)}`;
      return { x: from, y: top, width: to - from - 1, height: floor - top, lying: false, title, text: `${series.name}: ${figure(count)}` };
    });
  }

  listen() {
    let from = null;
    const at = (event) => {
      const box = this.plot.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    // `hand`, where there is one, may take a press and what follows for itself.
    let held = false;
    this.plot.addEventListener("pointermove", (event) => held ? this.hand("move", at(event)) : (from !== null && event.pointerType === "mouse" ? this.mark(from, at(event).x) : this.point(at(event), event)));
    this.plot.addEventListener("pointerdown", (event) => {
      held = Boolean(this.hand && this.plan && event.button === 0 && this.hand("down", at(event)));
      if (held) { this.plot.setPointerCapture(event.pointerId); return; }
      from = event.pointerType === "mouse" && event.button === 0 && !this.data.x.categories.length ? at(event).x : null;
      this.point(at(event), event);
    });
    window.addEventListener("pointerup", (event) => {
      if (held) this.hand("up", at(event));
      held = false;
      if (from !== null && Math.abs(at(event).x - from) > 12) this.zoomTo(from, at(event).x);
      from = null;
    });
    this.plot.addEventListener("pointerleave", () => this.leave());
    this.plot.addEventListener("dblclick", () => { this.zoom = null; this.draw(); });
  }

  zoomTo(one, other) {
    const clip = (p) => this.plan.x.back(Math.min(Math.max(p, this.plan.left), this.plan.right));
    this.zoom = [clip(Math.min(one, other)), clip(Math.max(one, other))];
    this.draw();
  }

  mark(one, other) {
    const context = this.wipe();
    context.fillStyle = this.paint.faint;
    context.globalAlpha = 0.25;
    context.fillRect(Math.min(one, other), this.plan.top, Math.abs(other - one), this.plan.bottom - this.plan.top);
    context.globalAlpha = 1;
  }

  wipe() {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.over.width, this.over.height);
    return context;
  }

  leave() {
    if (!this.plan) return;
    this.wipe();
    tip.hidden = true;
  }

  point(at, event) {
    const plan = this.plan;
    if (!plan) return;
    const outside = at.x < plan.left - 8 || at.x > plan.right + 8 || at.y < plan.top - 8 || at.y > plan.bottom + 8;
    const found = outside ? null : underPointer(this.data, plan, this.shown, at);
    if (!found) { this.leave(); return; }
    const context = this.wipe();
    if (found.x !== null) {
      context.strokeStyle = this.paint.faint;
      context.lineWidth = 1;
      stroke(context, found.x, plan.top, found.x, plan.bottom);
    }
    if (found.strong) drawSeries(context, found.strong, plan, this.paint, true);
    for (const mark of found.marks) {
      context.fillStyle = this.paint.paper;
      context.strokeStyle = mark.series.shades ? this.paint.ink : colourOf(mark.series, this.paint);
      context.lineWidth = 2;
      context.beginPath();
      context.arc(mark.x, mark.y, 4, 0, 7);
      context.fill();
      context.stroke();
    }
    this.tell(found, event);
  }

  tell(found, event) {
    const title = document.createElement("b");
    title.textContent = found.title;
    const rows = found.rows.map((row) => {
      const line = document.createElement("div"), mark = document.createElement("i");
      if (row.series) mark.style.background = colourOf(row.series, this.paint);
      if (row.series) line.append(mark);
      line.append(row.text);
      return line;
    });
    tip.replaceChildren(title, ...rows);
    tip.hidden = false;
    const wide = tip.offsetWidth, high = tip.offsetHeight, right = document.documentElement.clientWidth;
    const x = event.clientX + 16 + wide > right ? event.clientX - wide - 16 : event.clientX + 16;
    tip.style.left = `${Math.max(6, Math.min(x, right - wide - 6))}px`;
    tip.style.top = `${Math.max(6, event.pointerType === "touch" ? event.clientY - high - 24 : Math.min(event.clientY + 14, window.innerHeight - high - 6))}px`;
  }
}
