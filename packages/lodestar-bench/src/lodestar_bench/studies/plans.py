"""The plan of a sweep, followed on fresh seeds: as good as release one's first plan? does its interval hold?

Comes in: tasks, how many runs were swept, seeds of sweeps. Goes out: a line of JSON for each contestant as soon
as its runs are made; a second call goes on where the first ended. Sweeps are tables of `record_sweeps`, in a folder;
those that are missing are recorded. Contestants: what `lodestar plan` gives; release one's first plan, decoded from the
best past runs by the latent ODE; and warm-up + linear, tuned with 25 full runs. The result of a run is its last
validation, as the interval is about; methods are compared by the test metric.

    python -m lodestar_bench.studies.plans digits-mlp cifar10-mlp --sweeps sweeps --out plans.jsonl --table
"""

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lodestar.fitting import fit
from lodestar.forecaster import Forecaster
from lodestar.planning import plan
from lodestar.runs import Run
from lodestar.scheduler import Scheduler
from lodestar.schedules import Schedule
from lodestar_bench import tasks
from lodestar_bench._threads import one_thread
from lodestar_bench.arena.contestant import Sweep
from lodestar_bench.methods.lodestar_default import METHOD
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.statistics import paired, spread
from lodestar_bench.studies import record_sweeps
from lodestar_bench.studies.accuracy import read
from lodestar_bench.studies.sizes import FIRST_SEED, SEEDS, Case, play, tuned

PLAN, FIRST, LINEAR = "plan", "release one's first plan", "linear, 25 full runs"


@dataclasses.dataclass(frozen=True)
class Job:
    """A task, and the sweep that is learned from."""

    task: str
    runs: int
    sweep: int

    def swept(self, folder: Path) -> list[Run]:
        """The first `runs` of the sweep's hundred; recorded if they are not there."""
        path = folder / (f"{self.task}-{self.sweep}.parquet" if self.sweep else f"{self.task}.parquet")
        if not path.exists():
            record_sweeps.write(*record_sweeps.record(self.task, max(self.runs, 100), self.sweep), path)
        return list(read(path))[: self.runs]


def schedules(job: Job, folder: Path, wanted: Sequence[str]) -> dict[str, tuple[Schedule, dict[str, Any]]]:
    """The plans of a sweep by name, and what is forecast of them."""
    steps = tasks.problem(job.task, "cpu").total_steps
    latent = METHOD.fits["cpu"] if FIRST in wanted else {"updates": 1, "members": 1}  # the plan does without
    forecaster = fit(job.swept(folder), seed=job.sweep, **latent)
    found = {PLAN: planned(forecaster, steps)}
    return found | ({FIRST: (first_plan(forecaster, steps), {})} if FIRST in wanted else {})


def planned(forecaster: Forecaster, steps: int) -> tuple[Schedule, dict[str, Any]]:
    """What `lodestar plan` gives, and the 80 % interval of its end."""
    made = plan(forecaster, steps)
    ends = [float(getattr(made.forecast.metric, part)[-1]) for part in ("centre", "lower", "upper")]
    return made.schedule, {"forecast": ends, "words": made.words}


def first_plan(forecaster: Forecaster, steps: int) -> Schedule:
    """Release one's: decoded from the best past runs."""
    return Scheduler(forecaster, steps, seed=0, initial_plan="whole").plan()


def followed(job: Job, schedule: Schedule) -> dict[str, Any]:
    """Twenty fresh seeds along one schedule."""
    problem, seeds = tasks.problem(job.task, "cpu"), list(range(FIRST_SEED, FIRST_SEED + SEEDS))
    optimizer = Sweep(form="recipe").optimizer(problem)
    outcomes = play(problem, optimizer, [Scheduled(schedule) for _ in seeds], seeds, [str(seed) for seed in seeds])
    return {
        "peak_lr": schedule.peak,
        "tests": [outcome.test.metric for outcome in outcomes],
        "ends": [float(outcome.run.metric.values[-1]) for outcome in outcomes],
    }


