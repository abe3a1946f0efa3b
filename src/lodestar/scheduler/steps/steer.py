"""One decision, from what was seen to what is followed: the five steps in order. The paper's Algorithm 1. Pure.

Comes in: a forecaster, the live run on the grid up to point `seen`, settings, random numbers, the planned run that is
followed. Goes out: a `Decision`, and the planned run to follow from here if it is a new one. Knows neither steps, nor
files, nor the job.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.runs.run import Direction
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.records.decision import Decision, finite
from lodestar.scheduler.records.outcome import Outcome
from lodestar.scheduler.settings import Settings
from lodestar.scheduler.steps.average import MEANS, ahead
from lodestar.scheduler.steps.fallback import own_forecast
from lodestar.scheduler.steps.judge_schedules import choose_schedule
from lodestar.scheduler.steps.matching import NONE
from lodestar.scheduler.steps.moment import Moment
from lodestar.scheduler.steps.score import SCORES, Group
from lodestar.scheduler.steps.weigh import Weighed, weigh

_ENOUGH = 0.1  # of the candidates must be near the run, for past runs to be a guide to it
LEVEL = 0.8  # the share of runs a recorded interval is meant to hold

Decided = tuple[Decision, PlannedRun | None]  # None: the planned run that is followed goes on


def steer(
    forecaster: Forecaster,
    points: Points,
    seen: int,
    settings: Settings,
    rng: np.random.Generator,
    planned: PlannedRun,
    past: Sequence[Decision] = (),
) -> Decided:
    """Decide after `seen` points: follow a new planned run, or go on with the one there is. `past`: those before."""
    moment = Moment.of(forecaster, settings, points, seen)
    if moment is None:
        return Decision(outcome=Outcome.NOTHING_SEEN), None
    if settings.judges_schedules(forecaster):
        return choose_schedule(moment, planned)
    weighed = weigh(moment, rng)
    goes_on = _going_on(moment, planned, weighed)
    best = SCORES[settings.score](weighed.goals, forecaster.direction)[: settings.average]
    if best and settings.holds(planned.start, seen, forecaster.points):
        chosen = f"the schedule chosen at {planned.start / forecaster.points:.0%} of the run is held"
        return dataclasses.replace(goes_on, outcome=Outcome.KEPT, note=chosen), None
    if best:
        decided = _challenge(moment, weighed, goes_on, [pair for group in best for pair in group])
        return _if_known(decided, goes_on, past, settings.least_near)
    outcome = Outcome.NONE_ACCEPTED
    if goes_on.accepted:
        outcome = Outcome.NO_CONSENSUS if np.isfinite(weighed.goals).any() else Outcome.NOT_FINITE
    return dataclasses.replace(goes_on, outcome=outcome), None


def _if_known(decided: Decided, goes_on: Decision, past: Sequence[Decision], least: float | None) -> Decided:
    """A new plan only where past runs are a guide: what they promise a job that they hardly ever come near is luck."""
    if least is None or decided[0].outcome is not Outcome.REPLANNED:
        return decided
    looked = [decision for decision in (*past, goes_on) if decision.samples]
    found = [decision.accepted >= _ENOUGH * decision.samples for decision in looked]
    if found[-1] and sum(found) >= least * len(found):
        return decided
    known = f"only {goes_on.accepted} of {goes_on.samples} candidates are near this run"
    if found[-1]:
        known = f"only {sum(found)} of {len(found)} decisions so far found a tenth of their candidates near this run"
    note = f"a new plan was forecast to be better, but {known}: the plan goes on"
    return dataclasses.replace(goes_on, outcome=Outcome.KEPT, winners=decided[0].winners, note=note), None


def _going_on(moment: Moment, planned: PlannedRun, weighed: Weighed) -> Decision:
    """What is forecast if the plan goes on: by the plan itself, else (it is lost) by the live latent."""
    own, scale = own_forecast(planned, moment), moment.forecaster.recipe.normaliser.metric
    forecast = float(scale.inverse(scale.forward(weighed.as_is).mean()))
    predicted = own if math.isfinite(own) else forecast
    return Decision(
        loss=finite(moment.loss),
        metric=finite(moment.metric),
        tolerance=finite(moment.tolerance),
        samples=int(weighed.matched.size),
        accepted=int(np.sum(weighed.matched != NONE)),
        plan_forecast=finite(own),
        forecast=finite(forecast),
        forecast_interval=_interval(moment, forecast, weighed.as_is, steered=False),
        predicted=finite(predicted),
        interval=_interval(moment, predicted, weighed.as_is, steered=True),
    )


def _challenge(moment: Moment, weighed: Weighed, goes_on: Decision, pairs: Group) -> Decided:
    """The best candidates against the plan; step 5 if they win."""
    forecaster, hysteresis = moment.forecaster, moment.settings.hysteresis
    scale = forecaster.recipe.normaliser.metric
    reached = float(scale.inverse(np.mean([scale.forward(weighed.goals[pair]) for pair in pairs])))
    decision = dataclasses.replace(goes_on, winners=weighed.winners(pairs))
    rival = math.nan if goes_on.predicted is None else goes_on.predicted
    gain = float(scale.forward(reached) - scale.forward(rival))
    gain = gain if forecaster.direction is Direction.MAX else -gain
    if hysteresis is not None and not gain > hysteresis:
        return dataclasses.replace(decision, outcome=Outcome.KEPT), None
    planned = _averaged(moment, weighed, pairs)
    if not planned.finite:
        return dataclasses.replace(decision, outcome=Outcome.NOT_FINITE), None
    interval = _interval(moment, reached, weighed.as_is, steered=True)
    done = dataclasses.replace(decision, outcome=Outcome.REPLANNED, predicted=finite(reached), interval=interval)
    return done, planned


def _averaged(moment: Moment, weighed: Weighed, pairs: Group) -> PlannedRun:
    """Step 5: the winners' average from now to the end of the run."""
    members, samples = map(list, zip(*pairs, strict=True))
    matched, curves = weighed.matched[members, samples], weighed.curves
    mean, channels = MEANS[moment.settings.mean], moment.forecaster.recipe.normaliser
    nodes = moment.forecaster.points - moment.seen + 1
    parts = ((curves.lr, channels.lr), (curves.loss, channels.loss), (curves.metric, channels.metric))
    return PlannedRun(
        moment.seen,
        *(mean(ahead(part[members, samples], matched, nodes), channel) for part, channel in parts),
    )


def _interval(moment: Moment, final: float, as_is: NDArray[np.float64], *, steered: bool) -> tuple[float, float] | None:
    """The prediction interval around a final metric, wider where the members disagree about the live run.

    A run that is steered is meant to be good, and has the narrower interval of good runs.
    """
    forecaster, scale = moment.forecaster, moment.forecaster.recipe.normaliser.metric
    spread, share = float(np.std(scale.forward(as_is))), moment.seen / forecaster.points
    sides = forecaster.intervals.around_final(float(scale.forward(final)), spread, share, LEVEL, good=steered)
    low, high = sorted(map(float, scale.inverse(np.array(sides))))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
