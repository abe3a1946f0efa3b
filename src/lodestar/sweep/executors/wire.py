"""How the sweep and its worker processes talk: frames of JSON over a socket; arrays as base64, exact. No pickle.

Comes in: plain messages, trials, runs. Goes out: the same on the other side. A frame is eight bytes of length, then
UTF-8 JSON. Knows nothing of what the messages mean.
"""

import base64
import json
import os
import socket
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Direction, Facts, Run, Series, Status
from lodestar.schedules import Schedule
from lodestar.sweep.trial import Trial

CURVES = ("loss", "metric", "lr")
_READ = 1 << 18


class Channel:
    """One end of a socket. Only the process that made it may send: a forked child that tries is ignored."""

    def __init__(self, end: socket.socket):
        self._end = end
        self._owner = os.getpid()
        self._arrived = bytearray()

    def fileno(self) -> int:
        """For `select`."""
        return self._end.fileno()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message whole; an `OSError` if the other side is gone."""
        if os.getpid() == self._owner:
            data = json.dumps(message).encode()
            self._end.sendall(len(data).to_bytes(8, "little") + data)

    def receive(self) -> list[dict[str, Any]] | None:
        """Wait for bytes; the messages that are whole by now (perhaps none), or None at the end."""
        try:
            new = self._end.recv(_READ)
        except ConnectionError:
            return None
        if not new:
            return None
        self._arrived += new
        return list(self._whole())

    def _whole(self):
        while len(self._arrived) >= 8:
            size = int.from_bytes(self._arrived[:8], "little")
            if len(self._arrived) < 8 + size:
                return
            yield json.loads(self._arrived[8 : 8 + size])
            del self._arrived[: 8 + size]

    def close(self) -> None:
        """Hang up."""
        self._end.close()


def plain_trial(trial: Trial) -> dict[str, Any]:
    """A trial as JSON can hold it."""
    schedule = trial.schedule
    rates = None if schedule is None else [schedule.name, _packed(schedule.rates)]
    return {
        "name": trial.name,
        "seed": trial.seed,
        "total_steps": trial.total_steps,
        "schedule": rates,
        "settings": dict(trial.settings),
    }


def trial_of(plain: Mapping[str, Any]) -> Trial:
    """The trial again."""
    rates = plain["schedule"]
    schedule = None if rates is None else Schedule(rates[0], _unpacked(rates[1], np.float64))
    return Trial(plain["name"], plain["seed"], plain["total_steps"], schedule, plain["settings"])


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
        "notes": list(run.notes),
    }


def run_of(plain: Mapping[str, Any]) -> Run:
    """The run again."""
    loss, metric, lr = (
        Series(_unpacked(steps, np.int64), _unpacked(values, np.float64))
        for steps, values in (plain["curves"][c] for c in CURVES)
    )
    return Run(
        name=plain["name"],
        loss=loss,
        metric=metric,
        lr=lr,
        direction=Direction(plain["direction"]),
        status=Status(plain["status"]),
        total_steps=plain["total_steps"],
        metric_name=plain["metric_name"],
        facts=Facts(**plain["facts"]),
        notes=tuple(plain["notes"]),
    )


def _packed(values: NDArray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()).decode()


def _unpacked(text: str, kind: type) -> NDArray:
    return np.frombuffer(base64.b64decode(text), np.dtype(kind).newbyteorder("<"))
