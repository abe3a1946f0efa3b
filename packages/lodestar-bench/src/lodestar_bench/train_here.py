"""Trials of a search made one after another in this process, with one compiled program for all.

Comes in: a problem and an optimizer; then trials with schedules, as the product's `tune` asks for them. Goes out: the
events of a sweep: every evaluation is reported, so that a trial can be stopped there. Who proposes trials is not known
here.
"""

import abc
import time
from collections.abc import Iterable, Iterator

from lodestar.sweep import AbstractExecutor, Done, Event, Job, Started, Trial
from lodestar.sweep.events import Reported, TrialCut
from lodestar.sweep.recorder import Recorder
from lodestar_bench._errors import BenchError
from lodestar_bench.method import Optimizer
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.training import Training


class AbstractHere(AbstractExecutor):
    """One slot: this process. How a trial is trained is a subclass's affair; `updates` counts what was trained."""

    here = True

    def __init__(self):
        self.updates, self._recorder = 0, None

    @property
    def slots(self) -> int:
        """One."""
        return 1

    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        """Train each to its end, or to where it is stopped."""
        for trial in trials:
            yield Started(trial, "this process")
            recorder, began = Recorder(trial), time.perf_counter()
            self._recorder = recorder
            for step, loss, metric in self._train(trial):
                try:
                    recorder(step, loss=loss, metric=metric)
                except TrialCut:
                    break
                yield Reported(trial, step, loss, metric)
            yield Done(trial, recorder.as_run(job), time.perf_counter() - began)

    def stop(self, trial: Trial, reason: str) -> bool:
        """At its next report."""
        if self._recorder is None or self._recorder.trial is not trial:
            return False
        self._recorder.pruned = reason
        return True

    @abc.abstractmethod
    def _train(self, trial: Trial) -> Iterator[tuple[int, float, float | None]]:
        """Update, loss, validation metric, at every evaluation."""


class TrainHere(AbstractHere):
    """A problem with one compiled optimizer for all trials."""

    def __init__(self, problem: AbstractProblem, optimizer: Optimizer):
        super().__init__()
        self.problem, self._optimizer = problem, optimizer

    def _train(self, trial: Trial) -> Iterator[tuple[int, float, float | None]]:
        """Update, mean loss since the evaluation before, validation metric."""
        if trial.schedule is None:
            raise BenchError(f"trial {trial.name!r} has no schedule to train by")
        rates = trial.schedule.rates
        training = Training(self.problem, self._optimizer, seed=trial.seed, first_rate=float(rates[0]))
        while not training.done:
            before = training.step
            losses = training.advance(rates[before : training.next_evaluation()])
            self.updates += training.step - before
            metric = float("nan") if training.diverged else training.measure(training.look()).metric
            yield training.step, float(losses.mean()), metric
