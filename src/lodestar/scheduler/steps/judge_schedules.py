"""A decision among schedules: what would the rest of the run give, under the plan and under others?

In place of the five steps where the forecaster knows schedules. Comes in: the moment of a decision and the planned run.
Goes out: a `Decision`, and the planned run to follow from here if another schedule's forecast beats that of the plan by
clearly more than the model is usually off. Pure.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Context, Forecaster
from lodestar.forecaster.known_schedules import Judged, judge, what_if
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.forecaster.response.history import CELLS
from lodestar.planning.plan import averaged, best_untried, outer_ends
from lodestar.planning.space import candidates
from lodestar.planning.words import describe
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.records.decision import Decision, Winner, finite
from lodestar.scheduler.records.outcome import Outcome
from lodestar.scheduler.steps.encode import live_context
from lodestar.scheduler.steps.moment import Moment

_DRAWN = 128  # quasi-random schedules for the rest of the run
_SCALES = np.array([0.5, 0.7, 0.85, 1.2, 1.4, 2.0])  # and the plan itself, faster and slower
_USUAL = 0.8  # of forecasts are off by less than what a challenger must win by
_CLEARLY = 3.0  # times as much: the best of some two hundred forecasts owes much of its lead to error
_TOO_LATE = 0.1  # of the run left: no past run changed its rate there, so what that does is anybody's guess
_AVERAGED = 12  # of some two hundred schedules
_SHOWN = 3  # of the best are on record
SOURCE = "schedules"
_MIDDLES = (np.arange(CELLS) + 0.5) / CELLS


def planned_by_search(forecaster: Forecaster) -> tuple[PlannedRun, str]:
    """The initial plan, the best two dozen of a thousand schedules averaged, with its forecast; and that in words."""
    choice = candidates(forecaster)
    rates, _ = best_untried(forecaster, choice, judge(forecaster, choice.rates))
    words = f"the best of {len(choice.rates)} schedules, the first two dozen averaged: {describe(rates)}"
    return _planned(forecaster, rates, None, 0), words


def forecast_rates(forecaster: Forecaster, planned: PlannedRun) -> PlannedRun:
    """A whole planned run with the loss and metric its rates would give, where the forecaster knows schedules."""
    if forecaster.response is None:
        return planned
    made = _planned(forecaster, np.interp(_MIDDLES, np.linspace(0.0, 1.0, len(planned.lr)), planned.lr), None, 0)
    return dataclasses.replace(made, lr=planned.lr) if made.finite else planned


def choose_schedule(moment: Moment, planned: PlannedRun) -> tuple[Decision, PlannedRun | None]:
    """Go on with the plan, or with the best schedules for the rest."""
    forecaster = moment.forecaster
    context = live_context(forecaster, moment.points, 0, moment.seen)
    own = _whole_run(forecaster, moment.points, moment.seen, planned)
    others = candidates(forecaster, count=_DRAWN)
    rates = np.concatenate([own[None], _SCALES[:, None] * own, others.rates])
    judged = judge(forecaster, rates, context, _USUAL)
    goes_on = _going_on(moment, planned, judged)
    best, final = averaged(forecaster, rates, judged, context, _USUAL, count=_AVERAGED)
    gain = float(final.merit[0] - judged.merit[0])
    needed = max(_CLEARLY * _usually_off(forecaster, judged), moment.settings.hysteresis or 0.0)
    now = moment.seen / forecaster.points
    shown = tuple(Winner(SOURCE, 0, int(p), now, float(judged.centre[p])) for p in judged.best(_SHOWN))
    decision = dataclasses.replace(
        goes_on, winners=shown, note=_compared(moment, rates, others.names, judged, final, needed)
    )
    if not math.isfinite(gain):
        return dataclasses.replace(decision, outcome=Outcome.NOT_FINITE), None
    if not gain > needed or now > 1.0 - _TOO_LATE:
        return dataclasses.replace(decision, outcome=Outcome.KEPT), None
    chosen = _planned(forecaster, best, context, moment.seen)
    interval = (float(final.lower[0]), float(final.upper[0]))
    done = dataclasses.replace(
        decision, outcome=Outcome.REPLANNED, predicted=finite(float(final.centre[0])), interval=interval
    )
    return (done, chosen) if chosen.finite else (dataclasses.replace(decision, outcome=Outcome.NOT_FINITE), None)


def _compared(
    moment: Moment,
    rates: NDArray[np.float64],
    names: tuple[str, ...],
    judged: Judged,
    final: Judged,
    needed: float,
) -> str:
    """What was compared, how each is forecast to end, and what it takes to replace the plan; in the metric's units."""
    units, plan = moment.forecaster.recipe.normaliser.metric, float(judged.centre[0])
    lead = abs(float(units.inverse(units.forward(plan) + needed)) - plan)
    first = int(judged.best()[0])
    known = ("the plan itself", *(f"the plan times {scale:g}" for scale in _SCALES), *names)
    best = known[first] or describe(rates[first])
    late = ", but it is too late in the run" if moment.seen / moment.forecaster.points > 1.0 - _TOO_LATE else ""
    return (
        f"{len(rates)} schedules for the rest were compared (the plan faster and slower, plain families, past runs, "
        f"drawn ones). Forecast to end: the plan at {plan:.4g}; the best of them, {best}, at "
        f"{judged.centre[first]:.4g}; the best dozen averaged at {final.centre[0]:.4g}. To replace the plan takes a "
        f"lead of {lead:.2g}{late}"
    )


