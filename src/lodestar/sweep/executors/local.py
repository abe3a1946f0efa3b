"""The local executor: worker processes on this machine, pinned to cores, one thread each, alive between trials.

A worker that crashes costs its own trial, and a new one takes over; so does one that grows too large. Started as fresh
interpreters, never forked: safe for JAX and PyTorch.
"""

import dataclasses
import logging
import selectors
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lodestar._errors import SweepError
from lodestar.sweep.events import Done, Event, Failed, FailureKind, Started
from lodestar.sweep.executors import wire
from lodestar.sweep.executors.cores import Cores, cores_here
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.executors.local_worker import LocalWorker
from lodestar.sweep.time_limit import seconds_of
from lodestar.sweep.trial import Job, Trial

LOOK_SECONDS = 0.1
GRACE_SECONDS = 3.0
log = logging.getLogger(__name__)


class LocalExecutor(AbstractExecutor):
    """`jobs` processes of `threads` threads each. As a context manager it keeps its workers from one run to the next.

    `logs` is the folder for what trials print (a temporary one if None); `timeout` ends a trial that takes longer, in
    seconds or in words ("30m"), with all it started: it failed.
    """

    def __init__(
        self,
        jobs: int | None = None,
        threads: int = 1,
        *,
        pin: bool = True,
        logs: str | Path | None = None,
        timeout: float | str | None = None,
    ):
        for name, value in (("jobs", jobs), ("threads", threads)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}. Fix: leave it out for the default")
        self._slots = jobs or max(1, cores_here() // threads)
        self._threads, self._pin = threads, pin
        self.timeout = None if timeout is None else seconds_of(timeout)
        self.logs = Path(tempfile.mkdtemp(prefix="lodestar-sweep-") if logs is None else logs)
        if logs is None:
            weakref.finalize(self, shutil.rmtree, self.logs, ignore_errors=True)
        self._keep = False
        self._kept: list[LocalWorker] = []
        self._claimed = Cores()
        self._cores: list[tuple[int, ...]] = []
        self._crew: _Crew | None = None

    @property
    def slots(self) -> int:
        return self._slots

    def __enter__(self) -> "LocalExecutor":
        self._keep = True
        return self

    def __exit__(self, *_: object) -> None:
        self._keep = False
        self._dismiss(self._kept)
        self._kept = []
        self._claimed.free()

    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        self.logs.mkdir(parents=True, exist_ok=True)
        if not self._cores:
            self._cores = self._claimed.claim(self._slots, self._threads) if self._pin else [()] * self._slots
        crew = self._crew = _Crew(self, job, iter(trials), self._kept)
        self._kept = []
        try:
            yield from crew.work()
        except BaseException:
            for worker in crew.workers:
                worker.kill()
            raise
        else:
            if self._keep:
                self._kept = crew.workers
            else:
                self._dismiss(crew.workers)
        finally:
            if not self._kept:
                self._claimed.free()
                self._cores = []

    def stop(self, trial: Trial, reason: str) -> bool:
        workers = [] if self._crew is None else [w for w in self._crew.workers if w.trial == trial]
        for worker in workers:
            worker.stop(reason)
        return bool(workers)

    def hire(self, job: Job, number: int, *, sets_rate: bool) -> LocalWorker:
        """A new worker process for slot `number`."""
        return LocalWorker(
            job, sets_rate=sets_rate, cores=self._cores[number], threads=self._threads, logs=self.logs, number=number
        )

    @staticmethod
    def _dismiss(workers: list[LocalWorker]) -> None:
        """Ask all to leave, wait a little, end those that hang."""
        for worker in workers:
            worker.ask_to_end()
        limit = time.monotonic() + GRACE_SECONDS
        for worker in workers:
            while worker.process.poll() is None and time.monotonic() < limit:
                time.sleep(0.01)
            if worker.process.poll() is None:
                log.info("a worker hung at its end and was killed: %s", worker.where)
            worker.kill()


class _Crew:
    """The workers of one call of `run`, and who does what."""

    def __init__(self, executor: LocalExecutor, job: Job, trials: Iterator[Trial], kept: list[LocalWorker]):
        self._executor, self._job, self._trials = executor, job, trials
        self._sets_rate: bool | None = None
        self._kept = kept
        self.workers: list[LocalWorker] = []

    def work(self) -> Iterator[Event]:
        for number in range(self._executor.slots):
            trial = self._next()
            if trial is None:
                break
            yield from self._begin(number, trial)
        self.workers += self._kept  # more than there are trials: they stay for later
        while any(worker.trial is not None for worker in self.workers):
            self._wait()
            for worker in [w for w in self.workers if w.trial is not None]:
                gone = worker.process.poll() is not None  # asked before its last messages are read
                for message in worker.messages():
                    yield from self._answer(worker, message)
                if gone and worker in self.workers and worker.trial is not None:
                    yield from self._bury(worker)
                yield from self._check_time(worker)

    def _wait(self) -> None:
        with selectors.DefaultSelector() as selector:
            for worker in self.workers:
                if worker.process.poll() is None and not worker.silent:
                    selector.register(worker.wire, selectors.EVENT_READ)
            selector.select(LOOK_SECONDS)

    def _next(self) -> Trial | None:
        trial = next(self._trials, None)
        if trial is not None and self._sets_rate is None:
            self._sets_rate = trial.schedule is not None
        return trial

    def _begin(self, number: int, trial: Trial) -> Iterator[Event]:
        """A worker for a slot: one that was kept if it fits, else a new one."""
        while self._kept:
            worker = self._kept.pop(0)
            if worker.job == self._job and worker.sets_rate == self._sets_rate and worker.process.poll() is None:
                worker.trial = trial
                self.workers.append(worker)
                worker.give()
                yield Started(trial, worker.where)
                return
            number = worker.number
            worker.kill()
        worker = self._executor.hire(self._job, number, sets_rate=bool(self._sets_rate))
        worker.trial = trial
        self.workers.append(worker)

    def _answer(self, worker: LocalWorker, message: dict[str, Any]) -> Iterator[Event]:
        trial = worker.trial
        if trial is None:  # it was ended for an earlier message
            return
        if not worker.ready and message["kind"] == "unusable":
            raise SweepError(str(message.get("reason")))
        if not worker.ready and message["kind"] == "ready":
            worker.ready = True
            worker.give()
            yield Started(trial, worker.where)
            return
        try:
            event = wire.event_of(trial, message)
        except wire.BadMessage as error:
            what = f"its process sent what is no message ({error}), and was ended"
            yield from self._bury(worker, what, FailureKind.BAD_MESSAGE)
            return
        if isinstance(event, Failed) and not event.detail:
            event = dataclasses.replace(event, detail=worker.printed())
        if isinstance(event, Done | Failed):
            yield from self._go_on(worker, message.get("retire"))
        yield event

    def _go_on(self, worker: LocalWorker, retire: str | None) -> Iterator[Event]:
        """The next trial first, before anyone takes time over the last one's result."""
        trial = worker.trial = self._next()
        if retire is not None:
            log.info("%s: %s; a new process takes over", worker.where, retire)
            yield from self._replace(worker, trial)
        elif trial is not None:
            worker.give()
            yield Started(trial, worker.where)

    def _replace(self, worker: LocalWorker, trial: Trial | None) -> Iterator[Event]:
        self.workers.remove(worker)
        worker.trial = None
        worker.kill()
        if trial is not None:
            yield from self._begin(worker.number, trial)

    def _bury(
        self, worker: LocalWorker, reason: str | None = None, kind: FailureKind = FailureKind.DIED
    ) -> Iterator[Event]:
        """A worker died in a trial, or is ended in it: that trial failed."""
        trial, printed, seconds = worker.trial, worker.printed(), time.monotonic() - worker.began
        assert trial is not None
        if not worker.ready:
            worker.kill()
            raise SweepError(
                f"the process that imports {self._job.function or 'the job'} died before the first trial: "
                f"{worker.how_it_died()}. Fix: import it by hand. It printed: {printed[-600:] or 'nothing'}"
            )
        yield from self._replace(worker, self._next())
        yield Failed(trial, reason or worker.how_it_died(), printed, seconds, kind)

    def _check_time(self, worker: LocalWorker) -> Iterator[Event]:
        limit = self._executor.timeout
        if limit is None or worker not in self.workers or worker.trial is None or not worker.ready:
            return
        if time.monotonic() - worker.began > limit:
            what = f"it had not ended after {limit:g} s, the time limit of a trial, and was stopped"
            fix = "Fix: --retry-failed with a longer --trial-timeout"
            yield from self._bury(worker, f"{what}. {fix}", FailureKind.TIMED_OUT)
