"""Lodestar under test: a forecaster fitted to the runs it was given, then a `Scheduler` in every run.

Comes in: the tuning runs of the four shapes (or a sweep). Goes out: a forecaster file, and controllers that tell the
scheduler every update's loss and every validation metric. Nothing is tuned. Each run's decisions are kept beside the
forecaster, in `decisions/<method>-<seed>.jsonl`, for `lodestar explain`. Which preset is the method's affair.
"""

import dataclasses
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import RunSet, Scalar
from lodestar.scheduler import Outcome, Scheduler
from lodestar.scheduler.settings import Preset
from lodestar.sweep import Schedule
from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractController, AbstractLook, Optimizer
from lodestar_bench.methods.recipes_own import AbstractTaught
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.optimizers.forms import optimizer
from lodestar_bench.problem import AbstractProblem


class Steered(AbstractController):
    """A `Scheduler` in the bench's loop."""

    def __init__(self, scheduler: Scheduler):
        self.scheduler = scheduler
        self.every = max(1, round(scheduler.settings.window * scheduler.total_steps))
        self._last_metric: float | None = None

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The scheduler's rate now, and its plan for the rest of the stretch: to look ahead decides nothing."""
        rates = np.full(count, self.scheduler.lr_at(first))
        if count > 1:
            plan = self.scheduler.plan()
            rates[1:] = [plan.lr_at(step) for step in range(first + 1, first + count)]
        return rates

    def observe(self, first: int, losses: NDArray[np.float64], metric: float | None, look: AbstractLook) -> None:
        """Every loss, and the metric where there is one."""
        del look
        for place, loss in enumerate(losses):
            self.scheduler.observe(first + place, loss=float(loss))
        if metric is not None:
            self._last_metric = metric
            self.scheduler.observe(first + len(losses) - 1, metric=metric)

    def facts(self) -> Mapping[str, Scalar]:
        """How many decisions there were, how they ended, and whether the forecast made at 25 % held."""
        ends = Counter(decision.outcome.name.lower() for decision in self.scheduler.decisions)
        counts = {f"decisions_{name}": count for name, count in sorted(ends.items())}
        told = {"decisions": sum(ends.values()), "replanned": ends[Outcome.REPLANNED.name.lower()], **counts}
        return {**told, **self._held()}

    def _held(self) -> dict[str, Scalar]:
        """1 if the last metric lies in the interval of the first forecast at or after a quarter of the run, else 0."""
        early = (
            one for one in self.scheduler.decisions if one.step >= self.scheduler.total_steps // 4 and one.interval
        )
        if self._last_metric is None or (first := next(early, None)) is None or first.interval is None:
            return {}
        return {"held_25": int(first.interval[0] <= self._last_metric <= first.interval[1])}


def fresh_log(knowledge: Path, name: str, seed: int) -> Path:
    """Where a run's decisions are kept; what a run that was killed left there is gone."""
    log = knowledge.parent / "decisions" / f"{name}-{seed}.jsonl"
    log.unlink(missing_ok=True)
    return log


def open_loop(scheduler: Scheduler) -> Scheduled:
    """The plan a scheduler makes before the first update, replayed."""
    return Scheduled(Schedule("open loop", scheduler.plan().values()))


@dataclasses.dataclass(frozen=True)
class SteeredMethod(AbstractTaught):
    """Lodestar with a preset. `fits` are the settings of the fit at each scale.

    `open_loop`: the plan made before the first update is followed to the end, whatever happens. `sweep_form`: whether
    it steers the recipe's own optimizer, or that with averaged weights.
    """

    name: str
    title: str
    preset: Preset
    fits: Mapping[str, Mapping[str, Any]]
    group: Literal["paper", "modern", "ours"] = "ours"
    learns: Literal["nothing", "by training", "from runs"] = "from runs"
    open_loop: bool = False
    sweep_form: str = "recipe"

    @property
    def brings_optimizer(self) -> bool:
        """Where it steers averaged weights whatever the recipe says."""
        return self.sweep_form != "recipe"

    def optimizer(self, problem: AbstractProblem, value: float) -> Optimizer:
        """The recipe's, in the form of the runs it learned from."""
        del value
        return optimizer(self.sweep_form, problem.recipe)

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """A scheduler with the fitted forecaster."""
        del value
        if knowledge is None:
            raise BenchError(
                f"method {self.name!r} steers with a forecaster, and none was given. Fix: knowledge=the file that "
                "learn(problem, path, runs=...) left"
            )
        if self.open_loop:
            return open_loop(Scheduler(knowledge, problem.total_steps, preset=self.preset, seed=seed))
        log = fresh_log(knowledge, self.name, seed)
        scheduler = Scheduler(knowledge, problem.total_steps, preset=self.preset, seed=seed, log=log)
        return Steered(scheduler)

    def learn(
        self, problem: AbstractProblem, path: Path, *, seed: int, runs: RunSet | None, allowed_runs: int
    ) -> Mapping[str, Scalar]:
        """Fit a forecaster to the runs."""
        from lodestar.fitting import fit

        del allowed_runs
        if runs is None:
            raise BenchError(f"method {self.name!r} learns from runs, and none were given. Fix: runs=a RunSet")
        began = time.perf_counter()
        forecaster = fit(runs, seed=seed, **self.fits[problem.scale])
        forecaster.save(path)
        return {
            "seconds": time.perf_counter() - began,
            "training_runs": 0,
            "runs_learned_from": len(runs),
            "members": int(forecaster.facts["members"]),
            "updates": int(max(forecaster.facts["updates"])),
            "held_out_error": float(np.mean(forecaster.facts["best_error"])),
        }
