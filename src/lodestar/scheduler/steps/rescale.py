"""Rescaling: how this job answers to a learning rate, compared with the runs the forecaster learned from.

A wider network, a larger batch or more data wants other rates than the small runs of a sweep did; but it begins like a
past run at some multiple of its rate. Comes in: the live run on the grid. Goes out: that multiple, or 1 where the run
is forecast about as well as past runs are. Each factor is tried: the rate is multiplied by it, the context encoded and
forecast, and the forecast loss and metric compared with the live ones *up to an offset* (a larger network is better
throughout: levels differ, movements do not). Where past losses were logged more rarely than the grid has points, each
may stand for updates some points back, so a live loss that comes as much later is tried as well. Pure.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Context, Forecaster
from lodestar.forecaster.preprocessing.normaliser import LOSS, LR, METRIC
from lodestar.forecaster.preprocessing.recipe import Points

FIRST, LAST = 0.15, 0.3  # of the run: when a factor is looked for; before there is too little to see
_STEP = math.sqrt(2.0)
_LEAST_POINTS = 3
_LOOKED_AT = 16  # past runs
_MOST_LAG = 4  # points
_SAME = math.log(1.2)
_USUAL = math.log(2.0)  # factors are expected to be about so far from 1, either way


@dataclasses.dataclass(frozen=True)
class Rescale:
    """The live rate times `factor` is the rate of a past run that went the same way.

    `unlike`: how badly the live run is forecast as it is, in units of the median past run.
    """

    factor: float
    unlike: float

    def note(self, factor: float) -> str:
        """What is done about it, for the record."""
        return (
            f"a rate does here what {factor:.2g} times that rate did in the past runs, so the plan's rates are "
            f"divided by {factor:.2g}; the run is forecast {self.unlike:.2g} times worse than past runs are"
        )


def due(share: float) -> bool:
    """Whether this share of the run is the place to look for a factor."""
    return FIRST <= share <= LAST


def same(factor: float, other: float) -> bool:
    """Whether two factors are so near that nothing has changed."""
    return abs(math.log(factor / other)) < _SAME


def find_rescale(forecaster: Forecaster, points: Points, seen: int, widest: float, unlike: float) -> Rescale | None:
    """The factor, from 1/widest to widest, that explains the first `seen` points; 1 for a run that is not `unlike`.

    The mean over all factors, each weighed by how little it leaves unexplained beside the best one and by how usual it
    is: the best one alone swings from seed to seed. None where too little was observed to tell.
    """
    mask = points.mask[:seen]
    if min(mask[:, LOSS].sum(), mask[:, METRIC].sum()) < _LEAST_POINTS:
        return None
    references = forecaster.references
    past = [references.context(run, 0, seen) for run in range(min(_LOOKED_AT, len(references)))]
    delayed = [_delayed(points, lag) for lag in range(_most_lag(past) + 1)]
    contexts = [_rescaled(forecaster, live, seen, 1.0) for live in delayed]
    misfits = _misfits(forecaster, [*contexts, *past], levels=True)
    own, others = misfits[: len(contexts)], misfits[len(contexts) :]
    if not np.isfinite(own).any():
        return None
    points = delayed[int(np.nanargmin(own))]
    badly = float(np.nanmin(own)) / max(float(np.median(others)), 1e-9) if len(others) else math.inf
    if not badly > unlike:
        return Rescale(1.0, float(badly)) if math.isfinite(badly) else None
    reach = max(1, round(math.log(widest) / math.log(_STEP)))
    logs = np.log(_STEP) * np.arange(-reach, reach + 1)
    left = _misfits(forecaster, [_rescaled(forecaster, points, seen, math.exp(log)) for log in logs], levels=False)
    if not (np.all(np.isfinite(left)) and left.min() > 0):
        return None
    weights = np.exp(1.0 - left / left.min() - 0.5 * (logs / _USUAL) ** 2)
    return Rescale(math.exp(float(weights @ logs / weights.sum())), float(badly))


def _most_lag(past: list[Context]) -> int:
    """How many points before its own a logged loss may reach back: none where every point has one."""
    logged = np.mean([context.mask[:, LOSS].mean() for context in past]) if past else 1.0
    return min(math.ceil(1 / max(float(logged), 0.1) - 1e-9) - 1, _MOST_LAG)


def _delayed(points: Points, lag: int) -> Points:
    """The run with its losses so many points later."""
    if lag == 0:
        return points
    values, mask = points.values.copy(), points.mask.copy()
    values[lag:, LOSS], mask[lag:, LOSS] = points.values[:-lag, LOSS], points.mask[:-lag, LOSS]
    mask[:lag, LOSS] = False
    return Points(values, mask)


def _rescaled(forecaster: Forecaster, points: Points, seen: int, factor: float) -> Context:
    values = points.values.copy()
    values[:, LR] *= factor
    return Context(forecaster.recipe.normalised(Points(values, points.mask))[:seen], points.mask[:seen], 0)


def _misfits(forecaster: Forecaster, contexts: list[Context], *, levels: bool) -> NDArray[np.float64]:
    """How far each context's loss and metric lie from its forecast: mean square, or variance if levels do not count."""
    times = forecaster.times[: contexts[0].stop]
    forecast = forecaster.network.decode(forecaster.encode(*contexts), times).mean(axis=0)
    found = np.zeros(len(contexts))
    for place, context in enumerate(contexts):
        for channel in (LOSS, METRIC):
            here = context.mask[:, channel]
            off = (forecast[place, :, channel] - context.values[:, channel])[here]
            found[place] += np.mean(off**2) if levels else np.var(off)
    return found
