"""A decision: what was seen at a window's edge, what was weighed, and what was done. Plain data, kept and logged.

`Outcome` values are sentences: they are what a person reads in the log. Knows nothing of how decisions are made.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping
from typing import Any

_KEYS = {"interval": "band", "forecast_interval": "forecast_band"}  # what a log calls them since the first release


class Outcome(enum.StrEnum):
    """What became of a decision."""

    OPENING = "opened with the plan decoded from the best past run"
    REPLANNED = "replanned: the learning rate of the best candidates is followed"
    KEPT = "kept the plan: no candidate beat its forecast by enough"
    NONE_ACCEPTED = "kept the plan: no candidate's loss came near this run's"
    NO_CONSENSUS = "kept the plan: too few members of the ensemble agree on any candidate"
    NOTHING_SEEN = "kept the plan: no finite loss was observed in the last window"
    NOT_FINITE = "kept the plan: the forecasts were not finite"
    FAILED = "kept the plan: the decision failed, see the warnings"
    GATED = "the gate is closed: the plain schedule is followed"
    GEARED = "changed gear: this job answers to a learning rate otherwise than the past runs did"
    CUT = "cut the learning rate for one window: the loss jumped far above its forecast, or was not finite"
    EXTENDED = "the run's length changed: the rest of the plan was stretched to fit"


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

    window: int
    step: int  # made after this optimizer step
    outcome: Outcome
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
        """Plain data, the outcome as its sentence."""
        data = dataclasses.asdict(self)
        data["outcome"] = str(self.outcome)
        data["winners"] = [dataclasses.asdict(winner) for winner in self.winners]
        data["lr"] = [list(pair) for pair in self.lr]
        for name, key in _KEYS.items():
            pair = data.pop(name)
            data[key] = None if pair is None else list(pair)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Decision":
        """Back from `to_dict`; fields this version does not know are left out."""
        known = {field.name for field in dataclasses.fields(cls)}
        names = {key: name for name, key in _KEYS.items()}
        kept = {names.get(key, key): value for key, value in data.items() if names.get(key, key) in known}
        kept["outcome"] = Outcome(kept["outcome"])
        kept["winners"] = tuple(Winner(**winner) for winner in kept.get("winners", ()))
        kept["lr"] = tuple((int(step), float(lr)) for step, lr in kept.get("lr", ()))
        for name in _KEYS:
            if kept.get(name) is not None:
                low, high = kept[name]
                kept[name] = (float(low), float(high))
        return cls(**kept)


def finite(value: float) -> float | None:
    """A number for a record: None where there is none."""
    return float(value) if math.isfinite(value) else None
