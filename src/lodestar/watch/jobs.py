"""Jobs: every decision log under some paths, looked at again when it has changed.

Comes in: paths. Goes out: a `Job` for each, with what a table says of it, best first. Reads what changed and no more:
a log when its size or time has, of the points only the last ones until somebody looks at that job. Nothing is written.
"""

import dataclasses
import hashlib
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar._errors import CommandError, LodestarError
from lodestar.report.sections.live import Curve, curves_of
from lodestar.report.sections.steered import SteeredRun
from lodestar.runs.run import Run
from lodestar.runs.store import RunStore
from lodestar.scheduler import Decision, Outcome, read_log
from lodestar.scheduler.records.command import Command, control_path
from lodestar.scheduler.records.points import points_path, read_points
from lodestar.watch.commands import waiting_command

SILENT = 120.0  # seconds without a sign after which a job may be dead
_LOOK = 0.2  # seconds between two looks at the disk, for all who watch
_NEW = 2.0  # and for logs that are new

Stamp = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Job:
    """One job as its files stand. `version` changes with them."""

    id: str
    path: Path
    steered: SteeredRun
    version: str
    step: int  # the last one measured or decided
    loss: float | None
    metric: float | None
    seen: float  # when it gave a last sign
    waiting: Command | None
    trouble: str = ""  # a damaged command file

    @property
    def last(self) -> Decision:
        """The newest decision."""
        return self.steered.log.decisions[-1]

    @property
    def forecast(self) -> Decision | None:
        """The newest decision that forecasts the end."""
        known = (d for d in reversed(self.steered.log.decisions) if _final(self.steered, d) is not None)
        return next(known, None)

    @property
    def paused(self) -> bool:
        """Whether steering is paused by hand."""
        by_hand = {Outcome.PAUSED: True, Outcome.SCALED: True, Outcome.TAKEN: True, Outcome.RESUMED: False}
        known = (by_hand[d.outcome] for d in reversed(self.steered.log.decisions) if d.outcome in by_hand)
        return next(known, False)

    @property
    def status(self) -> str:
        """One word or two."""
        log = self.steered.log
        if log.over or self.step >= self.steered.total_steps:
            return "stopped by hand" if any(d.outcome is Outcome.STOPPED for d in log.decisions) else "finished"
        if time.time() - self.seen > SILENT:
            return "silent"
        return "steering paused" if self.paused else "running"

    @property
    def seconds_left(self) -> float | None:
        """At the pace since its last start; None where that is not known, or it is over."""
        header, done = self.steered.log.header, self.step
        started, before = header.get("started"), header.get("resumed_after", 0)
        if self.status not in ("running", "steering paused") or not isinstance(started, float | int) or done <= before:
            return None
        pace = (self.seen - started) / (done - before)
        return max(pace * (self.steered.total_steps - done), 0.0)

    def row(self) -> dict[str, Any]:
        """What a table says of it."""
        decision = self.forecast
        final, ends = (
            (None, None) if decision is None else (_final(self.steered, decision), _ends(self.steered, decision))
        )
        return {
            "id": self.id,
            "name": self.steered.name,
            "status": self.status,
            "step": self.step,
            "total": self.steered.total_steps,
            "loss": self.loss,
            "metric": self.metric,
            "metric_name": self.steered.metric,
            "final": final,
            "interval": ends,
            "seconds_left": self.seconds_left,
            "warnings": len(self.steered.log.warnings) + bool(self.trouble),
            "control": self.steered.log.header.get("control") is True,
        }

    def curves(self, store: RunStore | None) -> dict[str, Curve]:
        """Loss, metric and rate so far: of its points, else of its run in the store, else as decided."""
        points = read_points(self.path, self.steered.log.header.get("job"))
        if len(points):
            return curves_of(points)
        run = None if store is None else _stored(store, self.steered.run_name)
        if run is not None:
            return {name: (s.steps.astype(float), s.values) for name, s in vars(run).items() if name in _CHANNELS}
        decisions, rates = self.steered.log.decisions, self.steered.rates()
        told = {
            name: [(d.step, getattr(d, name)) for d in decisions if getattr(d, name) is not None]
            for name in ("loss", "metric")
        }
        found = {name: np.array(pairs, float).reshape(-1, 2) for name, pairs in told.items()}
        return {
            **{name: (a[:, 0], a[:, 1]) for name, a in found.items()},
            "lr": (np.array(rates[0]), np.array(rates[1])),
        }


