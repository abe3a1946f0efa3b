"""One decision, from what was seen to what is followed: the five steps in order. Pure.

Comes in: a forecaster, the live run on the grid up to point `seen`, settings, random numbers, the running course. Goes
out: a `Verdict`: the outcome, the course to follow if it is a new one, and everything worth recording. The paper's
Algorithm 1. Knows neither steps, nor files, nor the job.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster, Trajectories
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.runs.run import Direction
from lodestar.scheduler.course import Course
from lodestar.scheduler.records.decision import Decision, Outcome, Winner, finite
from lodestar.scheduler.settings import Settings
from lodestar.scheduler.steps.accept import matches, tolerance_of
from lodestar.scheduler.steps.average import MEANS, ahead
from lodestar.scheduler.steps.candidates import gather
from lodestar.scheduler.steps.encode import encode, live_context
from lodestar.scheduler.steps.fallback import own_forecast
from lodestar.scheduler.steps.matching import NONE, RULES, match
from lodestar.scheduler.steps.score import SCORES, past_end

LEVEL = 0.8  # the share of runs a recorded interval is meant to hold

Pairs = list[tuple[int, int]]  # (member, sample)


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
    interval: tuple[float, float] | None = None
    forecast_interval: tuple[float, float] | None = None

    def decision(
        self, window: int, step: int, outcome: Outcome, lr: tuple[tuple[int, float], ...], note: str
    ) -> Decision:
        """The record of it: when it was made, what was done, the rates that follow."""
        numbers = ("loss", "metric", "tolerance", "forecast", "plan_forecast", "predicted")
        same = ("samples", "accepted", "winners", "interval", "forecast_interval")
        facts: dict[str, Any] = {name: finite(getattr(self, name)) for name in numbers}
        facts |= {name: getattr(self, name) for name in same}
        return Decision(window=window, step=step, outcome=outcome, lr=lr, note=note, **facts)


@dataclasses.dataclass(frozen=True)
class Weighed:
    """The candidates after step 4: where each matches (-1: nowhere) and the metric it leads to (NaN: none)."""

    drawn: Trajectories
    labels: list[str]
    matched: NDArray[np.int64]  # (members, samples)
    goals: NDArray[np.float64]  # (members, samples)
    as_is: NDArray[np.float64]  # (members,): the final metric of the live run itself


def steer(
    forecaster: Forecaster,
    points: Points,
    seen: int,
    settings: Settings,
    rng: np.random.Generator,
    course: Course,
) -> Verdict:
    """Decide after `seen` points: follow a new course, or go on with the running one."""
    start = 0 if settings.context == "all" else max(0, seen - settings.window_points(forecaster.points))
    recent = points.values[max(0, seen - settings.window_points(forecaster.points)) : seen, LOSS]
    losses = recent[points.mask[seen - len(recent) : seen, LOSS]]
    if len(losses) == 0:
        return Verdict(Outcome.NOTHING_SEEN)
    scale = forecaster.recipe.normaliser.loss
    current, tolerance = float(losses[-1]), tolerance_of(losses, settings.tolerance, settings.least_tolerance, scale)
    weighed = _weigh(forecaster, points, (start, seen), settings, rng, current, tolerance)
    facts = Verdict(
        Outcome.NONE_ACCEPTED,
        loss=current,
        metric=_latest(points, seen),
        tolerance=tolerance,
        samples=int(weighed.matched.size),
        accepted=int(np.sum(weighed.matched != NONE)),
        **_going_on(forecaster, settings, seen, course, current, tolerance, weighed.as_is),
    )
    best = SCORES[settings.score](weighed.goals, forecaster.direction)[: settings.average]
    if best:
        return _challenge(forecaster, settings, seen, facts, weighed, [pair for group in best for pair in group])
    if facts.accepted:
        found = np.isfinite(weighed.goals).any()
        return dataclasses.replace(facts, outcome=Outcome.NO_CONSENSUS if found else Outcome.NOT_FINITE)
    return facts


def _weigh(
    forecaster: Forecaster,
    points: Points,
    context: tuple[int, int],
    settings: Settings,
    rng: np.random.Generator,
    current: float,
    tolerance: float,
) -> Weighed:
    """Steps 1 to 4: encode, perturb, accept, and read each candidate's goal."""
    live, references = encode(forecaster, live_context(forecaster, points, *context), _references(settings))
    latents, labels = gather(
        settings.candidates, settings.samples, live, references, settings.noise, forecaster.spread, rng
    )
    if "local" not in labels:  # the live run itself is always drawn: it is the forecast that is recorded
        latents = np.concatenate([latents, live[:, None]], axis=1)
    drawn, seen, total = forecaster.decode(latents), context[1], forecaster.points
    near = slice(*RULES[settings.matching].span(seen - 1, _reach(forecaster, settings), total))
    found = matches(drawn.loss[..., near], current, tolerance)
    matched = match(settings.matching, found, drawn.lr[..., near], seen - 1, near.start)
    at = past_end(matched + settings.horizon_points(total, seen), total)
    goals = np.where(matched == NONE, np.nan, np.take_along_axis(drawn.metric, at[..., None], axis=-1)[..., 0])
    itself = labels.index("local") if "local" in labels else -1
    return Weighed(drawn, labels, matched[:, : len(labels)], goals[:, : len(labels)], drawn.metric[:, itself, -1])


