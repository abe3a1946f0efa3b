// Light or dark: as the system has it until the reader chooses. `redraw`, of whoever includes this, draws the charts anew.

const system = window.matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
const keep = (value) => { try { localStorage.setItem("lodestar-theme", value); } catch { /* a file may not be allowed to */ } };
const kept = () => { try { return localStorage.getItem("lodestar-theme"); } catch { return null; } };
function setTheme(value) {
  root.dataset.theme = value;
  redraw();
}
setTheme(kept() || (system.matches ? "dark" : "light"));
system.addEventListener("change", () => { if (!kept()) setTheme(system.matches ? "dark" : "light"); });
document.getElementById("theme").addEventListener("click", () => {
  const next = root.dataset.theme === "dark" ? "light" : "dark";
  keep(next);
  setTheme(next);
});