def _going_on(moment: Moment, planned: PlannedRun, judged: Judged) -> Decision:
    """The record of what is forecast if the plan goes on: it comes first among what was judged."""
    forecast, interval = finite(float(judged.centre[0])), (float(judged.lower[0]), float(judged.upper[0]))
    return Decision(
        loss=finite(moment.loss),
        metric=finite(moment.metric),
        tolerance=finite(moment.tolerance),
        samples=len(judged.centre),
        accepted=int(np.isfinite(judged.merit).sum()),
        plan_forecast=finite(planned.final_metric),
        forecast=forecast,
        forecast_interval=interval,
        predicted=forecast,
        interval=interval,
    )


def forecast_planned(
    forecaster: Forecaster, points: Points, seen: int, planned: PlannedRun
) -> tuple[PlannedRun, float, tuple[float, float]]:
    """The planned run with its rates, which a person chose, and the loss, metric and final metric they would give."""
    rates = _whole_run(forecaster, points, seen, planned)
    context = live_context(forecaster, points, 0, seen) if seen else None
    made, final = what_if(forecaster, rates, context), judge(forecaster, rates[None], context)
    nodes = (planned.start + np.arange(len(planned.lr))) / forecaster.points
    curves = (np.interp(nodes, made.times, part.centre) for part in (made.loss, made.metric))
    interval = (float(final.lower[0]), float(final.upper[0]))
    return PlannedRun(planned.start, planned.lr, *curves), float(final.centre[0]), interval


def _whole_run(forecaster: Forecaster, points: Points, seen: int, planned: PlannedRun) -> NDArray[np.float64]:
    """The plan on the cells of the response; its past is overwritten by what the run did when it is judged."""
    count = forecaster.points
    nodes = (planned.start + np.arange(len(planned.lr))) / count
    done = points.values[:seen, LR]
    ends = (np.arange(len(done)) + 1.0) / count
    earlier = ends < nodes[0]
    return np.interp(_MIDDLES, np.concatenate([ends[earlier], nodes]), np.concatenate([done[earlier], planned.lr]))


def _usually_off(forecaster: Forecaster, judged: Judged) -> float:
    """How far off most forecasts of the plan are, in model units."""
    units = forecaster.recipe.normaliser.metric
    return 0.5 * float(abs(units.forward(judged.upper[0]) - units.forward(judged.lower[0])))


def _planned(forecaster: Forecaster, rates: NDArray[np.float64], context: Context | None, seen: int) -> PlannedRun:
    """Rates on cells, and their forecast, as a planned run from point `seen` on."""
    points = forecaster.points
    made = what_if(forecaster, rates, context)
    nodes = np.arange(seen, points + 1) / points
    first, last = outer_ends(rates)
    middles = np.concatenate([[0.0], (np.arange(len(rates)) + 0.5) / len(rates), [1.0]])
    lr = np.interp(nodes, middles, [first, *rates, last])
    curves = (np.interp(nodes, made.times, part.centre) for part in (made.loss, made.metric))
    return PlannedRun(seen, lr, *curves)
