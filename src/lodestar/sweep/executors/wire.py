"""How the sweep and its worker processes talk: JSON messages over a socket; arrays as base64, exact. No pickle.

The framing is `multiprocessing.connection`'s, bytes only: its `send` and `recv` would pickle.
"""

import base64
import json
import os
import socket
import struct
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import LodestarError
from lodestar.runs import Facts, Note, Run, Series
from lodestar.schedules import Schedule
from lodestar.sweep.events import Done, Failed, FailureKind, Reported
from lodestar.sweep.trial import Trial

CURVES = ("loss", "metric", "lr")
STALL_SECONDS = 10
MOST_BYTES = 2**30  # of a message: a run with sixteen million points


class BadMessage(Exception):
    """What arrived is no message: the process at the other end is not to be listened to any more."""


class Wire:
    """One end of a socket, for any thread to send on.

    Only the process that made it may send: a forked child that tries is ignored. A message that stops half way for
    `stall` seconds is a bad one, so that a process that hangs while it sends does not hold up the sweep.
    """

    def __init__(self, end: socket.socket, *, stall: int | None = None):
        if stall is not None:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", stall, 0))
        self._end = Connection(end.detach())
        self._owner = os.getpid()
        self._sending = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message whole; an `OSError` if the other side is gone."""
        if os.getpid() == self._owner:
            data = json.dumps(message).encode()
            with self._sending:
                self._end.send_bytes(data)

    def fileno(self) -> int:
        return self._end.fileno()

    def arrives(self, seconds: float = 0.0) -> bool:
        """Whether a message, or the end, is there to be received; waits up to `seconds` for it."""
        return self._end.poll(seconds)

    def receive(self) -> dict[str, Any] | None:
        """The next message, None at the end; `BadMessage` for what is none."""
        try:
            message = json.loads(self._end.recv_bytes(MOST_BYTES))
        except (EOFError, ConnectionError):
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise BadMessage(f"{type(error).__name__}: {error}") from error
        if not isinstance(message, dict) or "kind" not in message:
            raise BadMessage(f"a message without a kind: {str(message)[:60]}")
        return message

    def close(self) -> None:
        self._end.close()


def plain_trial(trial: Trial) -> dict[str, Any]:
    """A trial as JSON can hold it."""
    schedule = trial.schedule
    rates = None if schedule is None else [schedule.name, _packed(schedule.rates)]
    return {**vars(trial), "schedule": rates, "settings": dict(trial.settings)}


def trial_of(plain: Mapping[str, Any]) -> Trial:
    rates = plain["schedule"]
    schedule = None if rates is None else Schedule(rates[0], _unpacked(rates[1], np.float64))
    fields: dict[str, Any] = {**plain, "schedule": schedule}
    return Trial(**fields)


def plain_run(run: Run) -> dict[str, Any]:
    """A run as JSON can hold it."""
    return {
        "name": run.name,
        "curves": {c: [_packed(getattr(run, c).steps), _packed(getattr(run, c).values)] for c in CURVES},
        "direction": run.direction.value,
        "status": run.status.value,
        "total_steps": run.total_steps,
        "metric_name": run.metric_name,
        "facts": {**vars(run.facts), "extra": dict(run.facts.extra)},
        "notes": [[str(note), str(note.kind)] for note in run.notes],
    }


def run_of(plain: Mapping[str, Any]) -> Run:
    curves = {
        name: Series(_unpacked(steps, np.int64), _unpacked(values, np.float64))
        for name, (steps, values) in plain["curves"].items()
    }
    notes = tuple(Note(text, kind) for text, kind in plain["notes"])
    fields: dict[str, Any] = {**plain, **curves, "facts": Facts(**plain["facts"]), "notes": notes}
    del fields["curves"]
    return Run(**fields)


def event_of(trial: Trial, message: Mapping[str, Any]) -> Reported | Done | Failed:
    """What a message of kind "report", "done" or "failed" says of its trial; `BadMessage` where it is not whole."""
    try:
        match message["kind"]:
            case "report":
                return Reported(trial, int(message["step"]), _given(message["loss"]), _given(message["metric"]))
            case "done":
                run = run_of(message["run"])
                if run.name == trial.name:
                    return Done(trial, run, float(message["seconds"]))
            case "failed":
                how = FailureKind(message["how"])
                return Failed(trial, str(message["reason"]), str(message["detail"]), float(message["seconds"]), how)
    except (KeyError, TypeError, ValueError, AttributeError, LodestarError) as error:
        raise BadMessage(f"{type(error).__name__}: {error}"[:200]) from error
    raise BadMessage(str(message.get("reason", f"one of kind {str(message['kind'])[:40]!r}")))


def _given(value: Any) -> float | None:
    return None if value is None else float(value)


def _packed(values: NDArray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()).decode()


def _unpacked(text: str, kind: type) -> NDArray:
    return np.frombuffer(base64.b64decode(text), np.dtype(kind).newbyteorder("<"))
