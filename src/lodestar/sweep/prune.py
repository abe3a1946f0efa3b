"""Pruning by forecast in a sweep: follows the trials' reports, and asks the executor to stop those without a chance.

Comes in: events, and the runs that are in the store. Goes out: calls of `executor.stop`. Reports come in now and then,
not all of them; what is learned from are whole runs.
"""

import dataclasses
import logging
from collections.abc import Iterable

from lodestar.pruning import Background, Pruner, VerdictKind
from lodestar.pruning.pruner import due
from lodestar.runs import Direction, Run, Series, Status
from lodestar.sweep.events import Done, Event, Failed, Reported, Started
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.trial import Job, Trial

log = logging.getLogger(__name__)


@dataclasses.dataclass
class _Followed:
    """What a trial under way has said."""

    loss: dict[int, float] = dataclasses.field(default_factory=dict)
    metric: dict[int, float] = dataclasses.field(default_factory=dict)
    judged: float = 0.0


class SweepPruner:
    """Takes every event of a sweep."""

    def __init__(self, pruner: Pruner, executor: AbstractExecutor, job: Job):
        self._pruner, self._executor, self._direction = pruner, executor, Direction(job.direction)
        self._background = Background(pruner)
        self._running: dict[str, _Followed] = {}
        self._ended: list[Run] = []

    def remember(self, runs: Iterable[Run]) -> None:
        """Runs of this sweep that were made before."""
        self._ended += [run for run in runs if len(run.metric)]
        self._background.look(self._ended.copy)

    def take(self, event: Event) -> None:
        """Follow what happens; may ask the executor to stop a trial."""
        match event:
            case Started(trial):
                self._running[trial.name] = _Followed()
            case Reported(trial):
                try:
                    self._judge(trial, event)
                except Exception as error:  # noqa: BLE001  a sweep goes on without us
                    log.warning("%s could not be judged and goes on: %r", trial.name, error)
            case Failed(trial):
                self._running.pop(trial.name, None)
            case Done(trial, run):
                self._running.pop(trial.name, None)
                if len(run.metric):
                    self._ended.append(run)
        self._background.look(self._ended.copy)

    def _judge(self, trial: Trial, event: Reported) -> None:
        followed = self._running.get(trial.name)
        if followed is None:
            return
        if event.loss is not None:
            followed.loss[event.step] = event.loss
        if event.metric is not None and event.metric != next(reversed(followed.metric.values()), None):
            followed.metric[event.step] = event.metric
        now = event.step / trial.total_steps
        if not followed.loss or not due(followed.judged, now) or now >= 1:
            return
        followed.judged = now
        verdict = self._pruner.judge(self._run(trial, followed), trial.schedule)
        # Losses that are not finite are the recorder's to judge, which knows of `--no-cut`.
        if verdict.kind is VerdictKind.HOPELESS and self._executor.stop(trial, verdict.reason):
            log.info("%s is stopped: %s", trial.name, verdict.reason)

    def _run(self, trial: Trial, followed: _Followed) -> Run:
        loss, metric = (
            Series(sorted(curve), [curve[step] for step in sorted(curve)]) for curve in (followed.loss, followed.metric)
        )
        total = max(trial.total_steps, *loss.steps.tolist(), *metric.steps.tolist())
        return Run(trial.name, loss, metric, Series.empty(), self._direction, Status.CUT_SHORT, total)
