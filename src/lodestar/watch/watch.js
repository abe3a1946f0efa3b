// The page that watches: a stream of what is new, a schedule drawn by hand, commands. Texts of jobs are only ever text.

const at = (id) => document.getElementById(id);
const KEY = "lodestar-token", WHO = "lodestar-who";
const stored = (key, value) => { try { if (value !== undefined) sessionStorage.setItem(key, value); return sessionStorage.getItem(key); } catch { return value ?? null; } };
if (location.hash.startsWith("#token=")) {
  stored(KEY, location.hash.slice(7));
  history.replaceState(null, "", location.pathname + location.search);
}
const charts = []; // of the job that is looked at, in order
let chosen = new URLSearchParams(location.search).get("job") || "", job = null, stream = null, hand = null, handFan = null;
let decided = ""; // the decisions on the page, as text
function redraw() { for (const chart of charts) chart.draw(); }

function make(tag, content, kind) {
  const element = document.createElement(tag);
  if (content instanceof Node) element.append(content);
  else if (content !== undefined && content !== null) element.textContent = content;
  if (kind) element.className = kind;
  return element;
}
const seconds = (s) => s === null ? "–" : s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
const range = (ends) => (ends ? `${figure(ends[0])} to ${figure(ends[1])}` : "–");
const some = (value) => (isNumber(value) ? figure(value) : "–");
function fill(table, rows) { at(table).tBodies[0].replaceChildren(...rows); }
function say(text, good) {
  at("said").hidden = !text;
  at("said").className = good ? "good" : "";
  at("said").textContent = text;
}

// The table of jobs.
function showTable(rows) {
  at("none").hidden = rows.length > 0;
  const focused = document.activeElement?.dataset?.job;
  fill("jobs", rows.map((row) => {
    const line = make("tr"), name = make("button", row.name);
    name.type = "button";
    name.dataset.job = row.id;
    name.addEventListener("click", () => choose(row.id));
    line.setAttribute("aria-current", String(row.id === chosen));
    const share = `${some(row.step)} of ${some(row.total)}`, end = row.final === null ? "–" : `${some(row.final)} (${range(row.interval)})`;
    const cells = [share, seconds(row.seconds_left), some(row.loss), some(row.metric), end, row.warnings || "–"];
    line.append(make("td", name, "left"), make("td", row.status), ...cells.map((text) => make("td", text, "right")));
    line.lastChild.classList.toggle("warning", row.warnings > 0);
    return line;
  }));
  if (focused) document.querySelector(`button[data-job="${CSS.escape(focused)}"]`)?.focus();
  if (!rows.some((row) => row.id === chosen) && rows.length) choose(rows[0].id, true);
}

function choose(id, quietly) {
  if (chosen === id && job) return;
  [chosen, job, hand, handFan] = [id, null, null, null];
  history.replaceState(null, "", `?job=${encodeURIComponent(id)}`);
  for (const button of document.querySelectorAll("#jobs button")) button.closest("tr").setAttribute("aria-current", String(button.dataset.job === id));
  charts.length = 0;
  at("charts").replaceChildren();
  listen();
  if (!quietly) at("name").focus();
}

// The stream. A server that was killed is asked again until it is back.
function listen() {
  if (stream) stream.close();
  stream = new EventSource(`api/stream?job=${encodeURIComponent(chosen)}`);
  const link = (text, lost) => { at("link").textContent = text; at("link").classList.toggle("lost", lost); };
  stream.addEventListener("open", () => link("live", false));
  stream.addEventListener("error", () => link("the server does not answer; trying again", true));
  stream.addEventListener("table", (event) => showTable(JSON.parse(event.data)));
  stream.addEventListener("job", (event) => { const began = performance.now(); showJob(JSON.parse(event.data)); document.documentElement.dataset.update = String(performance.now() - began); });
}

