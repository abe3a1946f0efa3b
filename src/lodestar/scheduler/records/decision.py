"""A decision: what was seen at a window's edge, what was weighed, and what was done. Plain data, kept and logged.

It is built up on the way: the five steps fill in what they found (`steps/steer.py`), the scheduler completes it with
when it was made and the rates that follow. On disk a prediction interval is called a band, as in release one.
Knows nothing of how decisions are made.
"""

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any

from lodestar._extras import picture
from lodestar.scheduler.records.command import Command
from lodestar.scheduler.records.outcome import Outcome, outcome_of

_ON_DISK = {"interval": "band", "forecast_interval": "forecast_band"}  # field -> its name in logs and states
_COUNTS = ("window", "step", "samples", "accepted")


Ahead = tuple[int, float, float | None, float | None]  # a step, its rate, the loss and the metric forecast there


@dataclasses.dataclass(frozen=True)
class Winner:
    """A candidate that was averaged: its source, its matched time and the metric forecast for it."""

    source: str
    member: int
    sample: int
    matched: float  # the fraction of the candidate's run that looks like now
    metric: float


@dataclasses.dataclass(frozen=True)
class Decision:
    """One decision. Numbers that do not exist are None; loss and metric are smoothed, as the forecaster sees them."""

    window: int = 0
    step: int = 0  # made after this optimizer step
    outcome: Outcome = Outcome.NOTHING_SEEN
    loss: float | None = None
    metric: float | None = None
    tolerance: float | None = None
    samples: int = 0
    accepted: int = 0
    winners: tuple[Winner, ...] = ()
    forecast: float | None = None  # the final metric if the run goes on as it did
    plan_forecast: float | None = None  # the final metric the running plan leads to
    predicted: float | None = None  # the final metric of what is followed from here
    interval: tuple[float, float] | None = None  # around `predicted`
    forecast_interval: tuple[float, float] | None = None  # around `forecast`
    lr: tuple[tuple[int, float], ...] = ()  # (step, lr) over the next window
    note: str = ""
    ahead: tuple[Ahead, ...] = ()  # what is planned from here to the end of the run, thinned
    rescale: float | None = None  # the forecaster sees the job's rates times this; None: as they are
    command: Command | None = None  # that was obeyed or refused: who asked for it, and when

    @property
    def first_lr(self) -> float | None:
        """The learning rate the next window starts with."""
        return self.lr[0][1] if self.lr else None

    @property
    def last_lr(self) -> float | None:
        """The learning rate the next window ends with."""
        return self.lr[-1][1] if self.lr else None

    def _repr_html_(self) -> str | None:
        return picture(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the outcome as its kind and as its sentence."""
        data = {_ON_DISK.get(name, name): value for name, value in dataclasses.asdict(self).items()}
        data["outcome"], data["outcome_kind"] = str(self.outcome), self.outcome.kind
        data["winners"] = list(data["winners"])
        data["lr"] = [list(pair) for pair in self.lr]
        data["ahead"] = [list(row) for row in self.ahead]
        for name in _ON_DISK.values():
            data[name] = None if data[name] is None else list(data[name])
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Decision":
        """Back from `to_dict`, or from what release one wrote; fields this version does not know are left out.

        What is no decision is a ValueError, a TypeError or a KeyError.
        """
        kept = {name: read(data[key]) for name, (key, read) in _READ.items() if key in data}
        return cls(outcome=outcome_of(data["outcome"], data.get("outcome_kind")), **kept)


def finite(value: float) -> float | None:
    """A number for a record: None where there is none."""
    return float(value) if math.isfinite(value) else None


def _count(value: Any) -> int:
    number = _number(value)
    if number is None or not 0 <= number < 2**53 or number != int(number):
        raise ValueError(f"must be a whole number >= 0, got {value!r:.40}")
    return int(value)


def _number(value: Any) -> float | None:
    if value is not None and (not isinstance(value, numbers.Real) or isinstance(value, bool)):
        raise ValueError(f"must be a number, got {value!r:.40}")
    try:
        return None if value is None else finite(float(value))
    except OverflowError:  # a whole number with hundreds of digits
        return None


def _interval(value: Any) -> tuple[float, float] | None:
    low, high = map(_number, (None, None) if value is None else value)
    return None if low is None or high is None else (low, high)


def _rates(value: Any) -> tuple[tuple[int, float], ...]:
    pairs = [(_count(step), _number(lr)) for step, lr in value]
    return tuple((step, lr) for step, lr in pairs if lr is not None)


def _ahead(value: Any) -> tuple[Ahead, ...]:
    rows = [(_count(step), _number(lr), _number(loss), _number(metric)) for step, lr, loss, metric in value]
    return tuple((step, lr, loss, metric) for step, lr, loss, metric in rows if lr is not None)


def _command(value: Any) -> Command | None:
    return None if value is None else Command.from_dict(value)


def _winners(value: Any) -> tuple[Winner, ...]:
    return tuple(found for winner in value if (found := _winner(**winner)) is not None)


def _winner(source: Any, member: Any, sample: Any, matched: Any, metric: Any) -> Winner | None:
    at, end = _number(matched), _number(metric)
    return None if at is None or end is None else Winner(_text(source), _count(member), _count(sample), at, end)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a text, got {value!r:.40}")
    return value


_OTHERS = {"interval": _interval, "forecast_interval": _interval, "lr": _rates, "winners": _winners, "note": _text}
_OTHERS |= {"ahead": _ahead, "command": _command}
_READ = {  # field -> its name on disk, and what reads it
    name: (_ON_DISK.get(name, name), _OTHERS.get(name, _count if name in _COUNTS else _number))
    for name in (field.name for field in dataclasses.fields(Decision))
    if name != "outcome"
}
