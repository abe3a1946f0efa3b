"""The run store's bar: 10,000 runs x 1,000 points written and listed in under 60 s.

Comes in: nothing. Goes out: seconds to write and to list, bytes on disk, and the memory that streaming over all of it
takes. Also the unkind case: runs added one at a time, each its own file, listed before and after `compact`.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lodestar.runs import Direction, Facts, Run, RunStore, Series

BAR_SECONDS = 60.0


def made(runs: int, points: int) -> Iterator[Run]:
    """Runs with noisy curves (noise is what does not compress), one at a time."""
    random = np.random.default_rng(0)
    steps = np.arange(1, points + 1) * 10
    fall = 2.0 / np.sqrt(np.arange(1, points + 1))
    for number in range(runs):
        loss = fall + random.normal(0, 0.05, points)
        peak = float(10 ** random.uniform(-4, -1))
        lr = peak * 0.5 * (1 + np.cos(np.pi * steps / steps[-1]))
        facts = Facts(task="made", schedule="cosine", peak_lr=peak, seed=number)
        metric = Series(steps, 1 - 0.3 * loss)
        yield Run(f"run-{number:05d}", Series(steps, loss), metric, Series(steps, lr), Direction.MAX, facts=facts)


def run(runs: int = 10_000, points: int = 1_000, singles: int = 1_000) -> dict[str, float]:
    """Measure; all times in seconds, memory in MB."""
    found: dict[str, float] = {"runs": runs, "points": points}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many"
        start = time.perf_counter()
        RunStore(path).add_many(made(runs, points))
        found["write_s"] = time.perf_counter() - start
        found["list_s"] = _seconds_to_list(path, runs)
        found["write_and_list_s"] = found["write_s"] + found["list_s"]
        found["bar_s"] = BAR_SECONDS
        found["disk_mb"] = sum(file.stat().st_size for file in path.iterdir()) / 1e6
        found["raw_mb"] = runs * points * 3 * 16 / 1e6
        found |= _streamed(path, runs)
        found |= _one_at_a_time(Path(folder) / "singles", singles, points)
    return found


def _one_at_a_time(path: Path, singles: int, points: int) -> dict[str, float]:
    store = RunStore(path)
    start = time.perf_counter()
    for single in made(singles, points):
        store.add(single)
    found = {"singles": float(singles), "add_one_ms": 1e3 * (time.perf_counter() - start) / singles}
    found["list_singles_s"] = _seconds_to_list(path, singles)
    start = time.perf_counter()
    store.compact()
    found["compact_s"] = time.perf_counter() - start
    found["list_compacted_s"] = _seconds_to_list(path, singles)
    return found


def _seconds_to_list(path: Path, runs: int) -> float:
    start = time.perf_counter()
    assert len(RunStore(path).list()) == runs
    return time.perf_counter() - start


def _streamed(path: Path, runs: int) -> dict[str, float]:
    """Iterate over the whole store in a fresh process: how long, and how much memory on top of a listing (Linux)."""
    code = f"""
import json, pathlib, time
from lodestar.runs import RunStore
def peak():  # of this process alone; getrusage would carry the parent's over
    status = pathlib.Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), float("nan"))
store = RunStore({str(path)!r})
assert len(store) == {runs}
before, start = peak(), time.perf_counter()
assert sum(1 for _ in store.iter()) == {runs}
print(json.dumps([time.perf_counter() - start, peak() - before]))
"""
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    seconds, grown = json.loads(printed)
    return {"stream_s": seconds, "stream_extra_mb": grown}


def main() -> None:
    """Print the figures."""
    for name, value in run().items():
        print(f"{name:18} {value:12,.3f}")


if __name__ == "__main__":
    main()
