"""`tune`: from a training function and a budget to a plan, its forecast and a forecaster; what `lodestar tune` does.

Comes in: a function or a command, a budget in full runs, a store. Goes out: runs in the store, a forecaster file and
the schedule found beside it (of a remote store: in the folder one stands in), and a `TuneResult`. The first trial is
the middle of the space, the next are quasi-random; then each round proposes the next, has the sweep make them, with
pruning, and learns from all there is. It ends when the budget is spent or nothing is to be gained. Killed at any
moment, the same call goes on: the store and the sweep's journal are all its memory.
"""

import dataclasses
import enum
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar._errors import SweepError
from lodestar.planning import SchedulePlan
from lodestar.planning.words import describe
from lodestar.pruning import Pruner
from lodestar.runs import Run, RunStore, Status
from lodestar.schedules import Schedule
from lodestar.sweep.call import make_executor, make_job, make_pruner, make_space, make_trials
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.executors.local import LocalExecutor
from lodestar.sweep.journal import folder_beside
from lodestar.sweep.scales import Scales
from lodestar.sweep.spaces import QuasiRandom, Range
from lodestar.sweep.steered import STEERING
from lodestar.sweep.sweep import OnEvent, OnStart, SweepResult, run_trials
from lodestar.sweep.trial import Job, Trial
from lodestar.tuning.choose import NUMBERS, Choice, best_of, choose, numbers_at
from lodestar.tuning.finish import make_plan, steered
from lodestar.tuning.propose import Prospect, name_of, propose, trial_of, within
from lodestar.tuning.sizes import Sizes

SPACES = ("sobol", "averaged")
STARTUP = 3  # finished runs before the first proposal
_PRUNED_FROM = 8  # finished runs before any is stopped: what they teach is worth more than what stopping saves
_STARTUP_OF_SIZES = 5  # and two of each size
_ROUNDS = 2  # without a gain in sight, after which it ends
_NEAR = 0.06  # of the span of peak rates, in logarithms: a plan so near its end lies at the edge
_FAILED = 3  # rounds that made no run at all, after which it ends


@dataclasses.dataclass(frozen=True)
class Round:
    """How things stand before some trials: budget and what is spent of it, in full runs; the best; what is expected.

    `thought` is the processor time of all proposals of this call so far, in seconds.
    """

    budget: float
    spent: float
    runs: int
    best: tuple[str, float] | None
    prospect: Prospect | None
    thought: float = 0.0


class Ended(enum.StrEnum):
    """Why a tuning tries no more."""

    EARLY = "nothing more was to be gained"
    BUDGET = "the budget is spent"
    RUNS = "no more trials were asked for"


@dataclasses.dataclass(frozen=True)
class TuneResult:
    """What tuning left. `plan` and `forecaster` are None where they could not be made: `note` then says why.

    `best` is that of the full job; `choice` the schedule it ends with, which is the plan's where there is one; `final`
    the last run, if one was asked for, and `steering` what became of it.
    `schedule_file` holds the schedule (`Schedule.from_json`); `edge` is a warning where it lies at the edge of the
    rates that were tried.
    """

    store: str
    budget: float
    spent: float
    runs: int
    pruned: int
    best: tuple[str, float] | None
    ended: Ended
    plan: SchedulePlan | None
    forecaster: Path | None
    final: tuple[str, float] | None
    note: str
    steering: str = ""
    choice: Choice | None = None
    schedule_file: Path | None = None
    edge: str = ""

    @property
    def ended_early(self) -> bool:
        """Before the budget was spent, since nothing was to be gained."""
        return self.ended is Ended.EARLY

    @property
    def schedule(self) -> Schedule | None:
        """The schedule to use: the plan's, or what was chosen where no forecaster could be fitted."""
        if self.plan is not None:
            return self.plan.schedule
        return None if self.choice is None else self.choice.schedule

    def as_dict(self) -> dict[str, Any]:
        plain = {key: value for key, value in vars(self).items() if key not in ("plan", "choice", "ended")}
        plain["ended_early"], plain["ended"] = self.ended_early, str(self.ended)
        plain["schedule"] = None if self.schedule is None else describe(self.schedule.rates)
        plain["schedule_file"] = self.schedule_file and str(self.schedule_file)
        plain["law"] = "" if self.choice is None else self.choice.law
        for key in ("best", "final"):
            plain[key] = plain[key] and {"run": plain[key][0], "metric": plain[key][1]}
        made = self.plan
        words = None if made is None else {"words": made.words, "peak_lr": made.schedule.peak, **_forecast(made)}
        return {**plain, "forecaster": self.forecaster and str(self.forecaster), "plan": words}


