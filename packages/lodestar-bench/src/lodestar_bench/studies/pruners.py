"""Pruners as a replay drives them: each through its real package, ours too.

Comes in: the direction of the metric, how many values a trial reports, a seed. Goes out: ways to make each pruner
afresh. Settings are the packages' defaults.
"""

import importlib.util
import itertools
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from lodestar.pruning import Pruner
from lodestar.pruning.background import GROWTH
from lodestar.pruning.pruner import due
from lodestar.runs import Direction, Run, Status
from lodestar_bench.studies.recorded import Recorded

NOBODY = "no pruner"


class Stopper(Protocol):
    """What the replay asks a pruner."""

    def begin(self, trial: Recorded) -> None: ...
    def stops(self, place: int) -> bool: ...
    def end(self, *, stopped: bool) -> None: ...


class Nobody:
    """Every trial to its end."""

    def begin(self, trial: Recorded) -> None: ...
    def stops(self, place: int) -> bool:
        return False

    def end(self, *, stopped: bool) -> None: ...


class Ours:
    """`lodestar.pruning`, fitted anew when a tenth more trials have ended, as in `Background`."""

    def __init__(self, *, knows_schedule: bool, **settings: Any):
        self.pruner = Pruner(**settings)
        self._knows = knows_schedule
        self._ended: list[Run] = []
        self._known = 0
        self.fit_seconds = self.judge_seconds = 0.0

    def begin(self, trial: Recorded) -> None:
        self._trial, self._place, self._judged = trial, 0, 0.0
        self._schedule = trial.schedule() if self._knows else None

    def stops(self, place: int) -> bool:
        self._place = place
        now = float(self._trial.steps[place] / self._trial.steps[-1])
        if np.isfinite(self._trial.metric[place]) and not due(self._judged, now):
            return False
        self._judged = now
        began = time.process_time()
        total = int(self._trial.steps[-1])
        verdict = self.pruner.judge(self._trial.until(place + 1, total, status=Status.CUT_SHORT), self._schedule)
        self.judge_seconds += time.process_time() - began
        return verdict.stop

    def end(self, *, stopped: bool) -> None:
        finite = math.isfinite(self._trial.metric[self._place])
        if not finite:
            return
        status = Status.CUT_SHORT if stopped else Status.FINISHED
        self._ended.append(self._trial.until(self._place + 1, int(self._trial.steps[-1]), status=status))
        if len(self._ended) > self._known and len(self._ended) >= self._known * GROWTH:
            began = time.process_time()
            self.pruner.learn(self._ended)
            self._known, self.fit_seconds = len(self._ended), self.fit_seconds + time.process_time() - began


class Optunas:
    """A pruner of Optuna in a study of its own."""

    def __init__(self, pruner: Any, direction: Direction, seed: int):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        way = "maximize" if direction is Direction.MAX else "minimize"
        sampler = optuna.samplers.RandomSampler(seed=seed)
        self._states = optuna.trial.TrialState
        self._study = optuna.create_study(direction=way, pruner=pruner, sampler=sampler)

    def begin(self, trial: Recorded) -> None:
        self._recorded, self._trial, self._place = trial, self._study.ask(), 0

    def stops(self, place: int) -> bool:
        self._place = place
        self._trial.report(float(self._recorded.metric[place]), place + 1)
        return self._trial.should_prune()

    def end(self, *, stopped: bool) -> None:
        value = float(self._recorded.metric[self._place])
        if stopped:
            self._study.tell(self._trial, state=self._states.PRUNED)
        elif math.isfinite(value):
            self._study.tell(self._trial, value)
        else:
            self._study.tell(self._trial, state=self._states.FAIL)


