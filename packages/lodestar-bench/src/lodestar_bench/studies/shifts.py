"""Jobs unlike the sweep: the closed loop against its own first plan replayed, and against the sweep's winner replayed.

Comes in: tasks. For each a sweep of 25 quasi-random runs of the recipe's optimizer and a fit to it, as the arena keeps
them; then 20 fresh seeds of the job as it is ("same") and under seven shifts, one at a time:

- width: four times the width; batch: four times the batch, as many updates;
- length: at half time the run is to be twice as long: the scheduler is told to extend, the rest of a replayed
  schedule is stretched over what is left;
- labels: a half of the training labels, the same in all runs, are drawn anew from all labels (validation and test as
  they are); decay: ten times the weight decay (0.1 with AdamW where the recipe has Adam without any);
- data: until half time only the first half of the training rows is seen;
- spike: in the first 3 % of the run the rate applied is ten times the planned one; a scheduler sees what was applied.

Past runs and jobs say nothing of their width and batch here, so that a loop has to find out. Contestant "told": they
do, as most trackers and adapters would; its first plan is replayed.

Goes out, as lines of JSON, one for each contestant, as soon as its runs are made; a second call goes on where the first
ended. `--set NAME=VALUE` steers with other settings, under a name of their own.

    python -m lodestar_bench.studies.shifts cifar10-mlp stories-chars manual-gru --home bench-out --out shifts.jsonl
    python -m lodestar_bench.studies.shifts --out shifts.jsonl --table
"""

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.forecaster import Forecaster, load
from lodestar.runs import Direction, Run, Status
from lodestar.scheduler import Scheduler
from lodestar_bench import methods, tasks
from lodestar_bench._threads import one_thread
from lodestar_bench.arena import lockstep
from lodestar_bench.arena.contestant import Sweep, Variant, read_changes, with_changes
from lodestar_bench.arena.home import ArenaHome
from lodestar_bench.arena.judge import Judge
from lodestar_bench.kept_programs import keep_programs
from lodestar_bench.method import AbstractController
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.methods.steered import Steered
from lodestar_bench.optimizers.forms import optimizer
from lodestar_bench.statistics import Paired, paired
from lodestar_bench.studies.shifted_jobs import SHIFTS, TIMES, Met, job, on_new_clock, stretched

RUNS = 25  # of the sweep
SEEDS, FIRST_SEED = 20, 1000
OPEN, WINNER, CLOSED = "open loop", "winner replayed", "closed loop"
SCALED = "plan x"  # "plan x0.5": the open loop, its rates times 0.5 from a quarter of the run on
FROM = 0.25
TOLD = "told"  # past runs and the job state their width and batch; the initial plan, replayed
CLOCKED = "plan on the new clock"  # of a job that gets longer: read at the place in the new length, not stretched


@dataclasses.dataclass(frozen=True)
class Learned:
    """A task's sweep and the forecaster fitted to it; made when first asked for, kept in the arena's home."""

    task: str
    sweep: int
    home: Path

    def _judge(self) -> Judge:
        home = ArenaHome.of(self.home, self.task, "cpu")
        keep_programs(home.path.resolve() / "programs")
        return Judge(tasks.problem(self.task, "cpu"), home, lanes=1)

    @property
    def _variant(self) -> Variant:
        return Variant(sweep=Sweep(runs=RUNS, seed=self.sweep, form="recipe"), fit_seed=self.sweep)

    def forecaster(self) -> Forecaster:
        """Fitted to the sweep."""
        return load(self._judge().fit(self._variant))

    def told(self) -> Forecaster:
        """Fitted to the same runs, which state their width (in units of the usual one) and their batch."""
        from lodestar.fitting import fit

        judge, variant = self._judge(), self._variant
        path = judge.place_of(variant).with_suffix(".told")
        if not path.is_file():
            facts = scale_facts(self.task, "same")
            runs = [_stating(run, facts) for run in judge.sweep(variant.sweep)]
            fit(runs, seed=self.sweep, **methods.method("lodestar").fits["cpu"]).save(path)  # pyright: ignore[reportAttributeAccessIssue]
        return load(path)

    def winner(self) -> np.ndarray:
        """The rates of the sweep's run with the best validation metric."""
        judge, sweep = self._judge(), self._variant.sweep
        schedules = {f"sweep/{trial.name}": trial.schedule for trial in sweep.trials(judge.problem)}
        runs = [run for run in judge.sweep(sweep) if run.status is Status.FINISHED]
        sign = 1.0 if judge.problem.direction is Direction.MAX else -1.0
        best = max(runs, key=lambda run: sign * float(run.facts.extra["best_metric"]))
        schedule = schedules[best.name]
        assert schedule is not None
        return schedule.rates


