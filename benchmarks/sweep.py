"""The sweep's bar: scheduling, storing and display cost under 2 % of trial time, at trials of 2 s.

Comes in: nothing. Goes out: shares of trial time. The real command runs on a terminal of its own, with the live table.
Sleeping trials show what the sweep itself adds: the gaps between a worker's trials, and the whole from the first
trial's start to the last one's end against the ideal. Computing trials take 2 s of CPU each on every core, so they also
feel the driver's own work: their stretch is set beside that of the same work in plain processes without a sweep.
"""

import itertools
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from lodestar.runs import RunStore
from lodestar.sweep.executors.cores import cores_here

SECONDS = 2.0
POINTS = 200
BAR = 0.02


def sleeping(*, schedule, seed, total_steps, report):
    """A trial that sleeps for 2 s, reporting as it goes."""
    return _trial(report, total_steps, time.perf_counter, time.sleep)


def computing(*, schedule, seed, total_steps, report):
    """A trial that uses 2 s of CPU, reporting as it goes."""
    return _trial(report, total_steps, time.thread_time, _compute)


def _trial(report: Any, total_steps: int, clock: Any, spend: Any) -> dict[str, Any]:
    began, start = time.time(), clock()
    for step in range(1, total_steps + 1):
        spend(max(start + SECONDS * step / total_steps - clock(), 0.0))
        report(step, loss=1 / step, metric=step)
    return {"began": began, "ended": time.time(), "pid": os.getpid()}


def _compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def run(trials_a_core: int = 10) -> dict[str, Any]:
    """Measure both kinds."""
    found: dict[str, Any] = {"cores": cores_here(), "trials_a_core": trials_a_core, "bar": BAR}
    slots = cores_here()
    alone = _alone(slots, 3)
    for kind in ("sleeping", "computing"):
        with tempfile.TemporaryDirectory() as folder:
            wall, driver = _swept(kind, trials_a_core * slots, Path(folder) / "runs")
            rows = [row.facts.extra for row in RunStore(Path(folder) / "runs").list()]
        assert len(rows) == trials_a_core * slots
        found[kind] = _shares(rows, slots, wall, driver)
    found["computing"]["stretch_without_a_sweep"] = alone
    return found


def _shares(rows: list[Any], slots: int, wall: float, driver: list[tuple[float, float]]) -> dict[str, float]:
    spans = sorted((int(row["pid"]), float(row["began"]), float(row["ended"])) for row in rows)
    busy = sum(ended - began for _, began, ended in spans)
    pairs = itertools.pairwise(spans)
    gaps = [after[1] - before[2] for before, after in pairs if before[0] == after[0]]
    first, last = min(began for _, began, _ in spans), max(ended for *_, ended in spans)
    whole = last - first
    used = [cpu for at, cpu in driver if first <= at <= last]
    return {
        "gap_share": sum(gaps) / busy,
        "gap_ms_mean": 1e3 * sum(gaps) / len(gaps),
        "whole_over_ideal": whole * slots / busy - 1,
        "stretch": busy / (SECONDS * len(spans)) - 1,
        "driver_cpu_share": (used[-1] - used[0]) / busy,
        "start_and_end_s": wall - whole,
    }


def _swept(kind: str, trials: int, out: Path) -> tuple[float, list[tuple[float, float]]]:
    """The real command on a pseudo-terminal; wall seconds, and the CPU seconds of the driver itself as time goes."""
    words = ["sweep", f"benchmarks.sweep:{kind}", "--runs", str(trials), "--steps", str(POINTS), "--out", str(out)]
    ours, theirs = pty.openpty()
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "lodestar.cli", *words], stdout=theirs, stderr=theirs)
    os.close(theirs)
    threading.Thread(target=_drain, args=(ours,), daemon=True).start()
    used: list[tuple[float, float]] = []
    while process.poll() is None:
        used.append((time.time(), _cpu_seconds(process.pid)))
        time.sleep(0.1)
    assert process.returncode == 0
    return time.perf_counter() - began, used


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        os.close(terminal)


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _alone(slots: int, trials: int) -> float:
    """The stretch of the same computing in plain processes, one for each core, nobody watching."""
    code = (
        "import os, time; from benchmarks.sweep import computing\n"
        f"found = [computing(schedule=None, seed=0, total_steps={POINTS}, report=lambda *a, **k: None)"
        f" for _ in range({trials})]\n"
        "print(sum(f['ended'] - f['began'] for f in found))"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(slots)]
    return sum(float(p.communicate()[0]) for p in started) / (SECONDS * trials * slots) - 1


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
