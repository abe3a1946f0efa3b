"""A decision: what was seen at a window's edge, what was weighed, and what was done. Plain data, kept and logged.

It is built up on the way: the five steps fill in what they found (`steps/steer.py`), the scheduler completes it with
when it was made and the rates that follow. On disk a prediction interval is called a band, as in release one.
Knows nothing of how decisions are made.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from lodestar.scheduler.records.outcome import Outcome, outcome_of

_ON_DISK = {"interval": "band", "forecast_interval": "forecast_band"}  # field -> its name in logs and states


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

    @property
    def first_lr(self) -> float | None:
        """The learning rate the next window starts with."""
        return self.lr[0][1] if self.lr else None

    @property
    def last_lr(self) -> float | None:
        """The learning rate the next window ends with."""
        return self.lr[-1][1] if self.lr else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the outcome as its kind and as its sentence."""
        data = {_ON_DISK.get(name, name): value for name, value in dataclasses.asdict(self).items()}
        data["outcome"], data["outcome_kind"] = str(self.outcome), self.outcome.kind
        data["winners"] = list(data["winners"])
        data["lr"] = [list(pair) for pair in self.lr]
        for name in _ON_DISK.values():
            data[name] = None if data[name] is None else list(data[name])
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Decision":
        """Back from `to_dict`, or from what release one wrote; fields this version does not know are left out."""
        names = {field.name: _ON_DISK.get(field.name, field.name) for field in dataclasses.fields(cls)}
        kept = {name: data[key] for name, key in names.items() if key in data}
        kept["outcome"] = outcome_of(data["outcome"], data.get("outcome_kind"))
        kept["winners"] = tuple(Winner(**winner) for winner in kept.get("winners", ()))
        kept["lr"] = tuple((int(step), float(lr)) for step, lr in kept.get("lr", ()))
        for name in _ON_DISK:
            if kept.get(name) is not None:
                low, high = kept[name]
                kept[name] = (float(low), float(high))
        return cls(**kept)


def finite(value: float) -> float | None:
    """A number for a record: None where there is none."""
    return float(value) if math.isfinite(value) else None
