"""The `report` that a training function calls: keeps what it says, and makes the run of it."""

import math
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Direction, Facts, Note, NoteKind, Run, Scalar, Series, Status
from lodestar.sweep.events import TrialCut
from lodestar.sweep.lost import Lost
from lodestar.sweep.trial import Job, Trial

Progress = Callable[[int, float | None, float | None], None]
PROGRESS_SECONDS = 0.5
POINT = struct.Struct("=qd")  # a step and a value


class Recorder:
    """One trial's reports. Call it as `ReportFunction` says."""

    def __init__(self, trial: Trial, *, cut_diverged: bool = True, on_progress: Progress | None = None):
        self.trial = trial
        self.cut: str | None = None
        self.pruned: str | None = None  # set by another thread: why the sweep stops this trial
        self.notes: list[Note] = []
        self._curves = {name: bytearray() for name in ("loss", "metric", "lr")}
        self._lost = Lost(trial.total_steps) if cut_diverged else None
        self._on_progress = on_progress
        self._told = 0.0
        self._last: dict[str, float | None] = {"loss": None, "metric": None}

    def __call__(self, step: int, *, loss: Any = None, metric: Any = None, lr: Any = None) -> None:
        """Keep what is reported; raise `TrialCut` if the trial is lost, or stopped."""
        if self.cut is not None or self.pruned is not None:
            raise TrialCut(self.cut or self.pruned)
        at = _step(step)
        given = {name: _number(name, v) for name, v in (("loss", loss), ("metric", metric)) if v is not None}
        if not given and lr is None:
            raise ValueError(f"report({at}) says nothing. Fix: report(step, loss=..., metric=...), one of them or both")
        for name, value in given.items():
            self._keep(name, at, value)
            self._last[name] = value
        rate = self._rate(at, lr)
        if rate is not None:
            self._keep("lr", at, rate)
        self._tell(at)
        if "loss" in given and self._lost is not None:
            self.cut = self._lost.judge(at, given["loss"])
            if self.cut is not None:
                raise TrialCut(self.cut)

    def _keep(self, name: str, step: int, value: float) -> None:
        self._curves[name].extend(POINT.pack(step, value))  # at one go: another thread may report as well

    def _rate(self, step: int, lr: Any) -> float | None:
        if lr is None:
            return None if self.trial.schedule is None else self.trial.schedule(step)
        rate = _number("lr", lr)
        if not math.isfinite(rate) or rate < 0:
            raise ValueError(
                f"report({step}): lr must be a finite number >= 0, got {rate}. Fix: report the rate in use"
            )
        return rate

    def _tell(self, step: int) -> None:
        now = time.monotonic()
        if self._on_progress is not None and now - self._told >= PROGRESS_SECONDS:
            self._told = now
            self._on_progress(step, self._last["loss"], self._last["metric"])

    @property
    def reported(self) -> int:
        return len(self._curves["loss"]) // POINT.size

    @property
    def lost_at_the_end(self) -> bool:
        loss = self._last["loss"]
        return loss is not None and not math.isfinite(loss)

    def as_run(self, job: Job, returned: Mapping[str, Scalar] | None = None) -> Run:
        """The run; there must be a loss. `returned` joins the trial's settings among the facts."""
        trial, notes = self.trial, list(self.notes)
        curves = {name: _merged(name, bytes(curve), notes) for name, curve in self._curves.items()}
        last = max(int(steps[-1]) for steps, _ in curves.values() if len(steps))
        if last > trial.total_steps:
            notes.append(Note(f"steps go up to {last}, but {trial.total_steps} were planned", NoteKind.STEPS))
        if self.cut is not None:
            notes.append(Note(f"cut at step {last} of {trial.total_steps}: {self.cut}", NoteKind.INCOMPLETE))
        elif self.pruned is not None and last < trial.total_steps:
            notes.append(Note(f"stopped at step {last} of {trial.total_steps}: {self.pruned}", NoteKind.PRUNED))
        if not len(curves["lr"][0]):
            notes.append(Note("no learning rate was reported, and the sweep set none", NoteKind.MISSING))
        return Run(
            name=trial.name,
            **{name: Series(*curve) for name, curve in curves.items()},
            direction=Direction(job.direction),
            status=self._status(curves["loss"][0], last),
            total_steps=max(trial.total_steps, last),
            metric_name=job.metric_name,
            facts=self._facts(job, returned or {}),
            notes=tuple(notes),
        )

    def _status(self, steps: NDArray[np.int64], last: int) -> Status:
        if self.cut is not None or self.lost_at_the_end:
            return Status.DIVERGED
        # The last report may fall one interval before the end (steps counted from 0, reported every tenth).
        spacing = float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0
        return Status.CUT_SHORT if last + spacing < self.trial.total_steps else Status.FINISHED

    def _facts(self, job: Job, returned: Mapping[str, Scalar]) -> Facts:
        schedule = self.trial.schedule
        return Facts(
            task=job.task,
            schedule=None if schedule is None else schedule.name,
            peak_lr=None if schedule is None else schedule.peak,
            seed=self.trial.seed,
            source="sweep",
            extra={**self.trial.settings, **returned, "trial": self.trial.digest},
        )


def _step(step: Any) -> int:
    try:
        whole = int(step)
    except (TypeError, ValueError, OverflowError):
        whole = -1
    if whole < 0 or whole != step:
        raise ValueError(f"report: step must be a whole number >= 0, got {step!r}. Fix: count optimizer updates from 1")
    return whole


def _number(name: str, value: Any) -> float:
    """A plain number, also from arrays and tensors that hold just one."""
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"report: {name} must be a number, got {type(value).__name__} {str(value)[:60]!r}. Fix: report its mean"
        ) from error


def _merged(name: str, points: bytes, notes: list[Note]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One curve in step order; of several values at one step, the last reported stays."""
    table = np.frombuffer(points, [("step", np.int64), ("value", np.float64)])
    at, kept = table["step"].copy(), table["value"].copy()
    gaps = np.diff(at)
    if np.all(gaps > 0):
        return at, kept
    order = np.argsort(at, kind="stable")
    at, kept = at[order], kept[order]
    last = np.append(at[1:] != at[:-1], True)
    twice = at[~last]
    if name != "lr":  # an lr follows each report of a loss or a metric: at one step they agree
        span = f"{twice.min()}" if len(twice) and twice.min() == twice.max() else ""
        span = span or (f"{twice.min()}-{twice.max()}" if len(twice) else "")
        what = f"steps {span} reported more than once; the last value of each was kept" if span else "steps were sorted"
        notes.append(Note(f"{name}: {what}", NoteKind.OTHER if span else NoteKind.SORTED))
    return at[last], kept[last]
