"""A live job's scheduler, followed by a writer: loss, metric, learning rate and every decision, as the run goes.

A training job neither waits for a tracker nor dies of one: what cannot be written is left out, the scheduler records
one warning, and the writer is dropped. All asking is done in a thread. Only `close` waits, and only for a tracker that
answers.
"""

import atexit
import contextlib
import logging
import math
import queue
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lodestar._credentials import cleaned
from lodestar.exporters.whole_run import metric_name, told
from lodestar.exporters.writer import AbstractWriter
from lodestar.runs import Scalar, Status
from lodestar.runs.run import OUR_MODE, STEERED

if TYPE_CHECKING:
    from lodestar.scheduler import Decision, Scheduler

_POINTS = 2000
_WAITING = 20_000
_IDLE_SECONDS = 5.0
_LAST_SECONDS = 60.0  # how long `close` waits in all
_FIRST_ANSWER_SECONDS, _ANSWER_SECONDS = 2.0, 10.0  # and for one answer, counted from when it was asked

_log = logging.getLogger("lodestar.exporters")


def follow(
    scheduler: Any,
    writer: AbstractWriter,
    *,
    name: str = "lodestar",
    config: Mapping[str, Scalar] | None = None,
    every: int | None = None,
) -> "Follower":
    """Write what `scheduler` hears and decides from here on.

    `scheduler` is a `Scheduler` or an adapter that has one (`LodestarLR`). Close the follower when the run is over, or
    use it in a `with` block. On several ranks, follow on rank 0 only, which decides. Between two logged losses lie
    `every` steps (default: 2,000 points in a run); metrics and decisions are always written.
    """
    inner = _innermost(scheduler)
    if every is not None and every < 1:
        raise ValueError(f"every must be at least 1 step, got {every}. Fix: leave it out")
    follower = Follower(writer, inner, name, dict(config or {}), every or max(1, inner.total_steps // _POINTS))
    inner.listen(follower)
    return follower


class Follower:
    """Hands on what a scheduler hears. Its methods return what went wrong, once, and never raise."""

    def __init__(
        self, writer: AbstractWriter, scheduler: "Scheduler", name: str, config: dict[str, Scalar], every: int
    ):
        self._writer, self._scheduler, self._name, self._every = writer, scheduler, name, every
        self._metric = metric_name(str(scheduler.forecaster.facts.get("metric_name", "metric")))
        self._config = _settings(scheduler, self._metric, config)
        self._queue: queue.Queue[tuple[Any, ...] | None] = queue.Queue(_WAITING)
        self._problem: str | None = None
        self._broken = False
        self._next = self._last = 0
        self._ending = Status.FINISHED
        self._thread: threading.Thread | None = None
        self._asked: tuple[str, float] | None = None  # what the writer is doing, and since when

    def observed(self, step: int, loss: float | None, metric: float | None, lr: float) -> str | None:
        values: dict[str, float] = {}
        if loss is not None and step >= self._next:
            values |= {"loss": loss, "lr": lr}
            self._next = step + self._every
        if metric is not None:
            values[self._metric] = metric
        self._last = max(self._last, step)
        return self._hand_on((step, values)) if values else self._trouble()

    def decided(self, decision: "Decision") -> str | None:
        return self._hand_on((decision.step, _sentence(decision), _numbers(decision)))

    def close(self, status: Status | str | None = None) -> str | None:
        """The run is over: write what waits. Returns what went wrong, if anything did, and logs it.

        This takes up to a minute, but a tracker that owes an answer is not waited for: 2 s if it has never given one,
        10 s if it has, from when it was asked. Without a status, a run that reached its last step is finished, another
        cut short.
        """
        if self._thread is None:
            return self._trouble()
        whole = self._last >= self._scheduler.total_steps
        self._ending = Status(status) if status else Status.FINISHED if whole else Status.CUT_SHORT
        thread, self._thread = self._thread, None
        atexit.unregister(self.close)
        if not self._broken and not self._ends(thread):
            what, _ = self._asked or ("", 0.0)
            self._fail(
                "it did not answer. Fix: check the address and that it runs"
                if what == "connect"
                else "it did not take the last values in time"
            )
        self._broken = True
        problem = self._trouble()
        if problem:
            _log.warning("%s", problem)
        return problem

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(None if kind is None else Status.CUT_SHORT)

    def _ends(self, thread: threading.Thread) -> bool:
        """Wait for the thread, as long as the tracker answers."""
        stop, told = time.monotonic() + _LAST_SECONDS, False
        while thread.is_alive() and time.monotonic() < stop and not self._silent():
            if not told:
                with contextlib.suppress(queue.Full):
                    self._queue.put_nowait(None)
                    told = True
            thread.join(0.02)
        return not thread.is_alive()

    def _silent(self) -> bool:
        what, since = self._asked or ("", math.inf)
        limits = {"connect": _FIRST_ANSWER_SECONDS, "end": self._writer.end_seconds}
        return time.monotonic() - since > limits.get(what, _ANSWER_SECONDS)

    def _hand_on(self, item: tuple[Any, ...]) -> str | None:
        if not self._broken:
            self._start()
            try:
                self._queue.put_nowait(item)
            except queue.Full:
                return f"{self._writer.kind} is too slow: some values at step {item[0]} were left out there"
        return self._trouble()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="lodestar-writer", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _work(self) -> None:
        """The thread: everything that may wait or fail."""
        try:
            item = self._queue.get()
            if item is not None:
                self._ask("connect")
                self._ask("begin", self._name, self._config, first_step=item[0])
            while item is not None and not self._broken:
                self._ask("log" if len(item) == 2 else "decision", *item)
                item = self._next_item()
            self._ask("end", self._ending)
        except Exception as error:  # noqa: BLE001  a training job must never die of its tracker
            self._fail(str(error) or repr(error))

    def _ask(self, what: str, *words: Any, **named: Any) -> None:
        self._asked = what, time.monotonic()
        getattr(self._writer, what)(*words, **named)
        self._asked = None

    def _next_item(self) -> tuple[Any, ...] | None:
        while True:
            try:
                return self._queue.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                self._ask("flush")

    def _fail(self, why: str) -> None:
        if not self._broken:  # a tracker that was given up may fail as well, much later
            self._problem = f"the run is no longer written to {self._writer.kind}: {cleaned(why)}"
        self._broken = True

    def _trouble(self) -> str | None:
        problem, self._problem = self._problem, None
        return problem


def _innermost(scheduler: Any) -> "Scheduler":
    while not hasattr(scheduler, "listen"):
        scheduler = getattr(scheduler, "scheduler", None)
        if scheduler is None:
            raise ValueError("follow needs a Scheduler, or an adapter with a .scheduler. Fix: pass what steers the run")
    return scheduler


def _settings(scheduler: "Scheduler", metric: str, config: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What the run is known by. Its seed and task are the job's, as stated; the scheduler's seed has its own name.

    A job that is only shadowed follows a schedule of its own, which nobody told us.
    """
    facts = {**scheduler.job.scale, **scheduler.facts}
    stated = {**{name: value for name, value in facts.items() if isinstance(value, Scalar)}, **config}
    task = stated.get("task", scheduler.forecaster.facts.get("task"))
    own: dict[str, Scalar] = {"total_steps": scheduler.total_steps}
    own |= told(metric, scheduler.forecaster.direction, None if task is None else str(task))
    own |= {"schedule": STEERED} if scheduler.mode == "steer" else {}
    own |= {OUR_MODE: scheduler.mode, "lodestar_seed": scheduler.seed}
    return own | {name: cleaned(value) if isinstance(value, str) else value for name, value in stated.items()}


def _sentence(decision: "Decision") -> str:
    parts = [f"After step {decision.step}: {decision.outcome}."]
    if decision.predicted is not None:
        interval = f" ({decision.interval[0]:.4g} to {decision.interval[1]:.4g})" if decision.interval else ""
        parts.append(f"Predicted final metric {decision.predicted:.4g}{interval}.")
    if decision.first_lr is not None and decision.last_lr is not None:
        parts.append(f"Learning rate {decision.first_lr:.3g} to {decision.last_lr:.3g} over the next window.")
    return " ".join([*parts, decision.note]).strip()


def _numbers(decision: "Decision") -> dict[str, float]:
    low, high = decision.interval or (None, None)
    found = {
        "predicted_final_metric": decision.predicted,
        "predicted_low": low,
        "predicted_high": high,
        "accepted": float(decision.accepted) if decision.samples else None,
    }
    return {name: value for name, value in found.items() if value is not None}