def _stating(run: Run, facts: dict[str, float]) -> Run:
    return dataclasses.replace(run, facts=dataclasses.replace(run.facts, extra={**run.facts.extra, **facts}))


def scale_facts(task: str, shift: str) -> dict[str, float]:
    """What a job states of its scale."""
    return {"width": float(TIMES if shift == "width" else 1), "batch_size": float(job(task, shift).batch_size)}


def controllers(
    learned: Learned, shift: str, contestant: str, changes: dict[str, Any]
) -> Callable[[int], AbstractController]:
    """How a contestant's controllers are made: for a seed."""
    steps = tasks.problem(learned.task, "cpu").total_steps
    if contestant == WINNER:
        rates = learned.winner()
        return lambda seed: Met(Scheduled(stretched(rates, shift)), shift, steps)
    if contestant == TOLD:
        stated = scale_facts(learned.task, shift)
        first = Scheduler(learned.told(), steps, job=stated, seed=0).plan().values()
        return lambda seed: Met(Scheduled(stretched(first, shift)), shift, steps)
    forecaster, settings = learned.forecaster(), with_changes(Variant(), changes).settings()
    if contestant == CLOSED:
        return lambda seed: Met(Steered(Scheduler(forecaster, steps, settings=settings, seed=seed)), shift, steps)
    planned = Scheduler(forecaster, steps, settings=settings, seed=0).plan().values()
    if contestant == CLOCKED and shift == "length":
        return lambda seed: Met(Scheduled(on_new_clock(planned)), shift, steps)
    factor = float(contestant.removeprefix(SCALED)) if contestant.startswith(SCALED) else 1.0
    planned = planned * np.where(np.arange(steps) < FROM * steps, 1.0, factor)
    return lambda seed: Met(Scheduled(stretched(planned, shift)), shift, steps)


def carry_out(learned: Learned, shift: str, contestant: str, seeds: Sequence[int], given: argparse.Namespace) -> None:
    """Make the runs of a contestant, unless its line is there."""
    changes = read_changes(given.set or ()) if contestant == CLOSED else {}
    name = " ".join([contestant, *(given.set or ())]) if contestant == CLOSED else contestant
    key = {
        "task": learned.task,
        "sweep": learned.sweep,
        "shift": shift,
        "contestant": name,
        "first_seed": seeds[0],
        "seeds": len(seeds),
    }
    if any(all(line.get(k) == v for k, v in key.items()) for line in lines(given.out)):
        return
    began, problem = time.perf_counter(), job(learned.task, shift)
    controller = controllers(learned, shift, contestant, changes)
    made = [controller(seed) for seed in seeds]
    outcomes = lockstep.play(
        problem, optimizer("recipe", problem.recipe), made, list(seeds), [str(seed) for seed in seeds], lanes=1
    )
    counts = [
        {k: v for k, v in one.run.facts.extra.items() if k.startswith(("decisions_", "held"))} for one in outcomes
    ]
    found = {
        "tests": [one.test.metric for one in outcomes],
        "at_end": [one.test_at_end.metric for one in outcomes],
        "did": {k: sum(int(c.get(k, 0) or 0) for c in counts) for c in counts for k in c},
        "seconds": round(time.perf_counter() - began, 1),
    }
    with given.out.open("a") as file:
        file.write(json.dumps(key | found, default=float) + "\n")
    print(json.dumps(key | {"mean": float(np.nanmean(found["tests"]))} | {"did": found["did"]}), flush=True)