def tune(
    function: str | Callable[..., Any] | None = None,
    *,
    out: str | Path | RunStore,
    seed: int,
    budget: float = 20,
    command: str | None = None,
    total_steps: int | None = None,
    peak: tuple[float, float] | None = None,
    space: str = "sobol",
    sizes: Sequence[float] | None = None,
    size: float | None = None,
    runs: int | None = None,
    executor: str | AbstractExecutor | None = None,
    jobs: int | None = None,
    threads: int = 1,
    trial_timeout: float | str | None = None,
    metric_name: str = "metric",
    direction: str = "max",
    task: str | None = None,
    prune: bool | Pruner = True,
    spend_all: bool = False,
    final: bool = False,
    fit: Mapping[str, Any] | bool = True,
    on_round: Callable[[Round], None] | None = None,
    on_start: OnStart | None = None,
    on_event: OnEvent | None = None,
) -> TuneResult:
    """Tune the schedule of `function` (or a shell `command`) with the work of `budget` full runs; runs go into `out`.

    At most so many trials as `runs`, where it is given. The other words are `run_sweep`'s. `space="averaged"` is for a
    job that averages its weights, whose rates may stay high to the end. With `sizes` the function gets `size`; the
    largest is the full job, and a run of a smaller one counts for its share of the work. A `size` beyond them is a full
    job that is never run: the plan is for it, and another one is planned for from the same runs. With `spend_all` it
    does not end before the budget is spent. `final` makes one more run of the full job, beyond the budget, that the
    forecaster steers. `fit` are words for `lodestar.fit`, which makes it; without it (False) there is no forecaster.
    Called again after a kill, it goes on; with a larger budget, it goes further.
    """
    if not (math.isfinite(budget) and budget >= 1):
        raise ValueError(f"budget is counted in full runs and must be at least 1, got {budget}. Fix: budget=20")
    if runs is not None and runs < 1:
        raise ValueError(f"runs must be at least 1, got {runs}. Fix: leave it out, or runs=30")
    scales = Scales.of(sizes)
    over = Sizes(scales.sizes, size)
    facts: dict[str, Any] = {"metric_name": metric_name, "direction": direction, "task": task}
    job = make_job(function, command, scales=scales.keywords, **facts)
    if space not in SPACES:
        raise ValueError(f"space must be one of {', '.join(SPACES)}, got {space!r}. Fix: space={SPACES[0]!r}")
    drawn = make_space(space, total_steps, seed=seed, peak=peak)
    assert isinstance(drawn, QuasiRandom)
    length = make_trials(job, drawn, 1, total_steps, seed=seed)[0].total_steps
    store = out if isinstance(out, RunStore) else RunStore(out)
    made = make_executor(executor, jobs=jobs, threads=threads, logs=folder_beside(store.address), timeout=trial_timeout)
    wanted = Pruner(startup=_PRUNED_FROM) if prune is True else prune
    pruner = None if scales.sizes else make_pruner(wanted)  # runs of several sizes have no one order
    work = _Work(job, drawn, over, length, store, made, pruner, seed, runs, spend_all, on_start, on_event)
    if isinstance(made, LocalExecutor):
        with made:  # its workers live from round to round
            return work.carry_on(budget, on_round, final=final, fit=fit)
    return work.carry_on(budget, on_round, final=final, fit=fit)


