"""The sweep itself: trials to an executor, runs into the store; a kill at any moment loses nothing but what ran.

Comes in: a job, trials, a store, an executor. Goes out: runs in the store, and a `SweepResult`. A trial is done when
its run is in the store, and failed when the journal says so; the same call again makes only what is neither. Knows no
terminal: `on_start` and `on_event` show what happens.
"""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lodestar._errors import SweepError
from lodestar.runs import Run, RunStore, segment
from lodestar.runs.summary import RunSummary
from lodestar.sweep.events import Done, Event, Failed
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.executors.local import LocalExecutor
from lodestar.sweep.executors.local_worker import WORKER_MARK
from lodestar.sweep.journal import Past, SweepJournal, folder_beside, held
from lodestar.sweep.keeper import Keeper
from lodestar.sweep.progress import SweepProgress
from lodestar.sweep.trial import Job, Trial

if TYPE_CHECKING:
    from lodestar.pruning import Pruner
    from lodestar.sweep.prune import SweepPruner

OnEvent = Callable[[Event, SweepProgress], None]
OnStart = Callable[[SweepProgress], None]
log = logging.getLogger(__name__)
MERGE_FROM = 20  # runs stored one by one, after which the store's many small files are made few


@dataclasses.dataclass(frozen=True)
class SweepResult:
    """What a sweep left: counts of this call's trials, those done or failed `before`, and the best of all."""

    store: str
    trials: int
    before: int
    failed_before: int
    finished: int
    diverged: int
    cut_short: int
    failed: tuple[Failed, ...]
    best: tuple[str, float] | None
    seconds: float
    pruned: int = 0

    def as_dict(self) -> dict[str, Any]:
        failed = [
            {"trial": f.trial.name, "kind": str(f.kind), "reason": f.reason, "detail": f.detail} for f in self.failed
        ]
        best = None if self.best is None else {"run": self.best[0], "metric": self.best[1]}
        return {**vars(self), "failed": failed, "best": best}


def run_trials(
    job: Job,
    trials: Sequence[Trial],
    store: RunStore | str | Path,
    executor: AbstractExecutor | None = None,
    *,
    place: AbstractExecutor | None = None,
    identity: Mapping[str, Any] | None = None,
    retry_failed: bool = False,
    add: bool = True,
    prune: "Pruner | None" = None,
    log_to: str | None = None,
    on_start: OnStart | None = None,
    on_event: OnEvent | None = None,
) -> SweepResult:
    """Make every trial whose run is not in the store yet, and did not fail before.

    `identity` tells this sweep from others into the same store (default: the job); with `add` they may share it.
    `retry_failed` runs failed ones again; `prune` stops trials without a chance to become the best. `log_to` names a
    tracker that gets every run as well: "mlflow:...".
    """
    if os.environ.get(WORKER_MARK) and not (executor is not None and executor.here):
        raise SweepError(
            "a sweep was started inside a sweep's own worker, which imports your file to find the function. Fix: call "
            'it under: if __name__ == "__main__":'
        )
    _check_names(trials)
    kept = store if isinstance(store, RunStore) else RunStore(store)
    folder = folder_beside(kept.address)
    with held(folder), contextlib.ExitStack() as stack:
        journal = SweepJournal(folder, identity or job.as_dict())
        if not add:
            journal.check_alone()
        listed = _listed(kept, trials)
        past = journal.open()
        stack.callback(journal.close)
        skipped = {} if retry_failed else {n: why for n, why in past.failed.items() if n not in listed}
        left = [trial for trial in trials if trial.name not in listed and trial.name not in skipped]
        executor = executor or place or LocalExecutor(logs=folder)
        progress = _progress_of(trials, left, listed.values(), past, executor)
        if on_start is not None:
            on_start(progress)
        if left:
            kept.make()  # what cannot be written to is told before any trial runs
            segment.encode((), {})  # Arrow takes a moment to load, and the first run that comes must not wait for it
            pruner = None if prune is None else _pruner(prune, executor, job, kept)
            _carry(executor.run(job, left), Keeper(kept, _writer(log_to)), journal, progress, on_event, pruner)
        if progress.ended >= MERGE_FROM:
            kept.compact()
    failed_before = sum(trial.name in skipped for trial in trials)
    return _result(kept, len(trials), progress, failed_before)


