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

from lodestar.forecaster import Context, Forecaster
from lodestar.forecaster.misfit import HELD_OUT_UNLIKE, expected_misfit, misfits, past_contexts, usual_misfit
from lodestar.forecaster.preprocessing.normaliser import LOSS, LR, METRIC
from lodestar.forecaster.preprocessing.recipe import Points

FIRST, LAST = 0.15, 0.3  # of the run: when a factor is looked for; before there is too little to see
_STEP = math.sqrt(2.0)
_LEAST_POINTS = 3
_MOST_LAG = 4  # points
_SAME = math.log(1.2)
_USUAL = math.log(2.0)  # factors are expected to be about so far from 1, either way
_REACH = 1.2816  # deviations of the law over sizes that a factor may move a plan made by it: its 80 % interval


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

    No run counts as unlike that is forecast no worse than runs which the fit held out. Where the law over sizes has
    placed the job, what it leaves open is all there is to correct: it bounds the factor, and what the run's level may
    be off counts as usual.
    The mean over all factors, each weighed by how little it leaves unexplained beside the best one and by how usual it
    is: the best one alone swings from seed to seed. None where too little was observed to tell.
    """
    mask = points.mask[:seen]
    if min(mask[:, LOSS].sum(), mask[:, METRIC].sum()) < _LEAST_POINTS:
        return None
    past = past_contexts(forecaster, seen)
    delayed = [_delayed(points, lag) for lag in range(_most_lag(past) + 1)]
    contexts = [_rescaled(forecaster, live, seen, 1.0) for live in delayed]
    own = misfits(forecaster, contexts, levels=True)
    if not np.isfinite(own).any():
        return None
    best = int(np.nanargmin(own))
    points, usual = delayed[best], usual_misfit(forecaster, past) + expected_misfit(forecaster, contexts[best])
    badly = float(np.nanmin(own)) / usual if math.isfinite(usual) else math.inf
    if not badly > max(unlike, held_out_unlike(forecaster)):
        return Rescale(1.0, float(badly)) if math.isfinite(badly) else None
    expected, most = _open(forecaster, math.log(widest))
    logs = np.linspace(-most, most, 2 * max(1, round(most / math.log(_STEP))) + 1)
    left = misfits(forecaster, [_rescaled(forecaster, points, seen, math.exp(log)) for log in logs], levels=False)
    if not (np.all(np.isfinite(left)) and left.min() > 0):
        return None
    weights = np.exp(1.0 - left / left.min() - 0.5 * (logs / expected) ** 2)
    return Rescale(math.exp(float(weights @ logs / weights.sum())), float(badly))


def _open(forecaster: Forecaster, widest: float) -> tuple[float, float]:
    """How large a factor's logarithm is expected to be, and how large it may be."""
    if not forecaster.placed:
        return _USUAL, widest
    doubt = max(forecaster.rate_doubt, 1e-3)
    return min(_USUAL, doubt), min(widest, _REACH * doubt)


def held_out_unlike(forecaster: Forecaster) -> float:
    """How badly the worst of the runs that the fit held out was forecast, in the same units; 0 where none was."""
    found = forecaster.quality.get(HELD_OUT_UNLIKE, 0.0)
    return float(found) if isinstance(found, int | float) and math.isfinite(found) else 0.0


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