def _challenge(
    forecaster: Forecaster, settings: Settings, seen: int, facts: Verdict, weighed: Weighed, pairs: Pairs
) -> Verdict:
    """The best candidates against the running course; step 5 if they win."""
    scale = forecaster.recipe.normaliser.metric
    reached = float(scale.inverse(np.mean([scale.forward(weighed.goals[pair]) for pair in pairs])))
    facts = dataclasses.replace(facts, winners=_winners(forecaster, weighed, pairs))
    gain = float(scale.forward(reached) - scale.forward(facts.predicted))
    gain = gain if forecaster.direction is Direction.MAX else -gain
    if settings.hysteresis is not None and not gain > settings.hysteresis:
        return dataclasses.replace(facts, outcome=Outcome.KEPT)
    course = _course(forecaster, settings, seen, weighed, pairs)
    if not all(np.all(np.isfinite(part)) for part in (course.lr, course.loss, course.metric)):
        return dataclasses.replace(facts, outcome=Outcome.NOT_FINITE)
    interval = _interval(forecaster, reached, weighed.as_is, seen, steered=True)
    return dataclasses.replace(facts, outcome=Outcome.REPLANNED, course=course, predicted=reached, interval=interval)


def _course(forecaster: Forecaster, settings: Settings, seen: int, weighed: Weighed, pairs: Pairs) -> Course:
    """The winners' average from now to the end of the run."""
    members, samples = map(list, zip(*pairs, strict=True))
    matched, drawn = weighed.matched[members, samples], weighed.drawn
    nodes, mean, channels = forecaster.points - seen + 1, MEANS[settings.mean], forecaster.recipe.normaliser
    return Course(
        seen,
        *(
            mean(ahead(curves[members, samples], matched, nodes), channel)
            for curves, channel in (
                (drawn.lr, channels.lr),
                (drawn.loss, channels.loss),
                (drawn.metric, channels.metric),
            )
        ),
    )


def _winners(forecaster: Forecaster, weighed: Weighed, pairs: Pairs) -> tuple[Winner, ...]:
    return tuple(
        Winner(
            weighed.labels[sample],
            member,
            sample,
            (int(weighed.matched[member, sample]) + 1) / forecaster.points,
            float(weighed.goals[member, sample]),
        )
        for member, sample in pairs
    )


def _going_on(
    forecaster: Forecaster,
    settings: Settings,
    seen: int,
    course: Course,
    current: float,
    tolerance: float,
    as_is: NDArray[np.float64],
) -> dict:
    """What is forecast if the running course goes on: by the course itself, else (it is lost) by the live latent."""
    reach, horizon = _reach(forecaster, settings), settings.horizon_points(forecaster.points, seen)
    own = own_forecast(course, seen, current, tolerance, settings.matching, reach, horizon)
    scale = forecaster.recipe.normaliser.metric
    forecast = float(scale.inverse(scale.forward(as_is).mean()))
    predicted = own if math.isfinite(own) else forecast
    return {
        "plan_forecast": own,
        "forecast": forecast,
        "forecast_interval": _interval(forecaster, forecast, as_is, seen, steered=False),
        "predicted": predicted,
        "interval": _interval(forecaster, predicted, as_is, seen, steered=True),
    }


def _interval(
    forecaster: Forecaster, final: float, as_is: NDArray[np.float64], seen: int, *, steered: bool
) -> tuple[float, float] | None:
    """The interval around a final metric, wider where the members disagree about the live run.

    A run that is steered is meant to be good, and has the narrower interval of good runs.
    """
    scale = forecaster.recipe.normaliser.metric
    spread, share = float(np.std(scale.forward(as_is))), seen / forecaster.points
    sides = forecaster.intervals.around_final(float(scale.forward(final)), spread, share, LEVEL, good=steered)
    low, high = sorted(map(float, scale.inverse(np.array(sides))))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _latest(points: Points, seen: int) -> float:
    known = np.flatnonzero(points.mask[:seen, METRIC])
    return float(points.values[known[-1], METRIC]) if len(known) else math.nan


def _reach(forecaster: Forecaster, settings: Settings) -> int:
    return max(1, round(settings.reach * forecaster.points))


def _references(settings: Settings) -> int:
    """How many reference runs to encode: half of a source's samples, the other half being the same with noise."""
    return 0 if settings.candidates == ("local",) else -(-settings.samples // (2 * len(settings.candidates)))