function showJob(data) {
  const first = job === null;
  job = data;
  at("job").hidden = false;
  at("name").textContent = data.name;
  document.title = `${data.name}: ${data.status}`;
  const end = data.final === null ? "" : `, forecast to end at ${some(data.final)} (${range(data.interval)})`;
  const left = data.seconds_left === null ? "" : `, ${seconds(data.seconds_left)} left`;
  at("lead").textContent = data.summary || `${data.status}: step ${some(data.step)} of ${some(data.total)}${left}${end}`;
  at("facts").textContent = data.facts.join(", ");
  at("warnings").hidden = !data.warnings.length;
  at("warnings").replaceChildren(...data.warnings.map((text) => {
    const line = make("li", make("span", "warning", "tag warning"));
    line.append(` ${text}`);
    return line;
  }));
  if (decided !== (decided = `${chosen} ${JSON.stringify(data.decisions)}`)) fill("decisions", data.decisions.map((d) => {
    const line = make("tr"), heads = ["after step", "what", "forecast", "next rate", "why"];
    const cells = [make("td", some(d.step), "right"), make("td", d.what), make("td", some(d.final), "right"), make("td", some(d.lr), "right"), make("td", d.by ? `${d.why} By ${d.by}.` : d.why, "left")];
    cells.forEach((cell, i) => { cell.dataset.head = heads[i]; });
    line.append(...cells);
    return line;
  }));
  const rest = [...(data.plan ? [data.plan] : []), ...data.alternatives];
  at("others").hidden = !rest.length;
  fill("alternatives", rest.map((other) => {
    const line = make("tr");
    line.append(make("td", other.name, "left"), make("td", some(other.final), "right"), make("td", range([other.lower, other.upper]), "right"));
    return line;
  }));
  showCharts();
  showHand(first);
  showWheel();
}

function showCharts() {
  job.charts.forEach((data, i) => {
    if (!charts[i]) {
      const element = make("figure", undefined, "chart"), plot = make("div", undefined, "plot");
      plot.setAttribute("role", "img");
      element.append(make("figcaption"), plot, make("div", undefined, "legend"));
      at("charts").append(element);
      charts[i] = new Chart(element);
    }
    const { element, plot } = charts[i], lines = data.series.filter((s) => s.kind === "line" && s.y.length);
    element.querySelector("figcaption").textContent = data.title;
    plot.setAttribute("aria-label", `${data.title}: ${lines.map((s) => `${s.name} ${some(s.y.at(-1))}`).join(", ")}`);
    const text = JSON.stringify(data);
    if (charts[i].text === text && !hand) return; // nothing new to draw
    charts[i].text = text;
    charts[i].load(withHand(data, i));
  });
}

// What if, by hand: knots over the rest of the run, moved by the pointer on the chart or by sliders.
const METRIC = 0, RATE = 2;
function withHand(data, i) {
  if (!hand || (i !== RATE && i !== METRIC)) return data;
  const mine = { name: "by hand", group: "by hand", colour: 6 };
  const x = hand.map((k) => k[0]), y = hand.map((k) => k[1]);
  const rate = [{ kind: "line", ...mine, x, y, width: 2.6 }, { kind: "points", ...mine, x, y, size: 5 }];
  const fan = handFan ? [{ kind: "band", ...mine, x: handFan.x, low: handFan.low, high: handFan.high, strength: 0.18 }, { kind: "line", ...mine, x: handFan.x, y: handFan.y, width: 2.2 }] : [];
  return { ...data, series: [...data.series, ...(i === RATE ? rate : fan)] };
}

function showHand(first) {
  at("hint").textContent = job.what_if ? `No what-if: ${job.what_if}` : "Drag the rest of the learning rate in its chart, move the sliders, or choose a family and a rate.";
  at("tools").hidden = Boolean(job.what_if) || !job.knots.length;
  if (first) {
    at("family").replaceChildren(...job.families.map((name) => make("option", name)));
    at("verdict").textContent = "";
    at("length").value = job.total;
    if (job.knots.length) at("rate").value = figure(Math.max(...job.knots.map((k) => k[1])));
  }
  if (hand) { // the run went on: knots that lie behind are gone
    const begun = job.step + 1, kept = hand.filter((k) => k[0] > begun), here = rateAt(hand, begun);
    hand = kept.length ? [[begun, here], ...kept] : null;
    handFan = hand ? handFan : null;
    if (hand) ask({ knots: hand });
  }
  sliders();
  if (charts[RATE]) {
    charts[RATE].element.classList.toggle("hand", !at("tools").hidden);
    charts[RATE].hand = at("tools").hidden ? null : drag;
  }
}

function rateAt(knots, step) {
  const i = knots.findIndex((k) => k[0] >= step);
  if (i <= 0) return knots[i < 0 ? knots.length - 1 : 0][1];
  const [[x0, y0], [x1, y1]] = [knots[i - 1], knots[i]];
  return y0 + ((y1 - y0) * (step - x0)) / (x1 - x0);
}
const most = () => Math.max(job.most || 0, ...job.knots.map((k) => k[1])) || 1;

