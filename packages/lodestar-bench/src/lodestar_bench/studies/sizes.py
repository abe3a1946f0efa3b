"""Sweep small, steer big: thirty runs of smaller jobs, then the full job on fresh seeds, by our law and public rules.

Comes in: a task, what is made smaller (width, batch or length), a form of the optimizer, seeds of the sweep. Goes out,
as lines of JSON, one for each contestant, as soon as its runs are made; a second call goes on where the first ended:

- the plan of a forecaster fitted to runs at 1/16, 1/8 and 1/4, replayed; and the same steered (width);
- the plan of `lodestar tune --sizes ... --size ...`, which picks each small run by what it tells of the full job:
  thirty runs, and the work of two full ones or of the quasi-random sweep at most (width);
- the winner of that sweep replayed as it is, and by the square-root rule;
- release one's way: a forecaster that knows no sizes, steered;
- plain schedules tuned with 25 *full* runs each.

With `--by same` the thirty runs are full jobs: the loop against its own first plan, replayed, where nothing is wrong.

    python -m lodestar_bench.studies.sizes cifar10-mlp stories-chars --by width --out sizes.jsonl
    python -m lodestar_bench.studies.sizes --out sizes.jsonl --table
"""

import argparse
import copy
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.forecaster import Forecaster
from lodestar.forecaster.at_scale import at_scale
from lodestar.planning import plan
from lodestar.runs import Direction, Run, Status
from lodestar.scheduler import Scheduler
from lodestar.schedules import Schedule
from lodestar_bench import methods, tasks
from lodestar_bench._threads import one_thread
from lodestar_bench.arena import lockstep
from lodestar_bench.arena.contestant import Sweep
from lodestar_bench.method import AbstractController, Optimizer
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.methods.steered import Steered
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.statistics import paired, spread
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.train import TrainingOutcome

RELEASE_ONE: dict[str, Any] = {"hysteresis": 0.15, "least_near": None, "rescale_by": "run"}
SMALLER = (16, 8, 4)
RUNS = 30  # of the sweep, over all sizes
WORK = 2.0  # of a search over sizes, in full runs; or that of the quasi-random sweep, where this is more
SEEDS, FIRST_SEED, TUNE_SEEDS = 20, 1000, 5
AT_ONCE = 20  # runs in one program
BY = ("width", "batch", "length", "same")
SQUARE_ROOT = {
    "width": 0.5,
    "batch": -0.5,
    "length": 0.0,
    "same": 0.0,
}  # rate ~ value^-this; for the length no rule agrees with another
BASELINES = {"recipe": ("linear", "wsd", "cosine"), "averaged": ("averaged",)}


