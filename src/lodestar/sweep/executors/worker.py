"""A worker process: makes one trial after another, and lives on between them, so that what was compiled stays so.

A thread listens all the while: when the sweep's process is gone, however it went, this one ends too, and its guard ends
all it started.
"""

import contextlib
import faulthandler
import gc
import os
import queue
import socket
import threading
import time
import traceback
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

from lodestar._errors import LodestarError
from lodestar.sweep.events import FailureKind, TrialFailed
from lodestar.sweep.executors import guard, wire, work
from lodestar.sweep.executors.output import CappedLog
from lodestar.sweep.executors.surroundings import Surroundings
from lodestar.sweep.recorder import Progress, Recorder
from lodestar.sweep.trial import Job, Trial

TRIM_SECONDS = 0.5
MOST_GROWTH = 1e9  # bytes over what the first trial left
MOST_THREADS = 16  # left behind by trials
LEAVE_SECONDS = 0.5


def main(descriptor: int) -> None:
    """Work until told to end; `descriptor` is this end of the socket."""
    os.set_inheritable(descriptor, False)
    try:
        _Worker(wire.Wire(socket.socket(fileno=descriptor))).work()
    except BaseException:  # noqa: BLE001  nothing may keep a broken worker alive
        traceback.print_exc()
        os._exit(1)  # threads that a trial left behind would hold the process


class _Worker:
    def __init__(self, end: wire.Wire):
        self._wire = end
        self._trial: Trial | None = None
        self._recorder: Recorder | None = None
        self._reporting = threading.Lock()
        self._log = CappedLog()
        self._inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._memory: float | None = None
        self._threads = 0
        self._processes: set[int] = set()

    def work(self) -> None:
        threading.Thread(target=self._listen, name="lodestar-listen", daemon=True).start()
        hello = self._inbox.get()
        if hello["cores"] and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):  # cores taken away since: run unpinned
                os.sched_setaffinity(0, hello["cores"])
        self._log.lead_to(Path(hello["log"]))
        faulthandler.enable()
        job = Job(**hello["job"])
        try:
            work.check(job, sets_rate=hello["sets_rate"])
        except LodestarError as error:
            self._wire.send({"kind": "unusable", "reason": str(error)})
            return
        self._threads = threading.active_count()
        self._processes = self._others()
        surroundings = Surroundings()
        self._wire.send({"kind": "ready"})
        while (message := self._inbox.get())["kind"] != "end":
            self._one(job, wire.trial_of(message["trial"]), Path(message["log"]), surroundings)

    def _one(self, job: Job, trial: Trial, log: Path, surroundings: Surroundings) -> None:
        self._log.lead_to(log)
        began = time.perf_counter()
        try:
            run = work.carry_out(
                job, trial, on_start=self._keep, on_progress=self._progress(trial), after=surroundings.restore
            )
            ended = {"kind": "done", "run": wire.plain_run(run)}
        except TrialFailed as failure:
            ended = {"kind": "failed", "how": failure.kind, "reason": failure.reason, "detail": failure.detail}
            self._log.write(failure.detail)
        except LodestarError as error:
            ended = {"kind": "failed", "how": FailureKind.OTHER, "reason": str(error), "detail": ""}
        except BaseException as error:  # noqa: BLE001  a handler of the trial's struck outside its function
            reason = f"as it ended, it raised {type(error).__name__}: {str(error)[:300]}"
            ended = {"kind": "failed", "how": FailureKind.RAISED, "reason": reason, "detail": traceback.format_exc()}
        with self._reporting:
            self._trial = None
        self._log.finish()
        self._wire.send({**ended, "seconds": time.perf_counter() - began, "retire": self._retire()})

    def _keep(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def _prune(self, name: str, reason: str) -> None:
        """The trial ends at its next report, if it is still the one that is meant."""
        recorder = self._recorder
        if recorder is not None and recorder.trial.name == name:
            recorder.pruned = reason

    def _progress(self, trial: Trial) -> Progress:
        """Sends a trial's reports on, until it has ended: a thread it left behind may go on reporting."""
        self._trial = trial

        def send(step: int, loss: float | None, metric: float | None) -> None:
            # The lock, so that no report follows the trial's end. Nobody waits for it: a signal's handler that reports
            # may have interrupted the one who holds it, and one report less is no loss.
            if self._reporting.acquire(blocking=False):
                try:
                    if self._trial is trial:
                        self._wire.send({"kind": "report", "step": step, "loss": loss, "metric": metric})
                finally:
                    self._reporting.release()

        return send

    def _retire(self) -> str | None:
        """Why a new process should take over, if it should."""
        memory = _memory()
        if self._memory is None:
            self._memory = memory
        if memory > self._memory + MOST_GROWTH:
            return f"memory grew from {self._memory / 1e9:.1f} to {memory / 1e9:.1f} GB"
        left = threading.active_count() - self._threads
        if left > MOST_THREADS:
            return f"trials left {left} threads behind"
        processes = self._left_behind()
        return f"the trial left processes behind ({', '.join(map(str, processes))})" if processes else None

    def _left_behind(self) -> list[int]:
        """Processes the trial has started that do not end by themselves. Some a library may want again: a fresh worker
        does without them, this one might not."""
        limit = time.monotonic() + LEAVE_SECONDS
        while (left := self._others() - self._processes) and time.monotonic() < limit:
            gc.collect()  # pools and data loaders end when nobody holds them
            time.sleep(0.02)
        return sorted(left)

    @staticmethod
    def _others() -> set[int]:
        """All below the guard but this process, and those that Python keeps for all of its life."""
        own = (resource_tracker._resource_tracker, forkserver._forkserver)
        kept = {getattr(own[0], "_pid", None), getattr(own[1], "_forkserver_pid", None)}
        return guard.family(os.getppid()) - {os.getpid()} - kept

    def _listen(self) -> None:
        """Take messages in, keep the log small, and end everything when the sweep's process is gone."""
        while True:
            arrives = self._wire.arrives(TRIM_SECONDS)
            self._log.trim()
            if not arrives:
                continue
            message = self._wire.receive()
            if message is None:
                os._exit(1)
            if message["kind"] == "stop":
                self._prune(message["trial"], message["reason"])
            else:
                self._inbox.put(message)


def _memory() -> float:
    """Bytes this process holds; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGESIZE")
