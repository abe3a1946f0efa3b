"""The bars of `lodestar watch`: 50 jobs of 100,000 logged points, and what control=True costs a job.

Comes in: nothing. Goes out: seconds until the page is first painted and until the table and the charts stand, what an
update takes (from the news on disk to charts drawn: the server's work and the page's), what an answer to a drag takes,
the memory of the server, by the clock and in the server's processor time (they part when others use the machine); the
share of a job's time that control=True adds, in processor time, by turns with a job without it. Needs Chromium.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.report.chromium import FOUND, Browser
from tests.responding import responding_forecaster
from tests.watch.serving import a_job

from lodestar.scheduler import read_log
from lodestar.scheduler.records.points import RECORD, PointsWriter, points_path

JOBS, POINTS = 50, 100_000
BARS = {"first_paint_s": 2.0, "update_ms": 100.0, "what_if_ms": 100.0, "server_mb": 300.0, "control_percent": 0.1}
_PAGE = 1e6 / os.sysconf("SC_PAGE_SIZE")  # pages to the megabyte

_JOB = """
import json, sys, time
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster
forecaster, steps = random_forecaster(seed=1, points=600), 20_000
jobs = [Scheduler(forecaster, steps, log=f"{sys.argv[1]}/{c}.jsonl", control=c, seed=0) for c in (False, True)]
spent = [0.0, 0.0]
for step in range(1, steps + 1):
    for which in (0, 1) if step % 2 else (1, 0):
        began = time.process_time()
        jobs[which].lr_at(step)
        jobs[which].observe(step, loss=1.9 - 1e-5 * step, metric=0.3 if step % 100 == 0 else None)
        spent[which] += time.process_time() - began
looks = jobs[1]._control
looks._next = time.monotonic() + 1e6
calls = 200_000
began = time.process_time()
for step in range(calls):
    looks.ready(False)
nothing_due = (time.process_time() - began) / calls
began = time.process_time()
for step in range(2000):
    for _ in looks.commands(steps, True, ()):
        pass
print(json.dumps({"plain": spent[0] / steps, "controlled": spent[1] / steps, "step": nothing_due,
    "look": (time.process_time() - began) / 2000}))
"""


def run() -> dict[str, Any]:
    """Measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {**_overhead(folder)}
        if FOUND is None:
            return {**found, "page": "not measured: no Chromium on this machine"}
        _fill(folder)
        return {**found, **_page(folder), "bars": BARS}


def _overhead(folder: Path, step_ms: float = 10.0) -> dict[str, float]:
    """What control=True adds to a step, as a share of a step of 10 ms; a look costs once a second."""
    words = [sys.executable, "-c", _JOB, str(folder)]
    row = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    each = row["step"] + row["look"] * step_ms / 1e3
    for file in folder.iterdir():
        file.unlink()
    return {
        "control_microseconds_a_step": 1e6 * each,
        "control_percent": 100 * each / (step_ms / 1e3),
        "look_microseconds": 1e6 * row["look"],
        "scheduler_microseconds_a_step": 1e6 * row["plain"],
        "scheduler_microseconds_a_step_controlled": 1e6 * row["controlled"],
    }


def _fill(folder: Path) -> None:
    """Real logs of jobs that are half way, and beside each as many points as asked for."""
    responding_forecaster().save(folder / "f.lodestar")
    steps = np.arange(1, POINTS + 1)
    for place in range(JOBS):
        path, rng = folder / f"job-{place:02d}.jsonl", np.random.default_rng(place)
        loss = 0.5 + 2.0 / (1 + steps / 2e4) + 0.05 * rng.standard_normal(POINTS)
        if place < 5:
            job = a_job(folder, folder / "f.lodestar", path.stem, 2 * POINTS, seed=place)
            for step in range(200, POINTS + 1, 200):
                job.lr_at(step)
                job.observe(step, loss=float(loss[step - 1]), metric=0.4 + 0.1 * step / POINTS)
        else:
            shutil.copy(folder / f"job-{place % 5:02d}.jsonl", path)
        rows = np.zeros(POINTS, RECORD)
        rows["step"], rows["job"], rows["loss"] = steps, int(read_log(path).header["job"], 16), loss
        rows["metric"], rows["lr"] = np.where(steps % 100, np.nan, 0.4 + 0.1 * steps / POINTS), 1e-3
        head = points_path(folder / "job-00.jsonl").read_bytes()[: RECORD.itemsize]
        points_path(path).write_bytes(head + rows.tobytes())


