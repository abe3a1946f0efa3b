"""One decision, from what was seen to what is followed: the five steps in order. Pure.

Comes in: a forecaster, the live run on the grid up to point `seen`, settings, random numbers, the running course. Goes
out: a `Verdict`: the outcome, the course to follow if it is a new one, and everything worth recording. The paper's
Algorithm 1. Knows neither steps, nor files, nor the job.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster, Trajectories
from lodestar.prepare.normaliser import LOSS, METRIC
from lodestar.prepare.recipe import Points
from lodestar.runs.run import Direction
from lodestar.scheduler.accept import matches, tolerance_of
from lodestar.scheduler.average import MEANS, ahead
from lodestar.scheduler.candidates import gather
from lodestar.scheduler.course import Course
from lodestar.scheduler.decision import Outcome, Winner
from lodestar.scheduler.encode import encode, live_piece
from lodestar.scheduler.fallback import own_forecast
from lodestar.scheduler.matching import NONE, RULES
from lodestar.scheduler.score import SCORES, Group, future
from lodestar.scheduler.settings import Settings

LEVEL = 0.8  # the share of runs a recorded band is meant to hold


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one decision came to. `course` is None where the running one goes on. Missing numbers are NaN."""

    outcome: Outcome
    course: Course | None = None
    loss: float = math.nan
    metric: float = math.nan
    tolerance: float = math.nan
    samples: int = 0
    accepted: int = 0
    winners: tuple[Winner, ...] = ()
    forecast: float = math.nan
    plan_forecast: float = math.nan
    predicted: float = math.nan
    band: tuple[float, float] | None = None
    forecast_band: tuple[float, float] | None = None


def steer(
    forecaster: Forecaster,
    points: Points,
    seen: int,
    settings: Settings,
    rng: np.random.Generator,
    course: Course,
) -> Verdict:
    """Decide after `seen` points: follow a new course, or go on with the running one."""
    start = 0 if settings.piece == "all" else max(0, seen - settings.window_points(forecaster.points))
    observed = points.mask[start:seen, LOSS]
    if not observed.any():
        return Verdict(Outcome.NOTHING_SEEN)
    losses = points.values[start:seen, LOSS][observed]
    tolerance = tolerance_of(losses, settings.tolerance, settings.least_tolerance, forecaster.recipe.normaliser.loss)
    live, shelf = encode(forecaster, live_piece(forecaster, points, start, seen), _shelf(settings))
    latents, labels = gather(settings.candidates, settings.samples, live, shelf, settings.noise, forecaster.spread, rng)
    decoded = forecaster.decode(latents)
    reach = max(1, round(settings.reach * forecaster.points))
    matched = RULES[settings.matching](matches(decoded.loss, float(losses[-1]), tolerance), decoded.lr, seen - 1, reach)
    horizon = settings.horizon_points(forecaster.points, seen)
    goals = future(decoded.metric, matched, horizon)
    as_is = _as_is(forecaster, live, decoded, labels)
    own = own_forecast(course, seen, float(losses[-1]), tolerance, settings.matching, reach, horizon)
    facts = Verdict(
        Outcome.NONE_ACCEPTED,
        loss=float(losses[-1]),
        metric=_latest(points, seen),
        tolerance=tolerance,
        samples=int(matched.size),
        accepted=int(np.sum(matched != NONE)),
        plan_forecast=own,
        **_final(forecaster, as_is, own, seen),
    )
    if facts.accepted == 0:
        return facts
    best = SCORES[settings.score](goals, forecaster.direction)[: settings.average]
    if not best:
        found = np.isfinite(goals).any()
        return dataclasses.replace(facts, outcome=Outcome.NO_CONSENSUS if found else Outcome.NOT_FINITE)
    return _choose(forecaster, settings, seen, facts, decoded, matched, goals, best, labels, as_is)


