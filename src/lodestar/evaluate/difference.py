"""Is one group of runs better than another, or is it chance? Means, their difference with an interval, Welch's t-test.

Comes in: final metrics of two groups. Goes out: plain numbers, NaN where there are too few runs for a test.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

CHANCE = 0.05
"""A p-value from this on is called chance."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """Mean of the first group less that of the second, its 95 % interval, and the p-value of no difference."""

    means: tuple[float, float]
    runs: tuple[int, int]
    low: float
    high: float
    p: float

    @property
    def by(self) -> float:
        return self.means[0] - self.means[1]


def difference(one: Sequence[float], other: Sequence[float]) -> Difference:
    """Welch's t-test, two-sided: the groups need neither the same size nor the same spread. Two runs each, at least."""
    pair = (np.asarray(one, float), np.asarray(other, float))
    means = (float(pair[0].mean()), float(pair[1].mean()))
    runs = (len(pair[0]), len(pair[1]))
    if min(runs) < 2 or all(np.ptp(group) == 0 for group in pair):
        return Difference(means, runs, math.nan, math.nan, math.nan)
    found: Any = stats.ttest_ind(*pair, equal_var=False)
    low, high = found.confidence_interval(0.95)
    return Difference(means, runs, float(low), float(high), float(found.pvalue))