def _page(folder: Path) -> dict[str, Any]:
    words = [sys.executable, "-m", "lodestar", "watch", str(folder), "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    browser = Browser(folder / "profile")
    try:
        return _watched(browser, address, server.pid, folder)
    finally:
        browser.close()
        server.terminate()
        server.wait(30)
        server.stdout.close()


def _watched(browser: Browser, address: str, server: int, folder: Path) -> dict[str, Any]:
    began, spent = time.perf_counter(), _cpu(server)
    browser.open(address)
    browser.wait(f"document.querySelectorAll('#jobs tbody tr').length === {JOBS}")
    table, table_cpu = time.perf_counter() - began, _cpu(server) - spent
    browser.wait("document.querySelectorAll('#charts figure[data-drawn]').length >= 3")
    charts = time.perf_counter() - began
    paint = browser.js("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    chosen = browser.js("new URLSearchParams(location.search).get('job')")
    log = next(p for p in folder.glob("*.jsonl") if _is(p, chosen))
    updates = [_update(browser, server, log, step) for step in range(POINTS + 1, POINTS + 8)]
    drags = [_drag(browser, server, value) for value in range(100, 800, 100)]
    return {
        "first_paint_s": paint / 1e3,
        "table_of_all_jobs_s": table,
        "table_server_cpu_s": table_cpu,
        "charts_s": charts,
        "update_server_cpu_ms": 1e3 * float(np.median([u[0] for u in updates])),
        "update_page_ms": float(np.median([u[1] for u in updates])),
        "what_if_ms": float(np.median([d[1] for d in drags])),
        "what_if_server_cpu_ms": 1e3 * float(np.median([d[0] for d in drags])),
        "server_mb": int(Path(f"/proc/{server}/statm").read_text().split()[1]) / _PAGE,
    }


def _update(browser: Browser, server: int, log: Path, step: int) -> tuple[float, float]:
    """One more point on disk until it is drawn: the server's processor time, and the page's milliseconds."""
    time.sleep(1.0)
    idle = _cpu(server)
    time.sleep(0.5)
    idle, before = _cpu(server) - idle, _cpu(server)
    browser.js("delete document.documentElement.dataset.update")
    writer = PointsWriter()
    writer._waiting = [(step, 1.0, 0.5, 1e-3)]
    began = time.perf_counter()
    writer.flush(log, read_log(log).header["job"])
    browser.wait("document.documentElement.dataset.update")
    spent = _cpu(server) - before - idle * (time.perf_counter() - began) / 0.5
    return max(spent, 0.0), float(browser.js("document.documentElement.dataset.update"))


def _drag(browser: Browser, server: int, value: int) -> tuple[float, float]:
    before = _cpu(server)
    browser.js(
        "delete document.documentElement.dataset.whatIf;"
        f"(() => {{const i = document.querySelectorAll('#sliders input')[3]; i.value = {value};"
        "i.dispatchEvent(new Event('input'))})()"
    )
    browser.wait("document.documentElement.dataset.whatIf")
    return _cpu(server) - before, float(browser.js("document.documentElement.dataset.whatIf"))


def _is(path: Path, key: str) -> bool:
    import hashlib

    return hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12] == key


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the figures."""
    print(json.dumps(run(), indent=2))


if __name__ == "__main__":
    main()
