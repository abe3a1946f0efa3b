"""The scheduler's bars: one decision (30 samples, 600 points) in at most 10 ms, the first at most 100 ms after load.

Comes in: nothing. Goes out: median and 95th percentile of a decision for both presets and among known schedules, wall
and processor time (they part when others use the machine), the first decision after load in a fresh process, growth
with samples (1,000 may cost 40 times what 30 do) and points, and the memory a job gains by it. BLAS keeps its threads,
as it does in most jobs. The authors' code takes 550 to 1000 ms a decision, 14,600 ms the first, on two cores.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.responding import drawn, responding_forecaster

from lodestar.forecaster import Architecture, Forecaster
from lodestar.forecaster.known_schedules import judge
from lodestar.scheduler import DEFAULT, PAPER, Scheduler, Settings
from lodestar.testing import random_forecaster

BAR_MS, BAR_FIRST_MS, BAR_MEMORY_MB, BAR_JUDGED_MS, BAR_SAMPLES = 10.0, 100.0, 80.0, 150.0, 40.0
SCHEDULES = dataclasses.replace(DEFAULT, initial_plan="search", judge="schedules")
AUTHORS_MS, AUTHORS_FIRST_MS = 550.0, 14_600.0
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_FRESH = """
import json, resource, sys, time
import numpy as np
def memory():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize() / 1e6
before, start = memory(), time.perf_counter()
from lodestar.scheduler import Scheduler
imported = time.perf_counter()
scheduler = Scheduler(sys.argv[1], 6000)
loaded = time.perf_counter()
for step in range(1, 301):
    scheduler.observe(step, loss=1.9 - 1e-4 * step, metric=0.3)
first = time.perf_counter()
scheduler.lr_at(301)
done = time.perf_counter()
for step in range(302, 6001):
    scheduler.lr_at(step)
    scheduler.observe(step, loss=1.9 - 1e-4 * step, metric=0.3)