def _carry(
    events: Iterator[Event],
    keeper: Keeper,
    journal: SweepJournal,
    progress: SweepProgress,
    on_event: OnEvent | None,
    pruner: "SweepPruner | None",
) -> None:
    """Until all have ended; whatever happens, runs handed over are stored before this returns."""
    try:
        with contextlib.closing(events):  # pyright: ignore[reportArgumentType]
            for event in events:
                if isinstance(event, Done):
                    keeper.keep(event.run)
                if isinstance(event, Done | Failed):
                    journal.add(event)
                keeper.check()
                progress.take(event)
                if pruner is not None:
                    pruner.take(event)
                if on_event is not None:
                    on_event(event, progress)
    finally:
        keeper.close()


def _pruner(prune: "Pruner", executor: AbstractExecutor, job: Job, store: RunStore) -> "SweepPruner":
    """It knows all runs of this metric and task that the store holds."""
    from lodestar.sweep.prune import SweepPruner  # SciPy and the fit: workers import this file too

    pruner = SweepPruner(prune, executor, job)
    alike = [row for row in store.list() if (row.metric_name, row.facts.task) == (job.metric_name, job.task)]
    ours = [row.name for row in alike if row.direction == job.direction]
    if len(ours) < len(alike):
        log.warning(
            "%d of %d runs in the store have the same metric %r in the other direction, and are not learned from. Fix: "
            "--direction %s, or a store of its own",
            *(len(alike) - len(ours), len(alike), job.metric_name, "min" if job.direction == "max" else "max"),
        )
    pruner.remember(store.iter(ours) if ours else ())
    return pruner


def _listed(store: RunStore, trials: Sequence[Trial]) -> dict[str, RunSummary]:
    """The trials that are in the store already; an error if a run of that name is another one."""
    there = {row.name: row for row in store.list()} if store.exists() else {}
    stored = {trial.name: there[trial.name] for trial in trials if trial.name in there}
    for trial in trials:
        if trial.name in stored and stored[trial.name].facts.extra.get("trial") != trial.digest:
            raise SweepError(
                f"the store holds another run called {trial.name!r} (other schedule, seed, length or settings than "
                "this sweep's). Fix: choose another --out, or remove it: lodestar runs STORE --remove NAME"
            )
    return stored


def _progress_of(
    trials: Sequence[Trial], left: Sequence[Trial], stored: Iterable[RunSummary], past: Past, executor: AbstractExecutor
) -> SweepProgress:
    slots = executor.slots if left else 1  # asking may connect to a cluster
    progress = SweepProgress(len(trials), before=len(trials) - len(left), slots=slots, seconds=past.seconds)
    for row in stored:
        if row.status == "finished":
            progress.see(row.name, row.final_metric, row.direction)
    return progress


def _result(store: RunStore, trials: int, progress: SweepProgress, failed_before: int) -> SweepResult:
    return SweepResult(
        store=store.address,
        trials=trials,
        before=progress.before - failed_before,
        failed_before=failed_before,
        finished=progress.finished,
        diverged=progress.diverged,
        cut_short=progress.cut_short,
        failed=tuple(progress.failed),
        best=progress.best,
        seconds=progress.seconds,
        pruned=progress.pruned,
    )


def _writer(log_to: str | None) -> Callable[[Run], None] | None:
    if log_to is None:
        return None
    from lodestar.exporters import open_writer, write_run

    writer = open_writer(log_to)
    writer.connect()
    return lambda run: write_run(run, writer)


def _check_names(trials: Sequence[Trial]) -> None:
    seen: set[str] = set()
    for trial in trials:
        if trial.name in seen:
            raise ValueError(f"trials must have names of their own, but two are called {trial.name!r}. Fix: rename one")
        if trial.total_steps < 1:
            raise ValueError(f"trial {trial.name!r}: total_steps must be at least 1, got {trial.total_steps}")
        seen.add(trial.name)
