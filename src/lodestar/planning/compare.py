"""Schedules side by side: what each would give, best first.

Comes in: schedules by name, and what was seen of a run they would continue. Goes out: the final metric of each with its
interval, the whole forecast, and a sentence where a schedule leaves what past runs have tried.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.forecast import Context, Forecast
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.known_schedules import judge, what_if
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.response.history import on_cells
from lodestar.planning.space import peak_range
from lodestar.runs.run import Direction
from lodestar.schedules.schedule import Schedule

_NEAR = 0.02  # a peak so close to one that was tried is not beyond it


@dataclasses.dataclass(frozen=True)
class Outlook:
    """A schedule and what it would give, in the metric's units. `beyond` is empty within what past runs have tried."""

    name: str
    schedule: Schedule
    final: float
    lower: float
    upper: float
    doubt: float  # how unsure the model is of `final`, beside luck
    beyond: str
    forecast: Forecast = dataclasses.field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the curves."""
        figures = {name: getattr(self, name) for name in ("final", "lower", "upper", "doubt")}
        rate = {"peak_lr": self.schedule.peak, "extrapolates": bool(self.beyond), "extrapolation": self.beyond or None}
        return {"schedule": self.name, **figures, **rate}


def compare(
    forecaster: Forecaster, schedules: Mapping[str, Schedule], context: Context | None = None, *, level: float = 0.8
) -> tuple[Outlook, ...]:
    """Each schedule's outlook, the best forecast first.

    A schedule spans the whole run, whatever its number of steps. With `context` it applies from now on: its past is
    what that run did.
    """
    if not schedules:
        raise ValueError("schedules must hold at least one schedule, got none. Fix: lodestar.schedules.parse makes one")
    for name, schedule in schedules.items():
        if not schedule.peak > 0:
            raise ValueError(f"schedule {name!r}: its learning rate must be above zero somewhere, got zero throughout")
    judged = judge(forecaster, np.concatenate([on_cells(s.rates[None]) for s in schedules.values()]), context, level)
    order = np.argsort(-judged.centre if forecaster.direction is Direction.MAX else judged.centre, kind="stable")
    names = list(schedules)
    return tuple(
        Outlook(
            names[place],
            schedules[names[place]],
            *(float(part[place]) for part in (judged.centre, judged.lower, judged.upper, judged.doubt)),
            beyond=beyond(forecaster, schedules[names[place]].rates, context),
            forecast=what_if(forecaster, schedules[names[place]].rates, context, level),
        )
        for place in order
    )


def beyond(forecaster: Forecaster, rates: NDArray[np.float64], context: Context | None = None) -> str:
    """How a schedule's peak leaves the peaks of all past runs, in words; empty where it does not."""
    low, high = peak_range(forecaster)
    peak = float(rates.max())
    if context is not None:
        done = context.values[context.mask[:, LR], LR]
        rest = rates[min(len(rates) * context.stop // forecaster.points, len(rates) - 1) :]
        peak = max([float(rest.max()), *forecaster.recipe.normaliser.lr.inverse(done).tolist()])
    if low * (1 - _NEAR) <= peak <= high * (1 + _NEAR):
        return ""
    side = "above" if peak > high else "below"
    return f"extrapolation: its peak {peak:.3g} lies {side} every past run's ({low:.3g} to {high:.3g})"


def other_length(forecaster: Forecaster, total_steps: int) -> str:
    """A sentence where a job is shorter or longer than every past run; empty where it is not, or nobody knows."""
    known = forecaster.facts.get("total_steps")
    if not isinstance(known, list) or len(known) != 2 or known[0] <= total_steps <= known[1]:
        return ""
    past = f"{known[0]}" if known[0] == known[1] else f"{known[0]} to {known[1]}"
    return (
        f"past runs had {past} steps, this job has {total_steps}: the forecasts are those of a job as long as the past "
        "runs, with the same schedule stretched"
    )
