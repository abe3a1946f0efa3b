"""Where winners stand on the way: how many trials may look better than one that will end as the best of a sweep.

Comes in: how past trials looked at a moment, and their finals, some of them forecast. Goes out: the share of trials,
from the top, among which nearly every winner is. Looks and finals become normal scores; finals are regressed on looks,
which trials that were stopped for their looks do not bend (the other way round they would), and turned round by Bayes'
rule: a trial whose final has the score w, the best of many, looked like r w / (r^2 + s^2), give or take
s / sqrt(r^2 + s^2), where r is the slope and s^2 what the looks leave open. Trials of the upper half decide s:
often winners are told apart early where the middle is not.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import rankdata

_WINNER = 2.25  # deviations above the middle: the best of forty trials, or of as many as there are
_LOST = {"value": 0.015, "forecast": 0.01}  # share of the winners that may stand below
_LOWER = 0.2  # weight of trials below the middle
_PRIOR = 0.3  # of squared scores: a slope from few trials is held down
_PRIOR_TRIALS = 2.0  # as many stand for what a normal copula of that slope leaves open
_LEAST_OPEN = 0.15
_FREEDOM = 3.0
_LEAST = 0.03  # no sweep tells its first few apart


@dataclasses.dataclass(frozen=True)
class Past:
    """Trials at a moment. `variances` (trials,) of finals that are forecasts; `told`: finals that can be believed;
    `count`: all trials, of which those that are not here were stopped earlier, for they stood lower."""

    finals: NDArray[np.float64]
    variances: NDArray[np.float64]
    told: NDArray[np.bool_]
    count: int

    def by_value(self, values: NDArray) -> float:
        """Where winners stand by plain values. Told finals count alone: a forecast leans on the very value."""
        return self._within(values, self.told, _LOST["value"])

    def by_forecast(self, forecasts: NDArray) -> float:
        """Where winners stand by forecasts. All count, those not told with their doubt: regressions are easily vain."""
        return self._within(forecasts, np.ones(len(forecasts), bool), _LOST["forecast"])

    def _within(self, shown: NDArray, counted: NDArray, lost: float) -> float:
        looks, ends = normal_scores(shown, self.count), normal_scores(self.finals, self.count)
        doubts = self._doubts(ends)[counted]
        weights = np.where(looks > 0, 1.0, _LOWER)[counted]
        told = float((looks[self.told] ** 2).sum()) + _PRIOR
        looks, ends = looks[counted], ends[counted]
        slope = float(np.clip((looks * ends).sum() / ((looks**2).sum() + _PRIOR), 0.0, 1.0))
        copula = max(1.0 - slope**2, _LEAST_OPEN**2)
        number = float(weights.sum())
        missed = float((weights * ((ends - slope * looks) ** 2 + doubts)).sum())
        left_open = (missed + _PRIOR_TRIALS * copula) / (number + _PRIOR_TRIALS)
        whole, winner = slope**2 + left_open, max(_WINNER, -float(ndtri(0.5 / self.count)))
        deviation = math.sqrt(left_open / whole * (1.0 + winner**2 / told))
        lowest = slope * winner / whole + float(stdtrit(number + _FREEDOM, lost)) * deviation
        return max(_LEAST, 1.0 - float(ndtr(lowest)))

    def _doubts(self, ends: NDArray) -> NDArray[np.float64]:
        """Variances of scores, from those of finals."""
        order, deviations = np.argsort(self.finals), np.sqrt(self.variances)
        high, low = (np.interp(self.finals + side * deviations, self.finals[order], ends[order]) for side in (1, -1))
        return np.where(self.told, 0.0, ((high - low) / 2) ** 2)


def normal_scores(values: NDArray, count: int) -> NDArray[np.float64]:
    """Scores among `count` trials, of which those that are not here stand lower."""
    return -ndtri((rankdata(-values) - 0.5) / count)


def in_time(shares: Sequence[float]) -> NDArray[np.float64]:
    """A later moment knows more: shares that winners stand within, none larger than one before it."""
    return np.asarray(isotonic_regression(np.asarray(shares), increasing=False).x)
