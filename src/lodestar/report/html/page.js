// The page: charts start when they come into view; tables that sort and open up; the list of contents.

const charts = new Map();
for (const element of document.querySelectorAll("figure.chart")) charts.set(element, new Chart(element));

// One chart a frame, so that scrolling never waits for several.
const waiting = [];
function wakeOne() {
  waiting[0].start();
  waiting.shift();
  if (waiting.length) requestAnimationFrame(wakeOne);
}
const waking = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      waking.unobserve(entry.target);
      waiting.push(charts.get(entry.target));
      if (waiting.length === 1) requestAnimationFrame(wakeOne);
    }
  },
  { rootMargin: "500px 0px" },
);
for (const element of charts.keys()) waking.observe(element);

function redraw() { charts.forEach((chart) => chart.draw()); }
window.addEventListener("beforeprint", () => charts.forEach((chart) => { chart.start(); chart.draw(); }));
window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

const numeric = (text) => {
  const found = Number.parseFloat(text.replace(/[,\s]/g, ""));
  return Number.isNaN(found) ? null : found;
};
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("th")], body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const shown = [...body.rows].filter((row) => !row.hidden).length;
    const rows = [...body.rows].sort((a, b) => {
      const [one, two] = [a, b].map((row) => row.cells[column].textContent), [n, m] = [numeric(one), numeric(two)];
      const order = n !== null && m !== null ? n - m : n !== null ? -1 : m !== null ? 1 : one.localeCompare(two);
      return up ? order : -order;
    });
    rows.forEach((row, i) => { row.hidden = i >= shown; });
    body.append(...rows);
  }));
}
for (const button of document.querySelectorAll("button.more")) {
  button.addEventListener("click", () => {
    for (const row of button.previousElementSibling.querySelectorAll("tr")) row.hidden = false;
    button.remove();
  });
}

const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
const reading = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
  },
  { rootMargin: "-20% 0px -70% 0px" },
);
for (const part of document.querySelectorAll("main > section")) reading.observe(part);
