"""The bar of the bench: a full table of one task at cpu scale (all methods, tuning, 20 seeds) in 75 minutes on 2 cores.

Comes in: a task. Goes out: what the table would take, from a small one that is really run: five values x one seed of
tuning, two final seeds, all learnings. Its runs are timed and counted up to the full size; learnings by training by the
runs they may make. Seconds a run of each method are told too.

python -m lodestar_bench.studies.table_time --task fmnist-cnn
"""

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

from lodestar.sweep import LocalExecutor
from lodestar_bench.cost import cost
from lodestar_bench.entrant import Entrant
from lodestar_bench.entry import open_bench
from lodestar_bench.plan import TablePlan
from lodestar_bench.protocol import carry_out
from lodestar_bench.results import Results

BAR_MINUTES = 75.0
SMALL_TUNING, SMALL_SEEDS = (5, 1), 2
FULL_TUNING, FULL_SEEDS = (5, 5), 20


def run(task: str = "digits-mlp", scale: str = "cpu", jobs: int = 2) -> dict[str, Any]:
    """Measure and extrapolate; minutes on the wall with `jobs` at once."""
    with tempfile.TemporaryDirectory() as folder, LocalExecutor(jobs) as place:
        bench = open_bench(task, scale, Path(folder), tune=SMALL_TUNING, seeds=SMALL_SEEDS)
        results = carry_out(bench, place)
        full = {entrant.name: _full_seconds(bench.plan, entrant, results) for entrant in bench.plan.entrants}
        compiling = math.fsum(record.compile_seconds for record in results.records.values())
    minutes = (math.fsum(full.values()) + compiling) / jobs / 60
    return {
        "task": task,
        "scale": scale,
        "full_table_minutes": round(minutes, 1),
        "bar_minutes": BAR_MINUTES,
        "jobs": jobs,
        "failed_trials": dict(results.failures),
        "compiling_s": round(compiling, 1),
        "seconds_of_each_method": {name: round(seconds, 1) for name, seconds in full.items()},
    }


def _full_seconds(plan: TablePlan, entrant: Entrant, results: Results) -> float:
    """What a method adds to a full table: runs that others made are counted once, with those others."""
    found = cost(plan, entrant, results)
    tuning = found.tuning_seconds * FULL_TUNING[1] / SMALL_TUNING[1] if entrant.learns == "nothing" else 0.0
    more = FULL_TUNING[1] / SMALL_TUNING[1] if entrant.learns == "by training" else 1.0
    return tuning + more * found.learning_seconds + found.final_seconds * FULL_SEEDS / SMALL_SEEDS


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--task", default="digits-mlp")
    words.add_argument("--scale", default="cpu")
    words.add_argument("--jobs", type=int, default=2)
    print(json.dumps(run(**vars(words.parse_args())), indent=2))
