"""Trials on their way through a Ray cluster: sent out as room allows, heard of, sent again when a machine died.

Ray itself retries nothing: here a trial whose node or process was lost is known as such, shown, and counted.
"""

import collections
import dataclasses
import logging
import time
from collections.abc import Iterator
from typing import Any

from lodestar._errors import SweepError
from lodestar.sweep.events import Event, Failed, FailureKind, Started
from lodestar.sweep.executors import _ray_task, wire
from lodestar.sweep.executors._ray_cluster import HEAD, RayCluster
from lodestar.sweep.trial import Job, Trial

LOOK_SECONDS = 1.0
COUNT_SECONDS = 2.0
LEAST_QUEUED = 2
WAIT_SECONDS = 30.0
log = logging.getLogger(__name__)


@dataclasses.dataclass
class _Flight:
    """One attempt at one trial."""

    trial: Trial
    attempt: int
    sent: float
    started: bool = False

    @property
    def name(self) -> str:
        return f"{self.attempt} {self.trial.name}"


class Flights:
    """The attempts that are under way."""

    def __init__(self, cluster: RayCluster, job: Job, trials: Iterator[Trial], need: "Need"):
        self._cluster, self._ray, self._job, self._trials, self._need = cluster, cluster.ray, job, trials, need
        self._again: collections.deque[tuple[Trial, int]] = collections.deque()
        self._flights: dict[Any, _Flight] = {}
        self._proven = False
        self._slots, self._counted, self._roomless_since = 0, -COUNT_SECONDS, time.monotonic()
        self._task = self._ray.remote(_ray_task.make_trial).options(
            max_retries=0, num_cpus=need.cpus, num_gpus=need.gpus
        )
        on_head = {"num_cpus": 0, "resources": {HEAD: 0.001}, "max_restarts": -1, "max_concurrency": 1000}
        self._mailbox = self._ray.remote(_ray_task.Mailbox).options(**on_head).remote()
        self._mail: Any = None

    def fly(self) -> Iterator[Event]:
        while True:
            self._send()
            if not self._flights:
                return
            for ref in self._wait():
                yield from self._read_mail() if ref == self._mail else self._land(ref)

    def stop(self) -> None:
        for ref in self._flights:
            self._ray.cancel(ref, force=True)
        self._flights.clear()
        self._ray.kill(self._mailbox)

    def stop_trial(self, trial: Trial, reason: str) -> bool:
        """Ask a trial to end at one of its next reports; False if it is not under way."""
        names = [flight.name for flight in self._flights.values() if flight.trial == trial]
        for name in names:
            self._mailbox.stop.remote(name, reason)
        return bool(names)

    def _send(self) -> None:
        """As many as there is room for, and some more that wait: they fill gaps at once, and ask for new nodes."""
        slots = self._room()
        while len(self._flights) < slots + max(LEAST_QUEUED, slots // 2):
            trial, attempt = self._again.popleft() if self._again else (next(self._trials, None), 1)
            if trial is None:
                return
            flight = _Flight(trial, attempt, time.monotonic())
            job, plain = dataclasses.asdict(self._job), wire.plain_trial(trial)
            threads = max(1, int(self._need.cpus))
            ref = self._task.remote(job, plain, threads, self._need.timeout, self._mailbox, flight.name)
            self._flights[ref] = flight

    def _room(self) -> int:
        """The slots, counted anew now and then: nodes come and go."""
        now = time.monotonic()
        if now - self._counted >= COUNT_SECONDS:
            self._slots, self._counted = self._cluster.slots(self._need.cpus, self._need.gpus), now
            if self._slots:
                self._roomless_since = now
            elif now - self._roomless_since > WAIT_SECONDS:
                log.warning("no node of the Ray cluster has room for a trial (%s); waiting for one", self._need)
                self._roomless_since = now
        return self._slots

    def _wait(self) -> list[Any]:
        if self._mail is None:
            self._mail = self._mailbox.take.remote(LOOK_SECONDS)
        everything = [self._mail, *self._flights]
        try:
            ready, rest = self._ray.wait(everything, num_returns=1, timeout=2 * LOOK_SECONDS)
            more, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0) if rest else ([], [])
        except ConnectionError as error:
            raise SweepError(
                f"the connection to the Ray cluster was lost ({error}). Runs that had ended are stored. Fix: the same "
                "command goes on from there"
            ) from error
        return [*ready, *more]

    def _read_mail(self) -> Iterator[Event]:
        try:
            mail = self._ray.get(self._mail)
        except self._ray.exceptions.RayError:  # the mailbox moved to another node; trials do not need it
            mail = []
        self._mail = None
        under_way = {flight.name: flight for flight in self._flights.values()}
        for name, message in mail:
            flight = under_way.get(name)
            if flight is None:  # an attempt that has ended since
                continue
            yield from self._began(flight, message["where"])  # messages may overtake one another
            if message["kind"] == "report":
                yield wire.event_of(flight.trial, message)

    def _began(self, flight: _Flight, where: str) -> Iterator[Event]:
        if not flight.started:
            flight.started = True
            yield Started(flight.trial, where)

    def _land(self, ref: Any) -> Iterator[Event]:
        flight = self._flights.pop(ref)
        errors = self._ray.exceptions
        try:
            ended = self._ray.get(ref)
        except (errors.RuntimeEnvSetupError, errors.TaskUnschedulableError) as error:
            raise SweepError(f"Ray cannot make the trials' environment on its nodes: {_end(error)}") from error
        except errors.RayTaskError as error:
            raise SweepError(
                f"a node cannot begin a trial: {_end(error)}. Fix: install the same Lodestar, with its "
                "extra 'ray', on every node"
            ) from error
        except errors.RayError as error:  # the node, its raylet, its store or the process beneath the trial is gone
            yield from self._lose(flight, error)
            return
        if ended["kind"] == "unusable":
            self._doubt(flight, f"on node {ended['where']}: {ended['reason']}")
            return
        self._proven = True
        self._send()  # the next first, before anyone takes time over this one's result
        yield from self._began(flight, ended["where"])
        yield wire.event_of(flight.trial, ended)

    def _doubt(self, flight: _Flight, reason: str) -> None:
        """No trial could be made there. Before any was made elsewhere, that is the job's fault; later, the node's."""
        if not self._proven or flight.attempt > self._need.max_retries:
            raise SweepError(reason)
        log.warning("%s; %s is sent again", reason, flight.trial.name)
        self._again.append((flight.trial, flight.attempt + 1))

    def _lose(self, flight: _Flight, error: Exception) -> Iterator[Event]:
        trial, attempt = flight.trial, flight.attempt
        self._counted = -COUNT_SECONDS
        if attempt <= self._need.max_retries:
            log.info("%s: its node or process was lost (%s); sent again", trial.name, type(error).__name__)
            self._again.append((trial, attempt + 1))
            return
        reason = f"its node or process was lost {attempt} times, the last time by {type(error).__name__}"
        yield Failed(trial, reason, str(error)[:2000], time.monotonic() - flight.sent, FailureKind.NODE_LOST)


@dataclasses.dataclass(frozen=True)
class Need:
    """What a trial takes of a node, how often it may be sent again, and how many seconds it may take."""

    cpus: float
    gpus: float
    max_retries: int
    timeout: float | None = None

    def __str__(self) -> str:
        return f"{self.cpus:g} CPUs" + (f", {self.gpus:g} GPUs" if self.gpus else "")


def _end(error: BaseException) -> str:
    """The last line of what Ray tells, which is the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1][:400].rstrip(".") if lines else "") or type(error).__name__
