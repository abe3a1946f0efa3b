"""How fast a fit is: 100 runs x 600 points, batch 20, and the paper's preset beside the default in the same process.

    python -m benchmarks.fit                      speed: 20,000 updates of the default preset, a few of the paper's
    python -m benchmarks.fit --bars               100 runs (bar 90 s) and 10 runs (30 s), as `lodestar fit` does it
    python -m benchmarks.fit --equal 2000         held-out error of both presets after equal updates
    python -m benchmarks.fit --members 4          an ensemble against a single forecaster

Figures of other machines are not comparable; ratios within one run are.
"""

import argparse
import time
from typing import Any

from tests.curves import toy_runs

from lodestar.fitting import FitProgress, fit
from lodestar.fitting.dataset import Prepared, prepare

RATES = (3e-4, 1e-3, 3e-3, 6e-3, 1e-2)


def hundred_runs() -> Prepared:
    """4 shapes x 5 rates x 5 seeds, 600 points each."""
    return prepare(toy_runs(seeds=5, rates=RATES, total=6000, every=10, metric_every=10), points=600)


def ten_runs() -> Prepared:
    """Ten of other schedules, 600 points each."""
    return prepare(list(toy_runs(seeds=1, rates=RATES, total=6000, every=10, metric_every=10))[:10], points=600)


def timed(data: Prepared, **options: Any) -> dict[str, float]:
    """One fit: seconds in all, milliseconds an update once compiled, seconds to compile."""
    marks: list[tuple[int, float]] = []

    def note(report: FitProgress) -> None:
        if report.member == 0:
            marks.append((report.update, time.perf_counter()))

    began, worked = time.perf_counter(), time.process_time()
    made = fit(data, seed=0, on_progress=note, **options)
    total = time.perf_counter() - began
    (first, start), (last, end) = marks[0], marks[-1]
    each = (end - start) / max(1, last - first)
    return {
        "seconds": round(total, 1),
        "processor_seconds": round(time.process_time() - worked, 1),
        "updates": last,
        "ms_per_update": round(1e3 * each, 2),
        "compile_seconds": round(start - began - each * first, 1),
        "held_out_error": round(made.facts["best_error"][0], 5),
    }


def run(*, updates: int = 20_000, paper_updates: int = 60) -> dict[str, Any]:
    """The speed of both presets."""
    data = hundred_runs()
    default = timed(data, updates=updates)
    single = timed(data, updates=updates // 4, members=1)
    paper = timed(data, preset="paper", updates=paper_updates, check_every=max(1, paper_updates // 3))
    return {
        "default": default,
        "default, one member": single,
        "paper": paper,
        "paper_over_default": round(paper["ms_per_update"] / default["ms_per_update"], 1),
        "bar": "at most 180 s in all and 6 ms an update",
    }


def main() -> None:
    """Print the figures asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--bars", action="store_true", help="100 runs and 10 runs, nothing else")
    parser.add_argument("--equal", type=int, help="compare the presets' held-out error after so many updates")
    parser.add_argument("--members", type=int, help="compare an ensemble's cost with one forecaster's")
    asked = parser.parse_args()
    data = hundred_runs()
    if asked.bars:
        for name, runs, bar in (("100 runs", data, 90), ("10 runs", ten_runs(), 30)):
            print(name, timed(runs, updates=asked.updates), f"bar {bar} s", flush=True)
    elif asked.equal:
        for preset in ("default", "paper"):
            changes = {"updates": asked.equal, "check_every": max(1, asked.equal // 20), "members": 1}
            print(preset, timed(data, preset=preset, **changes))
    elif asked.members:
        timed(data, updates=1, members=1)  # compiles what both share
        one, many = (timed(data, updates=asked.updates, members=count) for count in (1, asked.members))
        print("one forecaster", one)
        print(f"{asked.members} members", many)
        print("ratio of seconds", round(many["seconds"] / one["seconds"], 2))
    else:
        for name, value in run(updates=asked.updates).items():
            print(name, value)


if __name__ == "__main__":
    main()
