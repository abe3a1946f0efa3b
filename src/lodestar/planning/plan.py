"""The plan: the schedule that is forecast to end best, and what is known of it.

Comes in: a forecaster and the length of a job, or a run that has come part of the way. Goes out: a schedule with its
forecast, in words, beside the best past run and the best plain family. Judged by the forecast less its doubt; the best
two dozen are averaged, so that no single one's error is followed.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar._extras import picture
from lodestar.forecaster.forecast import Context, Forecast
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.known_schedules import Judged, judge, response_of, what_if
from lodestar.forecaster.response.history import on_cells
from lodestar.planning.space import PAST_RUN, Candidates, candidates
from lodestar.planning.words import describe
from lodestar.runs.run import Direction
from lodestar.schedules.schedule import Schedule

_AVERAGED = 24  # of a thousand schedules
_SCALES = np.geomspace(0.125, 8.0, 49)


@dataclasses.dataclass(frozen=True)
class Rival:
    """Another schedule and its forecast final metric, by the same model."""

    name: str
    final: float
    rates: NDArray[np.float64] = dataclasses.field(repr=False)  # (cells,)


@dataclasses.dataclass(frozen=True)
class SchedulePlan:
    """A schedule, its forecast, and what speaks for it. `peaks`: between these the same shape is as good, by luck."""

    schedule: Schedule
    forecast: Forecast
    words: str
    peaks: tuple[float, float]
    luck: float  # what two runs of one schedule differ by, in the metric's units
    best_past: Rival | None
    best_family: Rival
    extrapolates: bool

    def _repr_html_(self) -> str | None:
        return picture(self)


def plan(
    forecaster: Forecaster,
    total_steps: int,
    context: Context | None = None,
    *,
    level: float = 0.8,
    seed: int = 0,
    schedule: Schedule | None = None,
) -> SchedulePlan:
    """The best schedule for a job of `total_steps`; with `context`, for the rest of a run.

    A `schedule` that was chosen elsewhere is the plan as it is: the forecaster then says what is known of it.
    """
    if total_steps < 1:
        raise ValueError(f"total_steps must be at least 1, got {total_steps}. Fix: the number of optimizer steps")
    choice = candidates(forecaster, seed=seed)
    judged = judge(forecaster, choice.rates, context, level)
    if schedule is None:
        rates, final = best_untried(forecaster, choice, judged, context, level)
    else:
        rates = on_cells(schedule.rates[None])[0]
        final = judge(forecaster, rates[None], context, level)
    luck = _luck(forecaster, float(final.centre[0]))
    return SchedulePlan(
        schedule=schedule or to_schedule(rates, total_steps),
        forecast=what_if(forecaster, rates, context, level),
        words=describe(rates),
        peaks=_peaks(forecaster, rates, context, final, luck),
        luck=luck,
        best_past=_best(choice, judged, PAST_RUN),
        best_family=_best(choice, judged, "family") or Rival("none", float("nan"), rates),
        extrapolates=bool(rates.max() > forecaster.ranges.lr_max * (1 + 1e-9)),
    )


def to_schedule(rates: NDArray[np.float64], total_steps: int, name: str = "plan") -> Schedule:
    """Rates on cells as a schedule of optimizer steps: straight lines through the middles of the cells."""
    middles = (np.arange(len(rates)) + 0.5) * total_steps / len(rates) + 0.5
    if total_steps <= len(rates):
        return Schedule(name, np.interp(np.arange(1, total_steps + 1), middles, rates))
    knots = np.concatenate([[1.0], middles, [float(total_steps)]])
    first, last = outer_ends(rates)
    return Schedule(name, [first, *rates, last], knots=knots.tolist(), first_step=1, last_step=total_steps)


def outer_ends(rates: NDArray[np.float64]) -> tuple[float, float]:
    """The rate half a cell before the first middle and after the last: the line goes on, but not below zero."""
    return max(float(1.5 * rates[0] - 0.5 * rates[1]), 0.0), max(float(1.5 * rates[-1] - 0.5 * rates[-2]), 0.0)


def best_untried(
    forecaster: Forecaster, choice: Candidates, judged: Judged, context: Context | None = None, level: float = 0.8
) -> tuple[NDArray[np.float64], Judged]:
    """The best two dozen averaged, without those of past runs: what is forecast for these holds the luck they had."""
    new = np.flatnonzero(choice.kinds != PAST_RUN)
    return averaged(forecaster, choice.rates[new], judged.at(new), context, level, count=_AVERAGED)


def averaged(
    forecaster: Forecaster,
    rates: NDArray[np.float64],
    judged: Judged,
    context: Context | None,
    level: float = 0.8,
    *,
    count: int,
) -> tuple[NDArray[np.float64], Judged]:
    """The mean of the best few of `rates`, and what it gives; the best itself, if the mean is worse than all."""
    best = judged.best(count)
    mean = rates[best].mean(axis=0)
    found = judge(forecaster, mean[None], context, level)
    return (mean, found) if found.merit[0] >= judged.merit[best[-1]] else (rates[best[0]], judged.at(best[:1]))


def _best(choice: Candidates, judged: Judged, kind: str) -> Rival | None:
    places = choice.of(kind)
    if len(places) == 0:
        return None
    place = places[np.argmax(judged.merit[places])]
    return Rival(choice.names[place], float(judged.centre[place]), choice.rates[place])


def _peaks(
    forecaster: Forecaster, rates: NDArray[np.float64], context: Context | None, final: Judged, luck: float
) -> tuple[float, float]:
    """Between which peaks the plan, scaled, ends within half of what luck makes of its forecast."""
    scaled = judge(forecaster, _SCALES[:, None] * rates, context)
    better = 1.0 if forecaster.direction is Direction.MAX else -1.0
    close = better * (final.centre[0] - scaled.centre) <= 0.5 * luck
    low = high = len(_SCALES) // 2
    while low > 0 and close[low - 1]:
        low -= 1
    while high < len(_SCALES) - 1 and close[high + 1]:
        high += 1
    return float(_SCALES[low] * rates.max()), float(_SCALES[high] * rates.max())


def _luck(forecaster: Forecaster, final: float) -> float:
    """One deviation of a run's own part around its final metric, in the user's units."""
    metric, units = response_of(forecaster).metric, forecaster.recipe.normaliser.metric
    own = metric.std * float(np.sqrt(metric.run.offset + metric.run.drift + metric.run.noise))
    place = units.forward(final)
    return float(abs(units.inverse(place + own) - units.inverse(place - own)) / 2)