def held(line: dict[str, Any]) -> int | None:
    """How many ends lie within the interval that was forecast; None without one."""
    if "forecast" not in line:
        return None
    _, low, high = line["forecast"]
    return int(sum(low <= end <= high for end in line["ends"]))


def carry_out(job: Job, folder: Path, out: Path, only: Sequence[str]) -> None:
    """Every contestant of this job that has no line yet."""
    wanted = [name for name in (PLAN, FIRST) if name in only and _line(out, job, name) is None]
    made = schedules(job, folder, wanted) if wanted else {}
    for name in wanted:
        schedule, facts = made[name]
        _write(out, dataclasses.asdict(job) | {"contestant": name} | facts, followed(job, schedule))
    once = Job(job.task, 0, 0)  # it knows no sweep
    if LINEAR in only and _line(out, once, LINEAR) is None:
        controller, facts = dict(tuned(Case(job.task, "same", "recipe", 0), "linear"))[LINEAR]()
        schedule = controller(0).schedule  # pyright: ignore[reportAttributeAccessIssue]
        _write(out, dataclasses.asdict(once) | {"contestant": LINEAR} | facts, followed(job, schedule))


def _write(out: Path, about: dict[str, Any], found: dict[str, Any]) -> None:
    with out.open("a") as stream:
        stream.write(json.dumps(about | found) + "\n")
    print(about["task"], about["runs"], about["sweep"], about["contestant"], _short(about | found), flush=True)


def _lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def _line(out: Path, job: Job, name: str) -> dict[str, Any] | None:
    key = dataclasses.asdict(job) | {"contestant": name}
    return next((line for line in _lines(out) if all(line.get(k) == v for k, v in key.items())), None)


def _short(line: dict[str, Any]) -> str:
    tests = spread(line["tests"])
    return f"{tests.mean:.4f} +- {tests.std:.4f}"


def table(out: Path) -> None:
    """A row for each task, size and seed of a sweep."""
    print("task | runs | sweep | release one's first plan | plan | difference, 95 % | tuned linear | interval held")
    print("---|---|---|---|---|---|---|---")
    for line in _lines(out):
        if line["contestant"] != PLAN:
            continue
        job = Job(line["task"], line["runs"], line["sweep"])
        first, linear = _line(out, job, FIRST), _line(out, Job(job.task, 0, 0), LINEAR)
        gap = "" if first is None else _gap(line, first)
        others = [_short(other) if other else "" for other in (first, linear)]
        print(
            f"{job.task} | {job.runs} | {job.sweep} | {others[0]} | {_short(line)} | {gap} | {others[1]} | "
            f"{held(line)} of {len(line['ends'])}"
        )


def _gap(line: dict[str, Any], other: dict[str, Any]) -> str:
    gap = paired(line["tests"], other["tests"])
    return "" if math.isnan(gap.mean) else f"{gap.mean:+.4f} ({gap.lower:+.4f} to {gap.upper:+.4f})"


def main() -> None:
    """Make what is missing, or print the table."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("tasks", nargs="*")
    told.add_argument("--runs", type=int, nargs="+", default=[100, 25])
    told.add_argument("--sweep", type=int, nargs="+", default=[0], help="seeds of sweeps")
    told.add_argument("--sweeps", type=Path, default=Path("sweeps"), help="folder of recorded sweeps")
    told.add_argument("--only", nargs="+", default=[PLAN, FIRST, LINEAR], choices=[PLAN, FIRST, LINEAR])
    told.add_argument("--out", type=Path, required=True)
    told.add_argument("--table", action="store_true")
    given = told.parse_args()
    given.sweeps.mkdir(parents=True, exist_ok=True)
    one_thread()
    for job in (Job(t, r, s) for t in given.tasks for s in given.sweep for r in given.runs):
        began = time.perf_counter()
        carry_out(job, given.sweeps, given.out, given.only)
        print(f"{job.task}, {job.runs} runs, sweep {job.sweep}: {time.perf_counter() - began:.0f} s", flush=True)
    if given.table:
        table(given.out)


if __name__ == "__main__":
    main()
