"""The report's bar: a page over 100 runs x 600 points in under 20 s, under 5 MB, and it scrolls smoothly.

Comes in: nothing. Goes out: seconds of `lodestar report` (wall and CPU, the start of Python included), alone and with a
forecaster of 600 points and ten decision logs; bytes; and, where there is a Chromium, the time until the page has
loaded and how long frames last while it is scrolled from top to bottom, each chart drawing as it comes into view.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.curves import toy_runs
from tests.report.chromium import FOUND, Browser
from tests.scheduler.live import train

from lodestar.runs import RunStore
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

BAR_SECONDS, BAR_MB = 20.0, 5.0
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
STEPS = 6000
_SCROLL = """(async () => {
  const frames = [], page = document.documentElement;
  let last = await new Promise(requestAnimationFrame);
  for (let y = 0; y < page.scrollHeight; y += 60) {
    window.scrollTo(0, y);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  frames.sort((a, b) => a - b);
  const at = (share) => frames[Math.floor(share * (frames.length - 1))];
  const drawn = document.querySelectorAll("figure[data-drawn]").length;
  return [frames.length, at(0.5), at(0.95), at(1), drawn];
})()"""


def run() -> dict[str, float]:
    """Measure; times in seconds, frames in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _make(home)
        found = {"runs": 100.0, "points": 600.0, "bar_s": BAR_SECONDS, "bar_mb": BAR_MB}
        found |= _built(home, "plain", ["runs"])
        found |= _built(home, "whole", ["runs", "--model", "m.lodestar", "--log", "logs"])
        if FOUND is not None:
            found |= _scrolled(home)
    return found


def _make(home: Path) -> None:
    runs = toy_runs(seeds=5, rates=RATES, total=STEPS, every=10, metric_every=10)
    assert (len(runs), len(runs[0].loss)) == (100, 600)
    RunStore(home / "runs").add_many(runs)
    forecaster = random_forecaster(seed=1, points=600, members=2)
    forecaster.save(home / "m.lodestar")
    for seed in range(10):
        train(Scheduler(forecaster, STEPS, seed=seed, log=home / "logs" / f"job-{seed}.jsonl"), 1, STEPS)


def _built(home: Path, name: str, words: list[str]) -> dict[str, float]:
    """One report by the command, as a user gives it."""
    page, before, start = home / f"{name}.html", os.times(), time.perf_counter()
    command = [sys.executable, "-m", "lodestar.cli", "report", *words, "-o", str(page)]
    subprocess.run(command, check=True, cwd=home, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {f"{name}_s": wall, f"{name}_cpu_s": cpu, f"{name}_mb": page.stat().st_size / 1e6}


def _scrolled(home: Path) -> dict[str, float]:
    browser = Browser(home / "profile")
    start = time.perf_counter()
    browser.open(home / "whole.html")
    loaded = time.perf_counter() - start
    frames, median, most, worst, drawn = browser.js(_SCROLL)
    problems = len(browser.problems)
    browser.close()
    shown = {"frames": frames, "frame_median_ms": median, "frame_95_ms": most, "frame_worst_ms": worst}
    return {"load_s": loaded, **shown, "charts_drawn": drawn, "console_errors": problems}


def main() -> None:
    """Print the figures."""
    for name, value in run().items():
        print(f"{name:18} {value:12,.3f}")


if __name__ == "__main__":
    main()