class RayASHA:
    """Ray Tune's asynchronous successive halving, called as Tune's controller calls it."""

    def __init__(self, direction: Direction, points: int):
        from ray.tune.schedulers import ASHAScheduler, TrialScheduler

        self._stop = TrialScheduler.STOP
        self._scheduler = ASHAScheduler(
            time_attr="training_iteration", metric="value", mode=str(direction), max_t=points, grace_period=1
        )
        self._numbers = itertools.count()

    def begin(self, trial: Recorded) -> None:
        from types import SimpleNamespace

        self._recorded, self._place = trial, 0
        self._trial = SimpleNamespace(trial_id=f"{next(self._numbers):05d}", config={})
        self._scheduler.on_trial_add(None, self._trial)  # pyright: ignore[reportArgumentType]

    def stops(self, place: int) -> bool:
        self._place = place
        asked = self._scheduler.on_trial_result(None, self._trial, self._result())  # pyright: ignore[reportArgumentType]
        return asked == self._stop and place + 1 < len(self._recorded.metric)

    def end(self, *, stopped: bool) -> None:
        self._scheduler.on_trial_complete(None, self._trial, self._result())  # pyright: ignore[reportArgumentType]

    def _result(self) -> dict[str, Any]:
        value = float(self._recorded.metric[self._place])
        return {"training_iteration": self._place + 1, "value": value if math.isfinite(value) else 1e30}


class DeepHyper:
    """DeepHyper's stopper by learning curves, called as its evaluator calls it: a job a trial, in one storage."""

    def __init__(self, direction: Direction, points: int, seed: int):
        from deephyper.evaluator.storage import MemoryStorage  # pyright: ignore[reportMissingImports]

        self._sign, self._points, self._seed = 1.0 if direction is Direction.MAX else -1.0, points, seed
        self._storage = MemoryStorage()
        self._search = self._storage.create_new_search()
        self.judge_seconds = 0.0

    def begin(self, trial: Recorded) -> None:
        from deephyper.evaluator import RunningJob  # pyright: ignore[reportMissingImports]
        from deephyper.stopper import LCModelStopper  # pyright: ignore[reportMissingImports]

        stopper = LCModelStopper(max_steps=self._points, random_state=self._seed)
        self._job = RunningJob(self._storage.create_new_job(self._search), {}, self._storage, stopper)
        stopper.job = self._job
        self._recorded, self._last = trial, -math.inf

    def stops(self, place: int) -> bool:
        value = float(self._recorded.metric[place])
        if not math.isfinite(value):
            return True
        self._last = self._sign * value
        self._job.record(place + 1, self._last)
        began = time.process_time()
        stopped = self._job.stopped()
        self.judge_seconds += time.process_time() - began
        return stopped

    def end(self, *, stopped: bool) -> None:
        self._storage.store_job_out(self._job.id, self._last if math.isfinite(self._last) else "F_diverged")


def stoppers(direction: Direction, points: int, seed: int) -> dict[str, Callable[[], Stopper]]:
    """Each pruner, made fresh; settings are the packages' defaults."""
    from optuna import pruners

    theirs: dict[str, Callable[[], Any]] = {
        "Median": pruners.MedianPruner,
        "Percentile 25": lambda: pruners.PercentilePruner(25.0),
        "Patient": lambda: pruners.PatientPruner(pruners.MedianPruner(), patience=max(1, points // 10)),
        "SuccessiveHalving": pruners.SuccessiveHalvingPruner,
        "Hyperband": lambda: pruners.HyperbandPruner(max_resource=points),
        "Wilcoxon": pruners.WilcoxonPruner,
    }
    made: dict[str, Callable[[], Stopper]] = {
        NOBODY: Nobody,
        "lodestar": lambda: Ours(knows_schedule=True, seed=seed),
        "lodestar, no rates": lambda: Ours(knows_schedule=False, seed=seed),
        "Ray ASHA": lambda: RayASHA(direction, points),
    }
    if importlib.util.find_spec("deephyper"):
        made["DeepHyper LCModel"] = lambda: DeepHyper(direction, points, seed)
    return made | {name: (lambda make=make: Optunas(make(), direction, seed)) for name, make in theirs.items()}