@dataclasses.dataclass(frozen=True)
class _Work:
    job: Job
    space: QuasiRandom
    sizes: Sizes
    length: int
    store: RunStore
    executor: AbstractExecutor
    pruner: Pruner | None
    seed: int
    most: int | None
    spend_all: bool
    on_start: OnStart | None
    on_event: OnEvent | None

    def carry_on(
        self, budget: float, on_round: Callable[[Round], None] | None, *, final: bool, fit: Mapping[str, Any] | bool
    ) -> TuneResult:
        ended = self._rounds(budget, on_round)
        runs = self.runs()
        words = {} if fit is True else fit
        choice = self._choice(runs)
        made = (
            (None, None, "")
            if words is False
            else make_plan(runs, self.sizes, self._file, self.length, self.seed, words, choice)
        )
        planned, file, note = made
        chosen = planned.schedule if planned is not None else None if choice is None else choice.schedule
        if chosen is not None:
            chosen.to_json(self._schedule_file)
        begun = "" if choice is None else choice.words
        by = file if planned is not None else None
        last, told = self._final(runs, chosen, by, begun) if final and chosen is not None else (None, "")
        pruned = sum(run.status is Status.CUT_SHORT for run in runs)
        spent, best = self.sizes.spent(runs), _best(self.sizes.of_full(runs))
        facts = (self.store.address, budget, spent, len(runs), pruned, best, ended)
        kept = None if chosen is None else self._schedule_file
        edge = "" if chosen is None else _edge(chosen.peak, self.space.peak)
        return TuneResult(*facts, planned, file, last, note, told, choice, kept, edge)

    def _choice(self, runs: Sequence[Run]) -> Choice | None:
        most = self.space.peak.high if self.sizes.values else within(runs, self.space).peak.high
        return choose(runs, self.space, self.length, seed=self.seed, most=most, sizes=self.sizes)

    def _final(
        self, runs: Sequence[Run], chosen: Schedule, file: Path | None, begun: str
    ) -> tuple[tuple[str, float] | None, str]:
        """One more run of the full job: steered where a function is tuned and a forecaster fitted, else as planned."""
        name = f"tune{self.seed}-final-{len(runs)}"
        settings = {} if self.sizes.full is None else {"size": self.sizes.full}
        trial = Trial(name, self.seed, self.length, chosen, settings)
        job = self.job
        if job.function is not None and file is not None:
            job, trial = steered(job, trial, file, self.sizes.job(runs), begun)
        result = self._make([trial], job, prune=False)
        run = next(iter(self.store.iter([name])), None) if name in self.store else None
        if run is None:
            return None, f"failed: {result.failed[-1].reason}" if result.failed else "failed before, see the journal"
        why = "a command reads all its rates before it starts" if file is not None else "no forecaster was fitted"
        told = run.facts.extra.get(STEERING, f"followed the plan: {why}")
        return (run.name, run.final_metric), str(told)

    @property
    def _file(self) -> Path:
        return self._beside(".lodestar")

    @property
    def _schedule_file(self) -> Path:
        return self._beside(".plan.json")

    def _beside(self, ending: str) -> Path:
        folder = folder_beside(self.store.address)
        return folder.with_name(folder.name.removesuffix(".trials") + ending)

    def runs(self) -> list[Run]:
        """The runs of this tuning that are in the store, in their order."""
        there = self.store.list() if self.store.exists() else []
        names = [row.name for row in there if re.fullmatch(rf"tune{self.seed}-\d+", row.name)]
        return list(self.store.read(sorted(names))) if names else []

    def _rounds(self, budget: float, on_round: Callable[[Round], None] | None) -> Ended:
        """Trials until the budget is spent, or nothing is to be gained."""
        runs = self.runs()
        number, idle, fruitless = 1 + max((int(run.name.rpartition("-")[2]) for run in runs), default=-1), 0, 0
        thought = 0.0
        while (left := budget - self.sizes.spent(runs)) >= self.sizes.least(runs) / 2:
            slots = self.executor.slots if self.most is None else min(self.executor.slots, self.most - len(runs))
            if slots < 1:
                return Ended.RUNS
            wanted = self.sizes.next(runs, slots, left)
            began = time.thread_time()
            prospect = self._prospect(runs, wanted, number, left)
            thought += time.thread_time() - began
            idle = idle + 1 if prospect is not None and not prospect.worth else 0
            if on_round is not None:
                best = _best(self.sizes.of_full(runs))
                on_round(Round(budget, self.sizes.spent(runs), len(runs), best, prospect, thought))
            if idle >= _ROUNDS and not self.spend_all:
                return Ended.EARLY
            result = self._make(prospect.trials if prospect is not None else self._drawn(number, wanted))
            number, before, runs = number + len(wanted), len(runs), self.runs()
            fruitless = fruitless + 1 if len(runs) == before else 0
            if fruitless >= _FAILED:
                why = f": {result.failed[-1].reason}" if result.failed else ""
                raise SweepError(f"the trials of the last {_FAILED} rounds all failed{why}. Fix: mend the cause first")
        return Ended.BUDGET

    def _prospect(
        self, runs: Sequence[Run], wanted: Sequence[float | None], number: int, left: float
    ) -> Prospect | None:
        finished = [run for run in runs if run.status is Status.FINISHED]
        least = max(_STARTUP_OF_SIZES, 2 * len(self.sizes.values)) if self.sizes.values else STARTUP
        enough = len(finished) >= least and (self.sizes.beyond is not None or self.sizes.of_full(finished))
        options: dict[str, Any] = {"number": number, "seed": self.seed, "sizes": self.sizes, "left": left}
        options["trials_left"] = None if self.most is None else self.most - len(runs)
        return propose(runs, self.space, wanted, self.length, **options) if enough else None

    def _drawn(self, number: int, wanted: Sequence[float | None]) -> list[Trial]:
        drawn = self.space.trials(number + len(wanted), self.length, seed=self.seed)[number:]
        if number == 0:  # where those who chose the ranges expect the best
            drawn[0] = trial_of(numbers_at(self.space, np.full(len(NUMBERS), 0.5)), 0, self.length, self.seed)
        facts = [{} if size is None else {"size": size} for size in wanted]
        return [
            dataclasses.replace(trial, name=name_of(number + i, self.seed), settings={**trial.settings, **facts[i]})
            for i, trial in enumerate(drawn)
        ]

    def _make(self, trials: Sequence[Trial], job: Job | None = None, *, prune: bool = True) -> SweepResult:
        identity = {**self.job.as_dict(), "tune": dict(self.space.identity()), "seed": self.seed}
        if self.sizes.values:
            identity["sizes"] = list(self.sizes.values)
        return run_trials(
            job or self.job,
            trials,
            self.store,
            self.executor,
            identity={**identity, "total_steps": self.length},
            add=False,
            prune=self.pruner if prune else None,
            on_start=self.on_start,
            on_event=self.on_event,
        )


def _edge(peak: float, span: Range) -> str:
    """A warning, if this peak is all but the lowest or the highest that may be tried."""
    whole = math.log(span.high / span.low)
    for end, away in (("lower", math.log(peak / span.low)), ("upper", math.log(span.high / peak))):
        if away < _NEAR * whole:
            return (
                f"the schedule's peak rate, {peak:.3g}, lies at the {end} end of the rates that were tried, "
                f"{span.low:.3g} to {span.high:.3g}: beyond it may be better. Fix: a wider --peak, into another --out"
            )
    return ""


def _best(runs: Sequence[Run]) -> tuple[str, float] | None:
    top = best_of(runs)
    return None if top is None else (top.name, top.final_metric)


def _forecast(planned: SchedulePlan) -> dict[str, float]:
    metric = planned.forecast.metric
    return {
        name: float(getattr(metric, part)[-1])
        for name, part in (("final", "centre"), ("lower", "lower"), ("upper", "upper"))
    }
