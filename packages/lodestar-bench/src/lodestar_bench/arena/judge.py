"""Judges contestants: makes the sweep, fits, tunes baselines, steers fresh seeds; each part once, kept, and reused.

Comes in: a problem, an arena's home, contestants. Goes out: results. A part that is on the disk is not made again: runs
by name, fits by what they were fitted to (settings, seed and Lodestar's own code included), results by contestant,
seeds and code. Stop it anywhere and go on. Comparing is not known here.
"""

import dataclasses
import datetime
import math
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.forecaster import Forecaster, load
from lodestar.runs import Direction, RunSet, Status
from lodestar.scheduler import Scheduler
from lodestar_bench import methods
from lodestar_bench._errors import BenchError
from lodestar_bench.arena import lockstep
from lodestar_bench.arena.code_mark import FITTING, STEERING, code_mark
from lodestar_bench.arena.contestant import Baseline, Contestant, Replay, Sweep, Variant, plain
from lodestar_bench.arena.home import ArenaHome
from lodestar_bench.arena.result import Result, figures, mark_of
from lodestar_bench.choice import choose
from lodestar_bench.method import AbstractController, AbstractMethod, Optimizer
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.methods.steered import Steered, SteeredMethod, open_loop
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.results import Record, Results
from lodestar_bench.train import TrainingOutcome

FIRST_SEED = 1000  # of the final runs, as in the bench
TUNE_SEEDS = 5
AT_ONCE = 20  # runs in one program
Play = Callable[[Sequence[int], Sequence[str]], list[TrainingOutcome]]
"""Runs of some seeds under some names."""
Tell = Callable[[str, int, int], None]
"""Told of progress: what is under way, done, of how many."""


