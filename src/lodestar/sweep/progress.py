"""How a sweep stands: running, done, diverged, failed, best so far, time left. Pure data, made from events."""

import dataclasses
import math
import time

from lodestar.runs import Direction, NoteKind, Run, Status
from lodestar.sweep.events import Done, Event, Failed, Reported, Started


@dataclasses.dataclass
class Running:
    name: str
    where: str
    total_steps: int
    began: float
    step: int = 0
    loss: float | None = None
    metric: float | None = None


class SweepProgress:
    """The state of a sweep of `total` trials, `before` of which earlier calls had ended."""

    def __init__(self, total: int, *, before: int = 0, slots: int = 1, seconds: tuple[float, ...] = ()):
        self.total, self.before, self.slots = total, before, slots
        self.running: dict[str, Running] = {}
        self.finished = self.diverged = self.cut_short = self.pruned = 0
        self.failed: list[Failed] = []
        self.best: tuple[str, float] | None = None
        self.began = time.monotonic()
        self._seconds = list(seconds[-100:])

    @property
    def ended(self) -> int:
        """Trials that ended in this call."""
        return self.finished + self.diverged + self.cut_short + self.pruned + len(self.failed)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> int:
        return self.total - self.before - self.ended

    def take(self, event: Event) -> None:
        match event:
            case Started(trial, where):
                self.running[trial.name] = Running(trial.name, where, trial.total_steps, time.monotonic())
            case Reported(trial, step, loss, metric):
                if trial.name in self.running:
                    row = self.running[trial.name]
                    row.step, row.loss, row.metric = step, loss, metric
            case Failed(trial):
                self.running.pop(trial.name, None)
                self.failed.append(event)
            case Done(trial, run, seconds):
                self.running.pop(trial.name, None)
                self._seconds.append(seconds)
                self._count(run)

    def _count(self, run: Run) -> None:
        self.diverged += run.status is Status.DIVERGED
        pruned = any(note.kind is NoteKind.PRUNED for note in run.notes) and run.status is Status.CUT_SHORT
        self.pruned += pruned
        self.cut_short += run.status is Status.CUT_SHORT and not pruned
        self.finished += run.status is Status.FINISHED
        if run.status is Status.FINISHED:
            self.see(run.name, run.final_metric, run.direction)

    def see(self, name: str, metric: float, direction: Direction) -> None:
        """Take a final metric into account for the best so far."""
        if math.isfinite(metric) and (self.best is None or direction.better(metric, self.best[1])):
            self.best = (name, metric)

    def seconds_left(self, now: float | None = None) -> float | None:
        """A guess from the mean length of trials so far, less what the running ones have had; None before the first."""
        if not self._seconds or not self.left:
            return 0.0 if not self.left else None
        mean = sum(self._seconds) / len(self._seconds)
        now = time.monotonic() if now is None else now
        had = sum(min(now - row.began, mean) for row in self.running.values())
        return max(self.left * mean - had, 0.0) / max(min(self.slots, self.left), 1)
