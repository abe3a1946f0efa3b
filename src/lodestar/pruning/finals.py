"""The final metric of a trial under way, forecast from trials that are done.

Comes in: finished runs; the observed part of another one, and its schedule if that is known to the end. Goes out: its
final metric with an interval. Two responses are fitted: one that knows the rates, and one that takes every rate for the
same and so goes by the curves alone (most hyper-parameters are in no schedule). Whichever has the narrower interval on
held-out runs, at the share of the run seen, makes the forecast.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import PrepareError
from lodestar.fitting.dataset import prepare
from lodestar.fitting.response.response import fit_response
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.preprocessing.recipe import Points, Recipe
from lodestar.forecaster.response.history import CELLS, on_cells
from lodestar.forecaster.response.response import Observed, Response
from lodestar.runs.run import Direction, Run, Series, Status
from lodestar.schedules.schedule import Schedule

LEVEL = 0.9
_MOST_RUNS = 64  # learned from: a fit takes a few seconds
_BEST = 24  # of them, the best; the others are spread evenly over time
_NARROW = 0.8  # the level at which two intervals are compared
_FALL = 3.0  # how fast the chance of an error falls off beyond the 95 % interval, per width of it
_SURE = 1.645  # deviations of a rank correlation by luck alone


@dataclasses.dataclass(frozen=True)
class Final:
    """A forecast final metric, in the user's units; `chance` is that of ending better than `than`."""

    centre: float
    lower: float
    upper: float
    seen: float  # share of the run
    than: float
    chance: float
    knows_schedule: bool


@dataclasses.dataclass(frozen=True)
class FinalModel:
    """A response to finished runs. `spread` is half of what 80 % of their finals span, in model units."""

    recipe: Recipe
    response: Response
    knows_schedule: bool
    runs: int
    spread: float
    proven: bool  # ranks held-out runs better than luck would, with half of each seen
    knows_loss: bool  # every run it was fitted to had one

    def forecast(self, run: Run, schedule: Schedule | None, than: float) -> tuple[float, Final] | None:
        """The width of the interval in model units, and the forecast; None where it cannot tell more than chance."""
        made = self._cells(run, schedule)
        if made is None:
            return None
        rates, observed = made
        finals, seen = self.response.finals(rates, observed), observed.share if observed else 0.0
        deviation, widths = float(finals.deviation[0]), [self.response.mixture.width(seen, level) for level in LEVELS]
        narrow = widths[LEVELS.index(_NARROW)] * deviation
        if not math.isfinite(narrow) or narrow >= self.spread:
            return None
        units, centre, half = self.recipe.normaliser.metric, finals.centre[0], widths[LEVELS.index(LEVEL)] * deviation
        sign = 1.0 if self.recipe.direction is Direction.MAX else -1.0
        behind = sign * (float(units.forward(than)) - centre) / deviation
        lower, upper = sorted(float(units.inverse(centre + side * half)) for side in (-1.0, 1.0))
        return narrow, Final(
            float(units.inverse(centre)), lower, upper, seen, than, _chance(behind, widths), self.knows_schedule
        )

    def _cells(self, run: Run, schedule: Schedule | None) -> tuple[NDArray[np.float64], Observed | None] | None:
        if self.knows_schedule and schedule is None:
            return None
        rates = on_cells(schedule.rates[None]) if self.knows_schedule and schedule else np.ones((1, CELLS))
        loss = run.loss if has_loss(run) else Series.empty()
        if not self.knows_loss:
            loss = without_loss(run).loss
        points = self.recipe.to_points(loss, run.metric, Series.empty(), run.total_steps)
        stop = int(np.flatnonzero(points.mask.any(axis=1))[-1]) + 1 if points.mask.any() else 0
        if not stop:
            return (rates, None) if self.knows_schedule else None
        values = self.recipe.normalised(Points(points.values[:stop], points.mask[:stop]))
        return rates, Observed.of(Context(values, points.mask[:stop], 0), self.recipe.points)


def fit_finals(runs: Sequence[Run], *, seed: int = 0) -> tuple[FinalModel, ...]:
    """A model of the curves, and one of the schedules where the runs have rates that differ; none from too few runs."""
    chosen = _chosen([run for run in runs if run.status is not Status.DIVERGED])
    if not all(map(has_loss, chosen)):
        chosen = [without_loss(run) for run in chosen]
    with_rates = [run for run in chosen if len(run.lr) and run.peak_lr > 0]
    found = [_fitted([_rateless(run) for run in chosen], seed, knows_schedule=False)]
    if len(with_rates) >= 0.8 * len(chosen) and len({run.lr for run in with_rates}) > 1:
        found.append(_fitted(with_rates, seed, knows_schedule=True))
    return tuple(model for model in found if model is not None)


def _fitted(runs: Sequence[Run], seed: int, *, knows_schedule: bool) -> FinalModel | None:
    try:
        data = prepare(runs)
        fitted = fit_response(data, seed=seed)
    except (PrepareError, ValueError, np.linalg.LinAlgError):  # runs nothing can be learned from: others will come
        return None
    if fitted is None:
        return None
    response, quality = fitted
    ends = data.recipe.normaliser.metric.forward(data.finals[np.isfinite(data.finals)])
    spread = float(np.diff(np.quantile(ends, [0.1, 0.9]))[0]) / 2
    rank, count = quality.get("response_spearman_50", math.nan), int(quality.get("response_runs", 0))
    proven = count > 3 and rank > _SURE / math.sqrt(count - 1)
    return FinalModel(data.recipe, response, knows_schedule, count, spread, bool(proven), all(map(has_loss, runs)))


def without_loss(run: Run) -> Run:
    """The run with its metric in the place of a loss, turned so that less is better: many trials report no loss."""
    sign = 1.0 if run.direction is Direction.MIN else -1.0
    return run.replace(loss=Series(run.metric.steps, sign * run.metric.values)) if len(run.metric) else run


def has_loss(run: Run) -> bool:
    """Whether the loss is one of its own."""
    return run.loss != without_loss(run).loss


def _rateless(run: Run) -> Run:
    """The run with a rate of one: what it did is then in its curves alone."""
    return run.replace(lr=Series([1, max(run.last_step, 2)], [1.0, 1.0]), total_steps=max(run.total_steps, 2))


def _chosen(runs: Sequence[Run]) -> list[Run]:
    if len(runs) <= _MOST_RUNS:
        return list(runs)
    sign = -1.0 if runs[0].direction is Direction.MAX else 1.0
    finals = np.array([sign * run.final_metric if run.status is Status.FINISHED else np.inf for run in runs])
    best = set(np.argsort(np.where(np.isfinite(finals), finals, np.inf), kind="stable")[:_BEST].tolist())
    rest = [place for place in range(len(runs)) if place not in best]
    spread = np.linspace(0, len(rest) - 1, _MOST_RUNS - _BEST).round().astype(int)
    return [runs[place] for place in sorted(best | {rest[place] for place in spread})]


def _chance(behind: float, widths: Sequence[float]) -> float:
    """That the truth lies above a value `behind` deviations over the forecast, by the widths measured on held-out runs.

    Beyond the widest of them it falls off exponentially, a little slower than a normal distribution's: few runs do not
    tell how far off the next one may be.
    """
    at, tails = [0.0, *widths], [0.5, *((1.0 - level) / 2 for level in LEVELS)]
    far = abs(behind)
    tail = float(np.interp(far, at, tails))
    if far > at[-1]:
        tail *= math.exp(-_FALL * (far / max(at[-1], 1e-9) - 1.0))
    return tail if behind >= 0 else 1.0 - tail