class Judge:
    """The arena of one task."""

    def __init__(
        self,
        problem: AbstractProblem,
        home: ArenaHome,
        *,
        tell: Tell = lambda what, done, of: None,
        lanes: int | None = None,
        narrower: Callable[[int], AbstractProblem] | None = None,
    ):
        self.problem, self.home, self._tell, self._lanes = problem, home, tell, lanes
        self._narrower, self._small = narrower, dict[int, Judge]()
        self.spent: dict[str, float] = {}
        home.remember(about(problem))

    def judge(self, contestant: Contestant, seeds: int) -> Result:
        """The result of a contestant on fresh seeds, made if it is not there."""
        if isinstance(contestant, Baseline) and math.isnan(contestant.value):
            value = self.at(contestant.narrower).tuned(contestant.method)
            contestant = dataclasses.replace(contestant, value=value)
        fresh = tuple(range(FIRST_SEED, FIRST_SEED + seeds))
        code = code_mark(STEERING) if isinstance(contestant, Variant) else ""
        mark = mark_of({"identity": contestant.identity(), "code": code, "seeds": list(fresh)})
        there = next((one for one in self.home.results() if one.mark == mark), None)
        if there is not None:
            return dataclasses.replace(there, name=contestant.name)
        play, kept = self._contestant(contestant, mark)
        began, names = time.perf_counter(), [f"final/{mark}/{seed}" for seed in fresh]
        outcomes = play(fresh, names)
        if halves := sorted(self._names() & set(names)):  # of a command that was stopped just here
            self.home.runs.remove(halves)
        self.home.runs.add_many(outcome.run for outcome in outcomes)
        result = Result(
            name=contestant.name,
            ours=isinstance(contestant, Variant),
            identity=contestant.identity(),
            code=code,
            seeds=fresh,
            **figures(outcomes, smaller=self.problem.direction is Direction.MIN),
            seconds=time.perf_counter() - began,
            when=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            facts={**kept, **_mean_facts(outcomes)},
        )
        self.home.add(result)
        return result

    def at(self, narrower: int) -> "Judge":
        """The judge of the same task with a network so many times narrower, its parts in a folder of their own."""
        if narrower == 1:
            return self
        if self._narrower is None:
            raise BenchError(f"task {self.problem.task!r} has no narrower network here. Fix: leave out --narrow")
        if narrower not in self._small:
            home = ArenaHome(self.home.path.with_name(f"{self.home.path.name}-narrow-{narrower}"))
            self._small[narrower] = Judge(self._narrower(narrower), home, tell=self._tell, lanes=self._lanes)
            self._small[narrower].spent = self.spent
        return self._small[narrower]

    def sweep(self, sweep: Sweep) -> RunSet:
        """The runs of a sweep, made where they are missing."""
        trials = {f"sweep/{trial.name}": trial for trial in sweep.trials(self.problem)}
        there = self._names()
        missing = [name for name in trials if name not in there]
        for first in range(0, len(missing), AT_ONCE):
            names = missing[first : first + AT_ONCE]
            chosen = [trials[name] for name in names]
            schedules = [trial.schedule for trial in chosen if trial.schedule is not None]
            facts = [{"schedule": schedule.name, "method": "sweep"} for schedule in schedules]
            outcomes = self._play(
                f"sweep ({sweep.words})", list(map(Scheduled, schedules)), [t.seed for t in chosen], names, facts,
                done=len(trials) - len(missing) + first, of=len(trials), optimizer=sweep.optimizer(self.problem),
            )  # fmt: skip
            self.home.runs.add_many(outcome.run for outcome in outcomes)
        return self.home.runs.read(list(trials))

    def place_of(self, variant: Variant) -> Path:
        """Where the forecaster of a variant lies or will lie. The same sweep, settings and code: the same file."""
        inputs = {
            "runs": [trial.name for trial in variant.sweep.trials(self.problem)],
            "sweep": variant.sweep.identity(),
            "fit": {key: plain(value) for key, value in self._fit_settings(variant).items()},
            "seed": variant.fit_seed,
            "code": code_mark(FITTING),
        }
        return self.home.folder("fits") / f"{mark_of(inputs)}.lodestar"

    def fit(self, variant: Variant) -> Path:
        """The forecaster of a variant, fitted if it is not there; a fit that was stopped goes on."""
        from lodestar.fitting import fit

        path = self.place_of(variant)
        if path.is_file():
            return path
        runs = self.sweep(variant.sweep)
        began, parts = time.perf_counter(), path.with_suffix(".parts")
        what = f"fit to {len(runs)} runs"
        self._tell(what, 0, 1)
        forecaster = fit(
            runs,
            seed=variant.fit_seed,
            checkpoint=parts,
            on_progress=lambda report: self._tell(what, report.update, report.updates),
            **self._fit_settings(variant),
        )
        forecaster.save(path)
        shutil.rmtree(parts, ignore_errors=True)
        self._spend("fit", began)
        return path

    def tuned(self, name: str) -> float:
        """The value of a method's grid with the best mean validation metric over five seeds."""
        method = self._method(name)
        values = method.grid(self.problem)
        if len(values) <= 1:
            return values[0] if values else math.nan
        wanted = {f"tune/{name}/{value:g}/{seed}": (value, seed) for value in values for seed in range(TUNE_SEEDS)}
        there = self._names()
        missing = [run for run in wanted if run not in there]
        by_form: dict[Optimizer, list[str]] = {}
        for run in missing:
            by_form.setdefault(method.optimizer(self.problem, wanted[run][0]), []).append(run)
        done = len(wanted) - len(missing)
        for runs in by_form.values():
            pairs = [wanted[run] for run in runs]
            outcomes = self._play_method(method, pairs, runs, f"tuning {name}", done, len(wanted))
            self.home.runs.add_many(outcome.run for outcome in outcomes)
            done += len(runs)
        records = {one.name: Record.of(one) for one in self.home.runs.list()}
        results = Results(self.problem.direction, self.problem.metric_name, records)
        choice = choose(values, [(value, run) for run, (value, _) in wanted.items()], results)
        if choice is None:
            raise BenchError(f"no tuning run of {name!r} could be read. Fix: delete {self.home.runs.path}")
        return choice.value

    def _contestant(self, contestant: Contestant, mark: str) -> tuple[Play, dict[str, float]]:
        """How its final runs are made, and what is known of it beforehand."""
        if isinstance(contestant, Baseline):
            return self._baseline(contestant)
        return self._replay(contestant) if isinstance(contestant, Replay) else self._variant(contestant, mark)

    def _replay(self, replay: Replay) -> tuple[Play, dict[str, float]]:
        small = self.at(replay.sweep.narrower)
        schedules = {f"sweep/{trial.name}": trial.schedule for trial in replay.sweep.trials(small.problem)}
        runs = [run for run in small.sweep(replay.sweep) if run.status is Status.FINISHED]
        if not runs:
            raise BenchError(f"every run of the sweep ({replay.sweep.words}) diverged. Fix: sweep over lower rates")
        sign = 1.0 if self.problem.direction is Direction.MAX else -1.0
        best = max(runs, key=lambda run: sign * float(run.facts.extra["best_metric"]))
        schedule = schedules[best.name]
        assert schedule is not None

        def play(seeds: Sequence[int], names: Sequence[str]) -> list[TrainingOutcome]:
            facts = [{"schedule": schedule.name, "method": "replay"} for _ in seeds]
            made = [Scheduled(schedule) for _ in seeds]
            return self._play(replay.name, made, seeds, names, facts, optimizer=replay.sweep.optimizer(self.problem))

        return play, {"peak_lr": float(schedule.rates.max())}

    def _baseline(self, baseline: Baseline) -> tuple[Play, dict[str, float]]:
        method = self._method(baseline.method)

        def play(seeds: Sequence[int], names: Sequence[str]) -> list[TrainingOutcome]:
            return self._play_method(method, [(baseline.value, seed) for seed in seeds], names, baseline.name)

        return play, {}

    def _variant(self, variant: Variant, mark: str) -> tuple[Play, dict[str, float]]:
        forecaster = load(self.at(variant.sweep.narrower).fit(variant))
        logs = self.home.folder("decisions", mark)

        def play(seeds: Sequence[int], names: Sequence[str]) -> list[TrainingOutcome]:
            controllers = [self._steered(variant, forecaster, seed, logs) for seed in seeds]
            return self._play(variant.name, controllers, seeds, names, optimizer=variant.sweep.optimizer(self.problem))

        errors = forecaster.facts.get("best_error")  # of the fit, on runs it did not learn from
        return play, {} if errors is None else {"held_out_error": float(np.mean(errors))}

    def _steered(self, variant: Variant, forecaster: Forecaster, seed: int, logs: Path) -> AbstractController:
        log = logs / f"{seed}.jsonl"
        log.unlink(missing_ok=True)  # of a run that was stopped and is made again
        chosen: dict[str, Any] = {"settings": variant.settings(), "seed": seed, "log": log}
        scheduler = Scheduler(forecaster, self.problem.total_steps, **chosen)
        return open_loop(scheduler) if variant.open_loop else Steered(scheduler)

    def _play_method(
        self, method: AbstractMethod, pairs: Sequence[tuple[float, int]], names, what: str, done: int = 0, of: int = 0
    ) -> list[TrainingOutcome]:
        """Runs of a method; pairs of value and seed, all values of one optimizer."""
        made = [method.controller(self.problem, value, seed=seed, knowledge=None) for value, seed in pairs]
        facts = [{"schedule": method.name, "method": method.name, "value": value} for value, _ in pairs]
        optimizer, seeds = method.optimizer(self.problem, pairs[0][0]), [seed for _, seed in pairs]
        return self._play(what, made, seeds, names, facts, done=done, of=of, optimizer=optimizer)

    def _play(
        self, what: str, controllers, seeds, names, facts=None, *, optimizer: Optimizer, done: int = 0, of: int = 0
    ) -> list[TrainingOutcome]:
        """Some runs, at most `AT_ONCE` in one program, counted as parts of `of` (or on their own)."""
        total, found, began = of or len(names), [], time.perf_counter()
        for first in range(0, len(names), AT_ONCE):
            here = slice(first, first + AT_ONCE)
            count = len(names[here])
            found += lockstep.play(
                self.problem,
                optimizer,
                controllers[here],
                seeds[here],
                names[here],
                facts=facts[here] if facts else None,
                tell=lambda step, steps, first=first, count=count: self._tell(
                    what, done + first + count * step // steps, total
                ),
                lanes=self._lanes,
            )
        self._spend(what.partition(" ")[0] if of else "final runs", began)
        return found

    def _fit_settings(self, variant: Variant) -> dict[str, Any]:
        """As the bench's own method fits at this scale, with the variant's changes."""
        default = methods.method("lodestar")
        usual = default.fits[self.problem.scale] if isinstance(default, SteeredMethod) else {}
        return {**usual, **dict(variant.fit)}

    def _method(self, name: str) -> AbstractMethod:
        method = methods.method(name)
        if method.learns != "nothing":
            raise BenchError(
                f"method {name!r} learns before it is judged, and the arena's baselines do not. Fix: judge it with "
                f"lodestar bench table1 --task {self.problem.task} --methods {name}"
            )
        return method

    def _names(self) -> set[str]:
        return {one.name for one in self.home.runs.list()} if self.home.runs.exists() else set()

    def _spend(self, part: str, began: float) -> None:
        self.spent[part] = self.spent.get(part, 0.0) + time.perf_counter() - began


def about(problem: AbstractProblem) -> dict[str, Any]:
    """What an arena rests on."""
    sizes = ("total_steps", "steps_per_epoch", "batch_size", "evaluate_every")
    fixed = {**{name: getattr(problem, name) for name in sizes}, "recipe": problem.recipe.as_kept()}
    told = {"task": problem.task, "scale": problem.scale, "metric_name": problem.metric_name}
    return {**told, "direction": str(problem.direction), "fixed": fixed}


def _mean_facts(outcomes: Sequence[TrainingOutcome]) -> dict[str, float]:
    """Means of the numbers that controllers kept (decisions, replanned and so on)."""
    keys = {
        key
        for outcome in outcomes
        for key in outcome.run.facts.extra
        if key.startswith(("decisions", "replanned", "held"))
    }
    return {
        key: float(np.mean([float(outcome.run.facts.extra.get(key, 0)) for outcome in outcomes]))
        for key in sorted(keys)
    }