print(json.dumps({
    "import_ms": 1e3 * (imported - start), "load_ms": 1e3 * (loaded - imported),
    "first_ms": 1e3 * (loaded - imported + done - first), "memory_mb": memory() - before,
    "jax": "jax" in sys.modules,
}))
"""


def run(repeats: int = 40) -> dict[str, float]:
    """Measure; times in ms, memory in MB."""
    forecaster = _forecaster(600)
    found: dict[str, float] = {}
    for name, settings in (("paper", PAPER), ("default", DEFAULT)):
        found |= {f"{name}_{key}": value for key, value in _decision(forecaster, settings, repeats).items()}
    found |= _among_schedules(repeats)
    found |= _fresh(forecaster)
    for samples in (30, 100, 300, 1000):
        settings = dataclasses.replace(PAPER, samples=samples)
        found[f"samples_{samples}_ms"] = _decision(forecaster, settings, max(3, repeats // 8))["cpu_ms"]
    for points in (600, 2_000, 5_000, 10_000):
        found[f"points_{points}_ms"] = _decision(_forecaster(points), PAPER, max(3, repeats // 8))["cpu_ms"]
    found["samples_1000_over_30"] = found["samples_1000_ms"] / found["samples_30_ms"]
    found["points_10000_over_600"] = found["points_10000_ms"] / found["points_600_ms"]
    found |= {"bar_ms": BAR_MS, "bar_first_ms": BAR_FIRST_MS, "bar_memory_mb": BAR_MEMORY_MB}
    found["times_faster_than_authors"] = AUTHORS_MS / found["paper_median_ms"]
    return found


def _among_schedules(repeats: int) -> dict[str, float]:
    """A decision among schedules for the rest of the run; and 1,000 schedules of 600 points judged before one."""
    forecaster = responding_forecaster()
    rates = np.stack([drawn(seed, 600).rates for seed in range(1000)])
    judged = [_timed(lambda: judge(forecaster, rates)) for _ in range(max(3, repeats // 8))]
    decision = _decision(forecaster, SCHEDULES, repeats)
    return {
        **{f"schedules_{key}": value for key, value in decision.items()},
        "judged_1000_ms": float(np.median([wall for wall, _ in judged])),
        "judged_1000_cpu_ms": float(np.median([cpu for _, cpu in judged])),
    }


def _forecaster(points: int) -> Forecaster:
    """As `lodestar fit` leaves one: 32-bit weights, the default architecture."""
    return random_forecaster(seed=1, points=points, shape=Architecture(), references=20, dtype=np.float32)


def _decision(forecaster: Forecaster, settings: Settings, repeats: int) -> dict[str, float]:
    """One decision halfway through a run, again and again: the job's own call that crosses the window."""
    total = 10 * forecaster.points
    scheduler = Scheduler(forecaster, total, settings=settings)
    half = total // 2
    for step in range(1, half - 5, 10):
        scheduler.lr_at(step)
        scheduler.observe(step, loss=1.75 + 0.02 * np.sin(step), metric=0.3)
    scheduler.lr_at(half - 5)
    saved = scheduler.state_dict()
    walls, processor = [], []
    for _ in range(repeats + 1):
        scheduler.load_state_dict(saved)
        wall, cpu = _timed(lambda: scheduler.lr_at(half + 1))
        walls.append(wall)
        processor.append(cpu)
    assert scheduler.decisions[-1].step == half and scheduler.decisions[-1].samples >= settings.samples
    wall, cpu = np.array(walls[1:]), np.array(processor[1:])
    return {
        "median_ms": float(np.median(wall)),
        "p95_ms": float(np.quantile(wall, 0.95)),
        "best_ms": float(wall.min()),
        "cpu_ms": float(np.median(cpu)),
    }


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def _fresh(forecaster: Forecaster) -> dict[str, float]:
    """A job of its own: import, load, first decision, a whole run; median of three."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forecaster.lodestar"
        forecaster.save(path)
        rows = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", _FRESH, str(path)],
                    capture_output=True,
                    text=True,
                    check=True,
                    env=os.environ | _ONE_THREAD,
                ).stdout
            )
            for _ in range(3)
        ]
    assert not any(row.pop("jax") for row in rows)
    return {key: float(np.median([row[key] for row in rows])) for key in rows[0]}


def main() -> None:
    """Print the figures with their bars."""
    found = run()
    what = {"paper": "paper preset, 30 samples x 600 points", "default": "default preset, 30 samples x 600 points"}
    for name, words in {**what, "schedules": "among schedules for the rest"}.items():
        print(
            f"decision, {words}: median {found[f'{name}_median_ms']:.1f} ms, "
            f"p95 {found[f'{name}_p95_ms']:.1f}, best {found[f'{name}_best_ms']:.1f}, processor time "
            f"{found[f'{name}_cpu_ms']:.1f}  (bar {BAR_MS:.0f})"
        )
    print(
        f"the authors' code: {AUTHORS_MS:.0f} ms and more; here {found['times_faster_than_authors']:.0f} times faster"
    )
    print(
        f"fresh process: import {found['import_ms']:.0f} ms, load {found['load_ms']:.0f} ms, load and first decision "
        f"{found['first_ms']:.0f} ms (bar {BAR_FIRST_MS:.0f}; the authors' {AUTHORS_FIRST_MS:.0f})"
    )
    print(f"memory a whole run adds to a job: {found['memory_mb']:.0f} MB (bar {BAR_MEMORY_MB:.0f})")
    for axis in ("samples", "points"):
        grown = [(key, value) for key, value in found.items() if key.startswith(f"{axis}_")]
        print(
            f"{axis}: " + ", ".join(f"{key.split('_')[1]}: {value:.0f} ms" for key, value in grown if "over" not in key)
        )
    print(
        f"1,000 samples cost {found['samples_1000_over_30']:.0f} times what 30 do (bar {BAR_SAMPLES:.0f}), 10,000 "
        f"points {found['points_10000_over_600']:.0f} times what 600 do (in proportion: 17)"
    )
    print(
        f"1,000 schedules judged: median {found['judged_1000_ms']:.0f} ms, processor time "
        f"{found['judged_1000_cpu_ms']:.0f}  (bar {BAR_JUDGED_MS:.0f})"
    )


if __name__ == "__main__":
    main()
