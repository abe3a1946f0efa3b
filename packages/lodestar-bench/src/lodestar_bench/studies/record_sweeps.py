"""Sweeps of bench tasks, recorded for the replay of pruners: quasi-random schedules, side by side on one core.

Comes in: names of tasks. Goes out: a table of each, `TASK.parquet`: run, step, train_loss, val_accuracy, lr, and the
seconds that a run took (those of the whole, divided by the runs in it: less than a run alone would take). A task that
has its table is passed over.

    python -m lodestar_bench.studies.record_sweeps digits-mlp diamonds-mlp --runs 100 --out sweeps
"""

import argparse
import time
from pathlib import Path

import numpy as np

from lodestar_bench import tasks
from lodestar_bench.arena.contestant import Sweep
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.studies.recorded import Recorded, of_run
from lodestar_bench.studies.sizes import play


def record(task: str, runs: int, seed: int) -> tuple[list[Recorded], float]:
    """The runs of a sweep by the recipe's own optimizer, and the seconds that each took."""
    problem, sweep = tasks.problem(task, "cpu"), Sweep(runs=runs, seed=seed, form="recipe")
    trials = [trial for trial in sweep.trials(problem) if trial.schedule is not None]
    controllers = [Scheduled(trial.schedule) for trial in trials if trial.schedule is not None]
    names, seeds = [trial.name for trial in trials], [trial.seed for trial in trials]
    began = time.perf_counter()
    outcomes = play(problem, sweep.optimizer(problem), controllers, seeds, names)
    return [of_run(outcome.run) for outcome in outcomes], (time.perf_counter() - began) / len(trials)


def write(trials: list[Recorded], seconds: float, path: Path) -> None:
    """A row for each point of each run."""
    import pyarrow
    import pyarrow.parquet

    columns = {
        "run": np.repeat([trial.name for trial in trials], [len(trial.steps) for trial in trials]),
        "step": np.concatenate([trial.steps for trial in trials]),
        "train_loss": np.concatenate([trial.loss for trial in trials]),
        "val_accuracy": np.concatenate([trial.metric for trial in trials]),
        "lr": np.concatenate([trial.lr for trial in trials]),
    }
    columns["seconds"] = np.full(len(columns["step"]), seconds)
    part = path.with_suffix(".part")
    pyarrow.parquet.write_table(pyarrow.table(columns), part)
    part.replace(path)


def main() -> None:
    """Record what is missing."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("tasks", nargs="+")
    told.add_argument("--runs", type=int, default=100)
    told.add_argument("--seed", type=int, default=0, help="of the sweep; others than 0 get a name of their own")
    told.add_argument("--out", type=Path, required=True, help="folder of the tables")
    given = told.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for task in given.tasks:
        path = given.out / (f"{task}-{given.seed}.parquet" if given.seed else f"{task}.parquet")
        if not path.exists():
            trials, seconds = record(task, given.runs, given.seed)
            write(trials, seconds, path)
            print(f"{task}: {len(trials)} runs, {seconds:.2f} s each", flush=True)


if __name__ == "__main__":
    main()