def lines(out: Path) -> list[dict[str, Any]]:
    """What was measured so far."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []


def better_by(task: str) -> float:
    """A point: of an accuracy a hundredth; of bits, which are to be small, a hundredth less."""
    return 100.0 if tasks.problem(task, "cpu").direction is Direction.MAX else -100.0


def gaps(one: dict[str, Any], other: dict[str, Any]) -> list[float]:
    """By how many points `one` is better, seed by seed; a run that was lost counts as one that learned nothing."""
    factor = better_by(one["task"])
    worst = min(factor * x for line in (one, other) for x in line["tests"] if not math.isnan(x))
    ends = [[worst if math.isnan(x) else factor * x for x in line["tests"]] for line in (one, other)]
    return [a - b for a, b in zip(*ends, strict=True)]


def in_units(one: dict[str, Any], other: dict[str, Any]) -> list[float]:
    """The same in units of what seeds of `other` differ by."""
    spread = float(np.nanstd([better_by(other["task"]) * x for x in other["tests"]], ddof=1))
    return [gap / spread for gap in gaps(one, other)]


def table(out: Path) -> None:
    """Each contestant's mean by task and shift, less the open loop; and pooled over tasks, in standard deviations."""
    found = lines(out)
    names = [name for name in dict.fromkeys(x["contestant"] for x in found) if name != OPEN]
    for shift in SHIFTS:
        bases = [x for x in found if x["shift"] == shift and x["contestant"] == OPEN]
        for base in bases:
            print(f"{shift:7s} {_words(base)}")
            for name in names:
                for one in _same(found, base, name):
                    print(f"        {_words(one)}  less open {_gap(gaps(one, base))}  {one['did'] or ''}")
        for name in names:
            pairs = [(one, base) for base in bases for one in _same(found, base, name)]
            if pairs:
                pooled = [gap for one, base in pairs for gap in in_units(one, base)]
                print(f"{shift:7s} pooled over {len(pairs)}: {name} less open {_gap(pooled)} deviations")


def _same(found: list[dict[str, Any]], base: dict[str, Any], name: str) -> list[dict[str, Any]]:
    keys = ("task", "sweep", "shift", "first_seed", "seeds")
    return [x for x in found if x["contestant"] == name and all(x[k] == base[k] for k in keys)]


def _words(line: dict[str, Any]) -> str:
    tests = [abs(better_by(line["task"])) * x for x in line["tests"]]
    where = f"{line['task']} sweep {line['sweep']}"
    return f"{where:24s} {line['contestant']:30s} {np.nanmean(tests):7.2f} +- {np.nanstd(tests, ddof=1):5.2f}"


def _gap(values: Sequence[float]) -> str:
    gap: Paired = paired(list(values), [0.0] * len(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{gap.mean:+6.3f} +- {error:.3f} (p {gap.p:.2g})"


def main() -> None:
    """The command."""
    one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--shifts", nargs="+", default=list(SHIFTS), choices=SHIFTS)
    parser.add_argument("--contestants", nargs="+", default=[OPEN, CLOSED, WINNER])
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="a setting of the closed loop")
    parser.add_argument("--sweeps", nargs="+", type=int, default=[0])
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--home", type=Path, default=Path("bench-out"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    for contestant in given.contestants:
        for sweep in given.sweeps:
            for shift in given.shifts:
                for task in given.tasks:
                    carry_out(Learned(task, sweep, given.home), shift, contestant, seeds, given)
    if given.table:
        table(given.out)


if __name__ == "__main__":
    main()
