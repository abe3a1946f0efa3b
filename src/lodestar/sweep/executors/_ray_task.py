"""What runs on the nodes of a Ray cluster: one trial to a task, and a mailbox for what is heard on the way.

The trial is made by a worker process of the local executor, a child of Ray's: so a crash of the user's code is told
from the death of a node, and what was compiled stays so between trials. Imports no Ray: Ray imports this.
"""

import asyncio
import os
import platform
from collections.abc import Mapping
from typing import Any

from lodestar._errors import LodestarError
from lodestar.sweep.events import Done, Event, Failed, Reported, Started
from lodestar.sweep.executors import wire
from lodestar.sweep.executors.local import LocalExecutor
from lodestar.sweep.trial import Job

_kept: dict[tuple[int, str], LocalExecutor] = {}  # this process's own worker; Ray gives a process one task at a time


def make_trial(
    job: Mapping[str, Any], trial: Mapping[str, Any], threads: int, timeout: float | None, mailbox: Any, flight: str
) -> dict[str, Any]:
    """Make one trial here. The mapping's "kind" is "done", "failed", or "unusable" where no trial can be made."""
    where = _where()
    try:
        message: dict[str, Any] = {}
        executor, answers = _executor(threads), _Answers(mailbox, flight)
        executor.timeout = timeout
        for event in executor.run(Job(**job), [wire.trial_of(trial)]):
            message = _plain(event, where)
            if message["kind"] in ("started", "report"):
                why = answers.tell(message)
                if why is not None:
                    executor.stop(event.trial, why)
        return message
    except LodestarError as error:
        return {"kind": "unusable", "where": where, "reason": str(error)}


class _Answers:
    """Tells the mailbox, and hears at the next message what it answered: nobody waits, and a lost one is no loss."""

    def __init__(self, mailbox: Any, flight: str):
        self._mailbox, self._flight = mailbox, flight
        self._asked: list[Any] = []

    def tell(self, message: Mapping[str, Any]) -> str | None:
        """Why the trial is to be stopped, if it is."""
        import ray
        from ray.exceptions import RayError

        self._asked.append(self._mailbox.tell.remote(self._flight, message))
        ready, self._asked = ray.wait(self._asked, num_returns=len(self._asked), timeout=0)
        try:
            return next((why for why in ray.get(ready) if why is not None), None)
        except RayError:  # the mailbox moved to another node
            return None


class Mailbox:
    """Holds messages of running trials until the sweep takes them, and what it has to say to them."""

    def __init__(self):
        self._held: list[tuple[str, dict[str, Any]]] = []
        self._stopped: dict[str, str] = {}
        self._some = asyncio.Event()

    async def tell(self, flight: str, message: dict[str, Any]) -> str | None:
        """Take a message; the answer is why the trial is to be stopped, if it is."""
        self._held.append((flight, message))
        self._some.set()
        return self._stopped.get(flight)

    async def stop(self, flight: str, reason: str) -> None:
        """The trial is to be stopped at its next message."""
        self._stopped[flight] = reason

    async def take(self, seconds: float) -> list[tuple[str, dict[str, Any]]]:
        """All messages; waits up to `seconds` for the first."""
        try:
            await asyncio.wait_for(self._some.wait(), seconds)
        except TimeoutError:
            return []
        taken, self._held = self._held, []
        self._some.clear()
        return taken


def _executor(threads: int) -> LocalExecutor:
    """The one worker process beneath this one; a new one if Ray gave us other GPUs than last time."""
    key = (threads, os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    if key not in _kept:
        for executor in _kept.values():
            executor.__exit__()
        _kept.clear()
        _kept[key] = LocalExecutor(1, threads, pin=False).__enter__()
    return _kept[key]


def _plain(event: Event, where: str) -> dict[str, Any]:
    match event:
        case Started():
            return {"kind": "started", "where": where}
        case Reported(_, step, loss, metric):
            return {"kind": "report", "where": where, "step": step, "loss": loss, "metric": metric}
        case Done(_, run, seconds):
            return {"kind": "done", "where": where, "run": wire.plain_run(run), "seconds": seconds}
        case Failed(_, reason, detail, seconds, how):
            failed = {"kind": "failed", "how": str(how), "reason": reason, "detail": detail, "seconds": seconds}
            return {**failed, "where": where}


def _where() -> str:
    import ray

    return f"{platform.node()[:20]} {ray.get_runtime_context().get_node_id()[:6]}"
