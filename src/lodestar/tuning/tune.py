"""`tune`: from a training function and a budget to a plan, its forecast and a forecaster; what `lodestar tune` does.

Comes in: a function or a command, a budget in full runs, a store. Goes out: runs in the store, a forecaster file beside
it, and a `TuneResult`. The first trials are quasi-random; then each round proposes the next, has the sweep make them,
with pruning, and learns from all there is. It ends when the budget is spent or nothing is to be gained. Killed at any
moment, the same call goes on: the store and the sweep's journal are all its memory.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar._errors import FitError, MissingExtra, PrepareError, SweepError
from lodestar.planning import SchedulePlan, plan
from lodestar.pruning import Pruner
from lodestar.runs import Run, RunStore, Status
from lodestar.sweep.call import make_executor, make_job, make_pruner, make_space, make_trials
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.executors.local import LocalExecutor
from lodestar.sweep.journal import folder_beside
from lodestar.sweep.spaces import QuasiRandom
from lodestar.sweep.sweep import OnEvent, OnStart, SweepResult, run_trials
from lodestar.sweep.trial import Job, Trial
from lodestar.tuning.propose import Prospect, name_of, propose

STARTUP = 5  # finished runs before the first proposal
_ROUNDS = 2  # without a gain in sight, after which it ends
_FAILED = 3  # rounds that made no run at all, after which it ends


@dataclasses.dataclass(frozen=True)
class Round:
    """How things stand before some trials: budget and what is spent of it, in full runs; the best; what is expected."""

    budget: float
    spent: float
    runs: int
    best: tuple[str, float] | None
    prospect: Prospect | None


@dataclasses.dataclass(frozen=True)
class TuneResult:
    """What tuning left. `plan` and `forecaster` are None where they could not be made: `note` then says why."""

    store: str
    budget: float
    spent: float
    runs: int
    pruned: int
    best: tuple[str, float] | None
    ended_early: bool
    plan: SchedulePlan | None
    forecaster: Path | None
    final: tuple[str, float] | None
    note: str

    def as_dict(self) -> dict[str, Any]:
        plain = {key: value for key, value in vars(self).items() if key != "plan"}
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
    executor: str | AbstractExecutor | None = None,
    jobs: int | None = None,
    threads: int = 1,
    trial_timeout: float | str | None = None,
    metric_name: str = "metric",
    direction: str = "max",
    task: str | None = None,
    prune: bool | Pruner = True,
    final: bool = False,
    fit: Mapping[str, Any] | bool = True,
    on_round: Callable[[Round], None] | None = None,
    on_start: OnStart | None = None,
    on_event: OnEvent | None = None,
) -> TuneResult:
    """Tune the schedule of `function` (or a shell `command`) with the work of `budget` full runs; runs go into `out`.

    The other words are `run_sweep`'s. `final` makes one more run, beyond the budget, that follows the plan. `fit` are
    words for `lodestar.fit`, which makes the forecaster; without it (False) there is no plan. Called again after a
    kill, it goes on; with a larger budget, it goes further.
    """
    if not (math.isfinite(budget) and budget >= 1):
        raise ValueError(f"budget is counted in full runs and must be at least 1, got {budget}. Fix: budget=20")
    job = make_job(function, command, metric_name=metric_name, direction=direction, task=task)
    space = make_space("sobol", total_steps, seed=seed, peak=peak)
    assert isinstance(space, QuasiRandom)
    length = make_trials(job, space, 1, total_steps, seed=seed)[0].total_steps
    store = out if isinstance(out, RunStore) else RunStore(out)
    made = make_executor(executor, jobs=jobs, threads=threads, logs=folder_beside(store.address), timeout=trial_timeout)
    pruner = make_pruner(prune, executor)
    work = _Work(job, space, length, store, made, pruner, seed, on_start, on_event)
    if isinstance(made, LocalExecutor):
        with made:  # its workers live from round to round
            return work.carry_on(budget, on_round, final=final, fit=fit)
    return work.carry_on(budget, on_round, final=final, fit=fit)


@dataclasses.dataclass(frozen=True)
class _Work:
    job: Job
    space: QuasiRandom
    length: int
    store: RunStore
    executor: AbstractExecutor
    pruner: Pruner | None
    seed: int
    on_start: OnStart | None
    on_event: OnEvent | None

    def carry_on(
        self, budget: float, on_round: Callable[[Round], None] | None, *, final: bool, fit: Mapping[str, Any] | bool
    ) -> TuneResult:
        early = self._rounds(budget, on_round)
        runs = self.runs()
        planned, file, note = (None, None, "") if fit is False else self._plan(runs, {} if fit is True else fit)
        last = None
        if final and planned is not None:
            trial = Trial(f"tune{self.seed}-final", self.seed, self.length, planned.schedule)
            self._make([trial])
            last = next(((run.name, run.final_metric) for run in self.store.iter([trial.name])), None)
        pruned = sum(run.status is Status.CUT_SHORT for run in runs)
        spent, best = spent_on(runs), _best(runs)
        return TuneResult(self.store.address, budget, spent, len(runs), pruned, best, early, planned, file, last, note)

    def runs(self) -> list[Run]:
        """The runs of this tuning that are in the store, in their order."""
        there = self.store.list() if self.store.exists() else []
        names = [row.name for row in there if row.name.startswith(f"tune{self.seed}-") and row.name[-1].isdigit()]
        return list(self.store.read(sorted(names))) if names else []

    def _rounds(self, budget: float, on_round: Callable[[Round], None] | None) -> bool:
        """Trials until the budget is spent, or nothing is to be gained: then True."""
        runs = self.runs()
        number, idle, fruitless = 1 + max((int(run.name.rpartition("-")[2]) for run in runs), default=-1), 0, 0
        while (left := budget - spent_on(runs)) >= 0.5:
            count = max(1, min(self.executor.slots, round(left)))
            prospect = self._prospect(runs, count, number)
            idle = idle + 1 if prospect is not None and not prospect.worth else 0
            if on_round is not None:
                on_round(Round(budget, spent_on(runs), len(runs), _best(runs), prospect))
            if idle >= _ROUNDS:
                return True
            trials = prospect.trials if prospect is not None else self._drawn(number, count)
            result = self._make(trials)
            number, before, runs = number + count, len(runs), self.runs()
            fruitless = fruitless + 1 if len(runs) == before else 0
            if fruitless >= _FAILED:
                why = f": {result.failed[-1].reason}" if result.failed else ""
                raise SweepError(f"the trials of the last {_FAILED} rounds all failed{why}. Fix: mend the cause first")
        return False

    def _prospect(self, runs: Sequence[Run], count: int, number: int) -> Prospect | None:
        if sum(run.status is Status.FINISHED for run in runs) < STARTUP:
            return None
        return propose(runs, self.space, count, self.length, number=number, seed=self.seed)

    def _drawn(self, number: int, count: int) -> list[Trial]:
        drawn = self.space.trials(number + count, self.length, seed=self.seed)[number:]
        return [dataclasses.replace(trial, name=name_of(number + i, self.seed)) for i, trial in enumerate(drawn)]

    def _make(self, trials: Sequence[Trial]) -> SweepResult:
        identity = {**dataclasses.asdict(self.job), "tune": dict(self.space.identity()), "seed": self.seed}
        return run_trials(
            self.job,
            trials,
            self.store,
            self.executor,
            identity={**identity, "total_steps": self.length},
            add=False,
            prune=self.pruner,
            on_start=self.on_start,
            on_event=self.on_event,
        )

    def _plan(self, runs: Sequence[Run], fit: Mapping[str, Any]) -> tuple[SchedulePlan | None, Path | None, str]:
        """The plan, the forecaster's file, and a sentence where there is none."""
        try:
            from lodestar.fitting import fit as fit_forecaster

            forecaster = fit_forecaster(runs, seed=self.seed, **fit)
        except (FitError, PrepareError, MissingExtra, ModuleNotFoundError) as error:
            return None, None, f"no plan was made: {error}"
        folder = folder_beside(self.store.address)
        path = folder.with_name(folder.name.removesuffix(".trials") + ".lodestar")
        forecaster.save(path)
        if forecaster.response is None:
            return None, path, "no plan was made: too few runs finished to learn how training answers to the rate"
        return plan(forecaster, self.length), path, ""


def spent_on(runs: Sequence[Run]) -> float:
    """The work of runs, in full runs."""
    return sum(min(run.last_step / run.total_steps, 1.0) for run in runs)


def _best(runs: Sequence[Run]) -> tuple[str, float] | None:
    fine = [run for run in runs if run.status is Status.FINISHED and math.isfinite(run.final_metric)]
    if not fine:
        return None
    top = fine[0]
    for run in fine[1:]:
        top = run if run.direction.better(run.final_metric, top.final_metric) else top
    return top.name, top.final_metric


def _forecast(planned: SchedulePlan) -> dict[str, float]:
    metric = planned.forecast.metric
    return {
        name: float(getattr(metric, part)[-1])
        for name, part in (("final", "centre"), ("lower", "lower"), ("upper", "upper"))
    }
