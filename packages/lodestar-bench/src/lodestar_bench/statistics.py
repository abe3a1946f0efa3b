"""The figures of the table: mean and spread, Welch's two-sided t-test, paired differences over common seeds, a density.

Comes in: final results of one method, or of two. Goes out: plain numbers. The standard deviation is that of a sample
(n - 1). Where a figure cannot be had (one value, no spread) it is NaN or the limit, never an error. Knows nothing of
runs, methods or which way is better; a caller that wants "better" to be positive turns the sign.
"""

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 0.95
_NOTHING = 1e-12  # relative to the values: a spread below this is rounding


@dataclasses.dataclass(frozen=True)
class Spread:
    """How values lie; `low` and `high` are the smallest and the largest."""

    count: int
    mean: float
    std: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Welch:
    """Welch's test of equal means, variances not assumed equal: `t`, degrees of freedom, two-sided `p`."""

    t: float
    freedom: float
    p: float


@dataclasses.dataclass(frozen=True)
class Paired:
    """Differences (one - other) over common seeds: mean, its 95 % interval, two-sided `p`, how many were above zero."""

    count: int
    mean: float
    lower: float
    upper: float
    p: float
    above: int


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation."""
    found = np.asarray(values, dtype=float)
    if not len(found):
        return Spread(0, math.nan, math.nan, math.nan, math.nan)
    std = float(found.std(ddof=1)) if len(found) > 1 else math.nan
    return Spread(len(found), float(found.mean()), std, float(found.min()), float(found.max()))


def welch(one: Sequence[float], other: Sequence[float]) -> Welch:
    """SciPy's, but for values without spread, of which it knows nothing."""
    from scipy.stats import ttest_ind

    a, b = spread(one), spread(other)
    if a.count < 2 or b.count < 2:
        return Welch(math.nan, math.nan, math.nan)
    scale = max(abs(a.mean), abs(b.mean))
    if math.hypot(a.std / math.sqrt(a.count), b.std / math.sqrt(b.count)) <= _NOTHING * scale:
        t, p = _without_spread(a.mean - b.mean, scale)
        return Welch(t, float(a.count + b.count - 2), p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one side may have no spread
        found: Any = ttest_ind(one, other, equal_var=False)
    return Welch(float(found.statistic), float(found.df), float(found.pvalue))


def paired(one: Sequence[float], other: Sequence[float]) -> Paired:
    """Values of equal places belong together (the same seed)."""
    from scipy.stats import ttest_1samp

    if len(one) != len(other):
        raise ValueError(f"paired values must be as many on each side, got {len(one)} and {len(other)}")
    gaps = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    differences, above = spread(gaps.tolist()), int((gaps > 0).sum())
    count, mean = differences.count, differences.mean
    if count < 2:
        return Paired(count, mean, math.nan, math.nan, math.nan, above)
    scale = float(np.abs(one).max())
    if differences.std / math.sqrt(count) <= _NOTHING * scale:
        return Paired(count, mean, mean, mean, _without_spread(mean, scale)[1], above)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a spread near rounding
        tested: Any = ttest_1samp(gaps, 0.0)
    interval = tested.confidence_interval(_LEVEL)
    return Paired(count, mean, float(interval.low), float(interval.high), float(tested.pvalue), above)


def density(values: Sequence[float], points: int = 200) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """A Gaussian kernel density (Scott's bandwidth), drawn three bandwidths beyond the values; None without spread."""
    from scipy.stats import gaussian_kde

    found = np.asarray(values, dtype=float)
    if len(found) < 3 or found.std() <= _NOTHING * np.abs(found).max():
        return None
    kernel = gaussian_kde(found)
    reach = 3 * float(np.sqrt(kernel.covariance[0, 0]))
    x = np.linspace(found.min() - reach, found.max() + reach, points)
    return x, kernel(x)


def _without_spread(gap: float, scale: float) -> tuple[float, float]:
    """t and p where every value is the same on its side: equal means are certain, or certainly not."""
    return (0.0, 1.0) if abs(gap) <= _NOTHING * scale else (math.copysign(math.inf, gap), 0.0)