@dataclasses.dataclass(frozen=True)
class Case:
    """One sweep and the full job it is for."""

    task: str
    by: str
    form: str
    sweep: int

    def problem(self, smaller: int = 1) -> AbstractProblem:
        """The job, so many times smaller."""
        whole = tasks.problem(self.task, "cpu")
        if smaller == 1:
            return whole
        if self.by == "width":
            return tasks.narrower(self.task, "cpu", smaller)
        assert isinstance(whole, Classification)
        other = copy.copy(whole)
        if self.by == "batch":
            other.batch_size = whole.batch_size // smaller
        else:
            other.total_steps = whole.total_steps // smaller
            other.evaluate_every = max(1, whole.evaluate_every // smaller)
        return other.with_model(whole.model)

    def facts(self, smaller: int = 1) -> dict[str, float]:
        """What is known of such a job; a width is a share of the full one."""
        problem = self.problem(smaller)
        return {
            "width": 1.0 / smaller if self.by == "width" else 1.0,
            "batch_size": float(problem.batch_size),
            "total_steps": float(problem.total_steps),
        }


def small_runs(case: Case, sizes: Sequence[int] = SMALLER) -> tuple[list[Run], dict[str, Schedule]]:
    """The sweep: as many quasi-random schedules at each size, others at each."""
    runs, schedules = [], {}
    for smaller in sizes:
        problem = case.problem(smaller)
        sweep = Sweep(runs=RUNS // len(sizes), seed=100 * case.sweep + smaller, form=case.form)
        trials = sweep.trials(problem)
        names = [f"{trial.name}-{smaller}" for trial in trials]
        made = [trial.schedule for trial in trials if trial.schedule is not None]
        facts: list[dict[str, Any]] = [{**case.facts(smaller), "method": "sweep"} for _ in trials]
        outcomes = play(
            problem, sweep.optimizer(problem), [*map(Scheduled, made)], [t.seed for t in trials], names, facts
        )
        runs += [outcome.run for outcome in outcomes]
        schedules |= dict(zip(names, made, strict=True))
    return runs, schedules


def play(
    problem: AbstractProblem,
    optimizer: Optimizer,
    controllers: Sequence[AbstractController],
    seeds: Sequence[int],
    names: Sequence[str],
    facts: Sequence[dict[str, Any]] | None = None,
) -> list[TrainingOutcome]:
    """Some runs, side by side, on one core."""
    found = []
    for first in range(0, len(names), AT_ONCE):
        here = slice(first, first + AT_ONCE)
        given = None if facts is None else facts[here]
        found += lockstep.play(problem, optimizer, controllers[here], seeds[here], names[here], facts=given, lanes=1)
    return found


def fitted(runs: Sequence[Run], *, seed: int, sizes: bool) -> Forecaster:
    """A forecaster of the sweep, with or without what its runs say of their size."""
    from lodestar.fitting import fit

    if not sizes:
        hidden = ("width", "batch_size", "total_steps")
        runs = [
            dataclasses.replace(
                run,
                facts=dataclasses.replace(
                    run.facts, extra={key: value for key, value in run.facts.extra.items() if key not in hidden}
                ),
            )
            for run in runs
        ]
    usual = methods.method("lodestar").fits["cpu"]  # pyright: ignore[reportAttributeAccessIssue]
    return fit(runs, seed=seed, **usual)


def contestants(
    case: Case, work: float | None = None
) -> Iterator[tuple[str, Callable[[], tuple[Callable[[int], AbstractController], dict]]]]:
    """Each by name, and how its controllers are made: for a seed. Sweep and fits are made when first asked for."""
    kept: dict[str, Any] = {}
    job, steps = case.facts(), case.problem().total_steps

    def sweep() -> tuple[list[Run], dict[str, Schedule]]:
        if "sweep" not in kept:
            kept["sweep"] = small_runs(case, (1,) if case.by == "same" else SMALLER)
        return kept["sweep"]

    def forecaster(sizes: bool) -> Forecaster:
        name = "fitted" if sizes else "fitted without sizes"
        if name not in kept:
            kept[name] = fitted(sweep()[0], seed=case.sweep, sizes=sizes)
        return kept[name]

    def replayed(scale: float) -> tuple[Callable[[int], AbstractController], dict]:
        runs, schedules = sweep()
        sign = 1.0 if case.problem().direction is Direction.MAX else -1.0
        fine = [run for run in runs if run.status is Status.FINISHED]
        winner = max(fine, key=lambda run: sign * float(run.metric.values[-1]))
        rates = scale * schedules[winner.name].rates
        spans = np.interp(np.arange(1, steps + 1) / steps, np.arange(1, len(rates) + 1) / len(rates), rates)
        return lambda seed: Scheduled(Schedule("winner", spans)), {"peak_lr": float(spans.max()), "winner": winner.name}

    def searched() -> tuple[Callable[[int], AbstractController], dict]:
        from lodestar_bench.studies.small_search import cost, search

        most = max(WORK, cost(case, SMALLER, RUNS)) if work is None else work
        found = search(case, SMALLER, work=most, runs=RUNS)
        return lambda seed: Scheduled(found.schedule), {"peak_lr": found.schedule.peak, **found.facts}

    def planned() -> tuple[Callable[[int], AbstractController], dict]:
        turned = at_scale(forecaster(True), job)
        made = plan(turned.forecaster, steps)
        law = turned.forecaster.law
        return lambda seed: Scheduled(made.schedule), {
            "peak_lr": made.schedule.peak,
            "words": made.words,
            "forecast": [float(getattr(made.forecast.metric, part)[-1]) for part in ("centre", "lower", "upper")],
            "law": law.to_dict() if law else None,
        }

    def steered(sizes: bool, **settings: Any) -> tuple[Callable[[int], AbstractController], dict]:
        made = forecaster(sizes)
        # A job states parameters, batch and steps by itself; its width a person states.
        turned = at_scale(made, job).forecaster if sizes else made

        def controller(seed: int) -> AbstractController:
            return Steered(Scheduler(_as_loaded(turned), steps, seed=seed, **settings))

        return controller, {"peak_lr": float(Scheduler(_as_loaded(turned), steps, seed=0, **settings).plan().peak)}

    def first_plan() -> tuple[Callable[[int], AbstractController], dict]:
        made = Scheduler(_as_loaded(at_scale(forecaster(True), job).forecaster), steps, seed=0).plan()
        return lambda seed: Scheduled(made), {"peak_lr": made.peak}

    if case.by == "same":
        yield "its first plan", first_plan
        yield "steered", lambda: steered(True)
        return
    power = SQUARE_ROOT[case.by]
    if case.by == "width":
        yield "tune over sizes", searched
    yield "plan", planned
    yield "winner replayed", lambda: replayed(1.0)
    yield "winner, square-root rule", lambda: replayed(4.0**-power)
    if case.by == "width":
        yield "steered", lambda: steered(True, initial_plan="search")
        yield "steered, release one's plan", lambda: steered(True, initial_plan="whole")
        yield "release one", lambda: steered(False, initial_plan="whole", **RELEASE_ONE)


def _as_loaded(forecaster: Forecaster) -> Forecaster:
    """A turned forecaster that the scheduler takes as it is: its law has been applied."""
    return dataclasses.replace(forecaster, law=None)


def tuned(
    case: Case, name: str
) -> Iterator[tuple[str, Callable[[], tuple[Callable[[int], AbstractController], dict]]]]:
    """A plain schedule whose rate is chosen with 25 full runs."""
    method, problem = methods.method(name), case.problem()

    def made() -> tuple[Callable[[int], AbstractController], dict]:
        values = method.grid(problem)
        wanted = {f"tune/{value:g}/{seed}": (value, seed) for value in values for seed in range(TUNE_SEEDS)}
        made = [method.controller(problem, value, seed=seed, knowledge=None) for value, seed in wanted.values()]
        outcomes = play(
            problem, method.optimizer(problem, values[0]), made, [seed for _, seed in wanted.values()], list(wanted)
        )
        sign = 1.0 if problem.direction is Direction.MAX else -1.0
        found = [sign * float(outcome.run.facts.extra.get("best_metric", -math.inf)) for outcome in outcomes]
        value = values[int(np.argmax(np.reshape(found, (len(values), TUNE_SEEDS)).mean(axis=1)))]
        return lambda seed: method.controller(problem, value, seed=seed, knowledge=None), {"peak_lr": value}

    yield f"{name}, 25 full runs", made


def carry_out(
    case: Case,
    out: Path,
    only: Sequence[str] | None = None,
    first_seed: int = FIRST_SEED,
    work: float | None = None,
) -> None:
    """Every contestant that has no line yet."""
    listed = [*contestants(case, work)] + [item for name in BASELINES[case.form] for item in tuned(case, name)]
    problem = case.problem()
    for name, make in listed:
        if only and name not in only:
            continue
        key = dataclasses.asdict(case) | {"contestant": name}
        if name.endswith("full runs"):
            key |= {"sweep": 0, "by": "any"}  # it depends on neither: the full job is the same
        if any(all(line.get(k) == v for k, v in key.items()) for line in lines(out)):
            continue
        began = time.perf_counter()
        controller, facts = make()
        seeds = range(first_seed, first_seed + SEEDS)
        optimizer = Sweep(form=case.form).optimizer(problem)
        if name.endswith("full runs"):
            optimizer = methods.method(name.partition(",")[0]).optimizer(problem, facts["peak_lr"])
        outcomes = play(problem, optimizer, [controller(seed) for seed in seeds], list(seeds), [f"{s}" for s in seeds])
        tests = [outcome.test.metric for outcome in outcomes]
        rescaled = [int(outcome.run.facts.extra.get("decisions_rescaled", 0) or 0) for outcome in outcomes]
        line = key | facts | {"tests": tests, "rescaled": rescaled, "seconds": round(time.perf_counter() - began, 1)}
        with out.open("a") as file:
            file.write(json.dumps(line, default=float) + "\n")
        print(json.dumps({k: v for k, v in line.items() if k not in ("law", "tests")} | _mean(tests)), flush=True)


def _mean(tests: Sequence[float]) -> dict[str, float]:
    found = spread(tests)
    return {"mean": round(100 * found.mean, 2), "std": round(100 * found.std, 2)}


def lines(out: Path) -> list[dict[str, Any]]:
    """What was measured so far."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []


def table(out: Path) -> None:
    """Means of all seeds and sweeps, and the plan's paired difference to each, by case."""
    found = lines(out)
    for task, by, form in dict.fromkeys((x["task"], x["by"], x["form"]) for x in found if x["by"] != "any"):
        here = [x for x in found if (x["task"], x["form"]) == (task, form) and x["by"] in (by, "any")]
        print(f"\n{task}, {by}, {form}")
        names = dict.fromkeys(x["contestant"] for x in here)
        ours = "steered" if "steered" in names else "plan"
        for name in names:
            of = [x for x in here if x["contestant"] == name]
            gaps = [
                a - b
                for x in here
                if x["contestant"] == ours
                for y in of
                if y["sweep"] == x["sweep"] or name.endswith("full runs")
                for a, b in zip(x["tests"], y["tests"], strict=True)
                if not math.isnan(a) and not math.isnan(b)
            ]
            if tasks.problem(task, "cpu").direction is Direction.MIN:
                gaps = [-gap for gap in gaps]
            tests, gap = [100 * t for x in of for t in x["tests"]], paired([100 * g for g in gaps], [0.0] * len(gaps))
            peaks = " ".join(f"{x['peak_lr']:.2g}" for x in of)
            print(
                f"  {name:32s} {np.nanmean(tests):6.2f} +- {np.nanstd(tests, ddof=1):4.2f}  "
                f"{ours} less it {gap.mean:+5.2f} (p {gap.p:.2g})  peaks {peaks}"
            )


def main() -> None:
    """The command."""
    one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--by", nargs="+", default=["width"], choices=BY)
    parser.add_argument("--form", nargs="+", default=["recipe"], choices=list(BASELINES))
    parser.add_argument("--sweeps", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--only", nargs="+", help="Contestants by name; default: all.")
    parser.add_argument("--work", type=float, help="Of the search over sizes, in full runs.")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="Of the twenty runs along what each says.")
    given = parser.parse_args()
    for sweep in given.sweeps:
        for by in given.by:
            for form in given.form:
                for task in given.tasks:
                    carry_out(Case(task, by, form, sweep), given.out, given.only, given.first_seed, given.work)
    if given.table:
        table(given.out)


if __name__ == "__main__":
    main()