let grabbed = null;
function drag(kind, point) {
  const plan = charts[RATE].plan, knots = hand || job.knots;
  if (kind === "up") { grabbed = null; return true; }
  if (kind === "down") {
    const near = knots.map((k, i) => [Math.abs(plan.x.at(k[0]) - point.x), i]).sort((a, b) => a[0] - b[0])[0];
    if (!near || near[0] > 40) return false;
    grabbed = near[1];
  }
  if (grabbed !== null) move(grabbed, Math.min(Math.max(plan.y.back(point.y), 0), most()));
  return true;
}

function move(i, rate) {
  hand = (hand || job.knots).map((k, n) => (n === i ? [k[0], rate] : k));
  draw();
  sliders();
  ask({ knots: hand });
}
function draw() { for (const i of [METRIC, RATE]) charts[i].load(withHand(job.charts[i], i)); }

function sliders() {
  const knots = hand || job.knots, top = most(), box = at("sliders");
  if (box.children.length !== knots.length) {
    box.replaceChildren(...knots.map((_, i) => {
      const label = make("label"), input = make("input");
      [input.type, input.min, input.max] = ["range", 0, 1000];
      input.addEventListener("input", () => move(i, (most() * input.value) / 1000));
      label.append(make("span"), make("b"), input);
      return label;
    }));
  }
  knots.forEach(([step, rate], i) => {
    const [name, value, input] = box.children[i].children;
    name.textContent = `rate at step ${some(step)}`;
    value.textContent = figure(rate);
    if (document.activeElement !== input) input.value = (1000 * rate) / top;
    input.setAttribute("aria-valuetext", figure(rate));
  });
}

// One question at a time, the newest next: an answer is never older than the one before.
let asking = false, next = null;
async function ask(what) {
  next = { job: chosen, ...what };
  if (asking) return;
  asking = true;
  while (next) {
    const now = next, began = performance.now();
    next = null;
    const answer = await post("api/what-if", now);
    if (now.job !== chosen) continue;
    if (!answer.error) {
      if (now.words) hand = answer.knots;
      if (!hand) continue;
      handFan = answer.metric;
      draw();
      if (now.words) sliders();
    }
    const plan = job.plan ? `; the plan at ${some(job.plan.final)}` : "";
    at("verdict").textContent = answer.error || `Drawn by hand, the run is forecast to end at ${some(answer.final)} (${some(answer.lower)} to ${some(answer.upper)})${plan}.${answer.beyond ? ` Mind: ${answer.beyond}.` : ""}`;
    document.documentElement.dataset.whatIf = String(performance.now() - began);
  }
  asking = false;
}

async function post(address, body) {
  const headers = { "content-type": "application/json" }, token = stored(KEY);
  if (token && address === "api/command") headers["x-lodestar-token"] = token;
  try {
    return await (await fetch(address, { method: "POST", headers, body: JSON.stringify(body) })).json();
  } catch {
    return { error: "the server does not answer" };
  }
}

at("draw").addEventListener("click", () => ask({ words: `${at("family").value}:${at("rate").value}` }));
at("reset").addEventListener("click", () => {
  [hand, handFan] = [null, null];
  at("verdict").textContent = "";
  draw();
  sliders();
});

// Commands.
function showWheel() {
  const token = stored(KEY), over = job.status === "finished" || job.status === "stopped by hand";
  const why = over ? "The run is over." : !job.control ? "This job takes no commands: it was not started with control=True."
    : !token ? "This page only looks: commands need the token in the address that lodestar watch printed."
    : job.waiting ? `Waiting for the job to take: ${job.waiting}.` : job.paused ? "Steering is paused: the rates stay as they are until it is resumed." : "The job takes a command within a second, or at its next decision.";
  at("wheelhint").textContent = why;
  at("buttons").hidden = over || !job.control || !token;
  document.querySelector("[data-do=take]").disabled = !hand;
}
at("who").value = stored(WHO) || "";
at("who").addEventListener("change", () => stored(WHO, at("who").value));

const values = { scale: () => Number(at("factor").value), extend: () => Number(at("length").value), take: () => hand };
for (const button of document.querySelectorAll("[data-do]")) {
  const words = button.textContent;
  button.addEventListener("click", async () => {
    const what = button.dataset.do;
    if (what === "stop" && button.textContent === words) {
      button.textContent = "really stop?";
      setTimeout(() => { button.textContent = words; }, 5000);
      return;
    }
    const answer = await post("api/command", { job: chosen, do: what, value: values[what] ? values[what]() : null, by: at("who").value });
    say(answer.error || `Sent: ${answer.sent}.`, !answer.error);
  });
}
new MutationObserver(() => { if (job) showWheel(); }).observe(at("verdict"), { childList: true });

listen();
