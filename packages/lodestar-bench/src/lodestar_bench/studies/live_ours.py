"""`lodestar tune` as the live study runs it: through its Python entry, with an executor that trains in this process.

Comes in: a rig, a repeat, a budget. Goes out: the schedule it ended with, and what the search cost. Fits are charged:
their processor time, in full runs by what this search's own trials took, counts as spent.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lodestar.pruning import Pruner
from lodestar.runs import Run
from lodestar.schedules import Schedule
from lodestar.sweep import Trial
from lodestar.tuning import Round, TuneResult, tune
from lodestar_bench.studies.live_rivals import Found, Rig
from lodestar_bench.train_here import AbstractHere

OURS = "lodestar tune"


class Here(AbstractHere):
    """Trials by the rig's compiled program; `seconds` is their processor time."""

    def __init__(self, rig: Rig):
        super().__init__()
        self._rig, self.seconds = rig, 0.0

    def _train(self, trial: Trial) -> Iterator[tuple[int, float, float | None]]:
        assert trial.schedule is not None
        rates, began = trial.schedule.rates, time.process_time()
        training = self._rig.begin(trial.seed, float(rates[0]))
        self.seconds += time.process_time() - began
        while not training.done:
            began, before = time.process_time(), training.step
            loss = self._rig.advance(training, rates, training.step + self._rig.every)
            worth = self._rig.measure(training)
            self.seconds += time.process_time() - began
            self.updates += training.step - before
            yield training.step, loss, None if training.lost else self._rig.sign * worth


class Timed(Pruner):
    """The pruner, and the processor time it took."""

    seconds = 0.0

    def learn(self, runs: Sequence[Run]) -> Any:
        began = time.thread_time()
        try:
            return super().learn(runs)
        finally:
            self.seconds += time.thread_time() - began

    def judge(self, run: Run, schedule: Schedule | None = None) -> Any:
        began = time.thread_time()
        try:
            return super().judge(run, schedule)
        finally:
            self.seconds += time.thread_time() - began


class _Spent(Exception):
    """The budget is spent, fits included."""


def ours(
    rig: Rig, repeat: int, budget: int, *, prune: bool = True, spend_all: bool = True
) -> tuple[Found, dict[str, Any]]:
    """One search; a warm-up run is made first, so that no compiling is counted."""
    rig.test(rig.rates({"peak": rig.space.peak.low, "warmup": 0, "plateau": 0, "power": 1, "floor": 0}), 0)
    here, pruner, peak = Here(rig), Timed(startup=8), (rig.space.peak.low, rig.space.peak.high)
    last: list[Round] = []

    def charge(now: Round) -> float:
        run = here.seconds / max(here.updates, 1) * rig.total
        return (now.thought + pruner.seconds) / run if here.updates else 0.0

    def on_round(now: Round) -> None:
        last.append(now)
        if budget - now.spent - charge(now) < 0.5:
            raise _Spent

    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, Any] = {
            "out": Path(folder) / "runs", "seed": repeat, "total_steps": rig.total, "peak": peak, "fit": False,
            "executor": here, "direction": str(rig.problem.direction), "task": rig.problem.task,
            "prune": pruner if prune else False, "spend_all": spend_all,
        }  # fmt: skip
        result: TuneResult | None = None
        with contextlib.suppress(_Spent):
            result = tune("live:train", budget=budget, on_round=on_round, **given)
        if result is None:  # the choice is made of what there is
            result = tune("live:train", budget=1, **given)
    assert result.choice is not None
    cost = charge(last[-1])
    facts = {
        "trials": result.runs, "pruned": result.pruned, "charged": cost, "tried": result.choice.name,
        "ended_early": result.ended_early, "forecast": [result.choice.final, result.choice.lower, result.choice.upper],
    }  # fmt: skip
    spent = (result.spent + cost) * rig.total
    return Found(spent, rig.sign * result.choice.final, result.choice.schedule.rates), facts
