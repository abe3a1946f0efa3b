"""The figures of the table: mean and spread, Welch's two-sided t-test, paired differences over common seeds, a density.

Comes in: final results of one method, or of two. Goes out: plain numbers. The standard deviation is that of a sample
(n - 1). Where a figure cannot be had (one value, no spread) it is NaN or the limit, never an error. Knows nothing of
runs, methods or which way is better; a caller that wants "better" to be positive turns the sign.
"""

import dataclasses
import math
from collections.abc import Sequence

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
    """t = (m1 - m2) / sqrt(s1^2/n1 + s2^2/n2), with Welch and Satterthwaite's degrees of freedom."""
    a, b = spread(one), spread(other)
    if a.count < 2 or b.count < 2:
        return Welch(math.nan, math.nan, math.nan)
    first, second = a.std**2 / a.count, b.std**2 / b.count
    error, gap = math.sqrt(first + second), a.mean - b.mean
    if error <= _NOTHING * max(abs(a.mean), abs(b.mean)):
        t, p = _without_spread(gap, max(abs(a.mean), abs(b.mean)))
        return Welch(t, float(a.count + b.count - 2), p)
    freedom = (first + second) ** 2 / (first**2 / (a.count - 1) + second**2 / (b.count - 1))
    return Welch(gap / error, freedom, _two_sided(gap / error, freedom))


def paired(one: Sequence[float], other: Sequence[float]) -> Paired:
    """Values of equal places belong together (the same seed)."""
    if len(one) != len(other):
        raise ValueError(f"paired values must be as many on each side, got {len(one)} and {len(other)}")
    gaps = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    found, above = spread(gaps.tolist()), int((gaps > 0).sum())
    if found.count < 2:
        return Paired(found.count, found.mean, math.nan, math.nan, math.nan, above)
    scale, error = float(np.abs(one).max()), found.std / math.sqrt(found.count)
    if error <= _NOTHING * scale:
        return Paired(found.count, found.mean, found.mean, found.mean, _without_spread(found.mean, scale)[1], above)
    reach = error * float(_student().ppf(0.5 + _LEVEL / 2, found.count - 1))
    p = _two_sided(found.mean / error, found.count - 1)
    return Paired(found.count, found.mean, found.mean - reach, found.mean + reach, p, above)


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


def _two_sided(t: float, freedom: float) -> float:
    return float(2 * _student().sf(abs(t), freedom))


def _student():
    from scipy.stats import t

    return t