def _choose(forecaster, settings, seen, facts, decoded, matched, goals, best: list[Group], labels, as_is) -> Verdict:
    """The best candidates against the running course."""
    pairs = [pair for group in best for pair in group]
    course = _course(forecaster, settings, seen, decoded, matched, pairs)
    if not all(np.all(np.isfinite(part)) for part in (course.lr, course.loss, course.metric)):
        return dataclasses.replace(facts, outcome=Outcome.NOT_FINITE)
    scale = forecaster.recipe.normaliser.metric
    reached = float(scale.inverse(np.mean([scale.forward(goals[pair]) for pair in pairs])))
    winners = tuple(
        Winner(labels[s], m, s, (int(matched[m, s]) + 1) / forecaster.points, float(goals[m, s])) for m, s in pairs
    )
    gain = float(scale.forward(reached) - scale.forward(facts.predicted)) * (
        1.0 if forecaster.direction is Direction.MAX else -1.0
    )
    if settings.hysteresis is not None and not gain > settings.hysteresis:
        return dataclasses.replace(facts, outcome=Outcome.KEPT, winners=winners)
    return dataclasses.replace(
        facts,
        outcome=Outcome.REPLANNED,
        course=course,
        winners=winners,
        predicted=reached,
        band=_band(forecaster, reached, as_is, seen),
    )


def _course(
    forecaster: Forecaster,
    settings: Settings,
    seen: int,
    decoded: Trajectories,
    matched: NDArray[np.int64],
    pairs: list[tuple[int, int]],
) -> Course:
    """The winners' average from now to the end of the run."""
    nodes = forecaster.points - seen + 1
    channels = forecaster.recipe.normaliser
    mean = MEANS[settings.mean]
    return Course(
        seen,
        mean(ahead(decoded.lr, pairs, matched, nodes), channels.lr),
        mean(ahead(decoded.loss, pairs, matched, nodes), channels.loss),
        mean(ahead(decoded.metric, pairs, matched, nodes), channels.metric),
    )


def _shelf(settings: Settings) -> int:
    """How many library runs the sources can use."""
    return 0 if settings.candidates == ("local",) else -(-settings.samples // len(settings.candidates))


def _as_is(
    forecaster: Forecaster, live: NDArray[np.float64], decoded: Trajectories, labels: list[str]
) -> NDArray[np.float64]:
    """Each member's final metric of the live run itself: the unperturbed sample's."""
    if "local" in labels:
        return decoded.metric[:, labels.index("local"), -1]
    return forecaster.decode(live[:, None], np.ones(1)).metric[:, 0, 0]


def _final(forecaster: Forecaster, as_is: NDArray[np.float64], own: float, seen: int) -> dict:
    """What is forecast if the running course goes on: by the course itself, else (it is lost) by the live latent."""
    scale = forecaster.recipe.normaliser.metric
    forecast = float(scale.inverse(scale.forward(as_is).mean()))
    predicted = own if math.isfinite(own) else forecast
    return {
        "forecast": forecast,
        "forecast_band": _band(forecaster, forecast, as_is, seen),
        "predicted": predicted,
        "band": _band(forecaster, predicted, as_is, seen),
    }


def _band(forecaster: Forecaster, final: float, as_is: NDArray[np.float64], seen: int) -> tuple[float, float] | None:
    """The band around a final metric, wider where the members disagree about the live run."""
    if not math.isfinite(final):
        return None
    scale = forecaster.recipe.normaliser.metric
    centre, spread = np.zeros((1, 3)), np.zeros((1, 3))
    centre[0, METRIC], spread[0, METRIC] = scale.forward(final), np.std(scale.forward(as_is))
    low, high = forecaster.bands.around(centre, spread, seen / forecaster.points, np.ones(1), LEVEL)
    ends = sorted(float(scale.inverse(side[0, METRIC])) for side in (low, high))
    return (ends[0], ends[1]) if all(map(math.isfinite, ends)) else None


def _latest(points: Points, seen: int) -> float:
    known = np.flatnonzero(points.mask[:seen, METRIC])
    return float(points.values[known[-1], METRIC]) if len(known) else math.nan