_CHANNELS = ("loss", "metric", "lr")


class Jobs:
    """All logs under some paths. Safe to ask from several threads."""

    def __init__(self, paths: Sequence[Path], store: RunStore | None = None):
        self.paths, self.store = [path.absolute() for path in paths], store
        for path in self.paths:
            if not path.exists():
                raise LodestarError(f"there is no log or folder {path}. Fix: the file given to the job as log=...")
        self._known: dict[Path, tuple[Stamp, Job | None]] = {}
        self._lock, self._looked, self._listed = threading.Lock(), -math.inf, -math.inf
        self._files: list[Path] = []

    def all(self) -> list[Job]:
        """Every job, the best forecast first; then those without one."""
        with self._lock:
            now = time.monotonic()
            if now - self._listed >= _NEW:
                self._listed, self._files = now, self._logs()
            if now - self._looked >= _LOOK:
                self._known = {file: self._look(file) for file in self._files}
                self._looked = now
            return sorted((job for _, job in self._known.values() if job is not None), key=_merit)

    def find(self, key: str) -> Job:
        """The job with this id."""
        found = next((job for job in self.all() if job.id == key), None)
        if found is None:
            raise LodestarError(f"there is no job {key[:40]!r} here. Fix: choose one from the table")
        return found

    def _logs(self) -> list[Path]:
        return sorted({file for path in self.paths for file in (path.rglob("*.jsonl") if path.is_dir() else [path])})

    def _look(self, file: Path) -> tuple[Stamp, Job | None]:
        stamp = tuple(map(_stamp, (file, points_path(file), control_path(file))))
        known = self._known.get(file)
        if known is not None and known[0] == stamp:
            return known
        try:
            return stamp, self._job(file, stamp)
        except LodestarError:
            return stamp, None  # no log, or not yet

    def _job(self, file: Path, stamp: Stamp) -> Job | None:
        log = read_log(file)
        if not log.decisions:
            return None
        name = log.run_name or file.stem
        base = next((path for path in self.paths if path.is_dir() and file.is_relative_to(path)), file.parent)
        where = str(file.relative_to(base).with_suffix(""))
        steered = SteeredRun(name if where == name else f"{name} ({where})", log, name)
        last = read_points(file, log.header.get("job"), last=200)
        waiting, trouble = None, ""
        try:
            waiting = waiting_command(file, log)
        except CommandError as error:
            trouble = str(error)
        key = hashlib.sha256(str(file).encode()).hexdigest()[:12]
        version = hashlib.sha256(repr(stamp).encode()).hexdigest()[:12]
        step = max([log.decisions[-1].step, *last["step"][-1:].tolist()])
        loss, metric = (_latest(last[name], log.decisions, name) for name in ("loss", "metric"))
        seen = max(time_ns for time_ns, _ in stamp[:2]) / 1e9
        return Job(key, file, steered, version, int(step), loss, metric, seen, waiting, trouble)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _latest(values: np.ndarray, decisions: Sequence[Decision], name: str) -> float | None:
    measured = values[np.isfinite(values)]
    if len(measured):
        return float(measured[-1])
    return next((value for d in reversed(decisions) if (value := getattr(d, name)) is not None), None)


def _final(steered: SteeredRun, decision: Decision) -> float | None:
    return decision.forecast if steered.shadow else decision.predicted


def _ends(steered: SteeredRun, decision: Decision) -> tuple[float, float] | None:
    return decision.forecast_interval if steered.shadow else decision.interval


def _merit(job: Job) -> tuple[str, float, str]:
    """Best first among those with one metric."""
    final = job.row()["final"]
    sign = 1.0 if job.steered.log.header.get("direction") == "min" else -1.0
    return job.steered.metric, math.inf if final is None else sign * final, job.steered.name


def _stored(store: RunStore, name: str) -> Run | None:
    try:
        return next(iter(store.read([name], skip_damaged=True)), None) if name in store else None
    except LodestarError:
        return None
