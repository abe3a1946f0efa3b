"""What trials become that stand somewhere: a regression in closed form, milliseconds for a hundred trials.

Comes in: features of past trials at one share of the run (the metric first) and their finals, some of them forecast
themselves, with a variance. Goes out: finals of others with a deviation, and what the past trials would have been
forecast without themselves. It is a Gaussian process of the remaining change: a few kernels, weighted by how well each
forecasts the trials it leaves out.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

_LENGTH = 2.5
_LINEAR = 0.3
_NOISES = (0.003, 0.02, 0.1, 0.5)
_FORECAST_TRUST = 0.1  # of a final that is a forecast, in the choice of the noise
_DOUBT = 3.0  # times the variance of finals that are forecasts
_PRIOR, _PRIOR_RUNS = 1.5, 3.0  # of the squared errors in deviations; as if from so many runs
_FAR = 6.0  # deviations: beyond, a feature counts as that far
_WORST = 25.0


@dataclasses.dataclass(frozen=True)
class Regression:
    """Ready to forecast. `left_out` are the past trials' finals as the others tell them."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    points: NDArray[np.float64]
    shift: float
    scale: float
    weights: NDArray[np.float64]  # (kernels,)
    inverses: NDArray[np.float64]  # (kernels, trials, trials)
    pulls: NDArray[np.float64]  # (kernels, trials)
    noises: NDArray[np.float64]
    widening: float
    left_out: NDArray[np.float64]

    def __call__(self, features: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Finals (n,) of trials with these features (n, features), and deviations."""
        points = np.clip((features - self.mean) / self.std, -_FAR, _FAR)
        near = _kernel(points, self.points)
        own = 1.0 + _LINEAR * (points**2).mean(axis=1)
        centres = self.pulls @ near.T
        variances = own - np.einsum("nk,mkl,nl->mn", near, self.inverses, near)
        variances = np.maximum(variances, 1e-6) + self.noises[:, None]
        centre = self.weights @ centres
        variance = self.weights @ (variances + (centres - centre) ** 2)
        return features[:, 0] + self.shift + self.scale * centre, self.scale * np.sqrt(variance * self.widening)


def fit_regression(features: NDArray, finals: NDArray, variances: NDArray, unit: float) -> Regression:
    """`variances` (trials,) of finals: nought where a trial has finished; `unit` is a small difference of finals."""
    whole, doubt = variances == 0, _DOUBT * variances
    mean, std = features.mean(axis=0), features.std(axis=0) + 1e-2
    points, change = (features - mean) / std, finals - features[:, 0]
    sure = 1.0 / (1.0 + 4.0 * doubt / (change[whole].var() + 1e-9))
    shift = float(np.average(change, weights=sure))
    scale = float(np.sqrt(np.average((change - shift) ** 2, weights=sure))) + unit
    goal, among = (change - shift) / scale, _kernel(points, points)
    tried = [_without_each(among, noise + doubt / scale**2, goal) for noise in _NOISES]
    counts = np.where(whole, 1.0, _FORECAST_TRUST * sure)
    likely = np.array([-0.5 * float((counts * (np.log(var) + off**2 / var)).sum()) for *_, off, var in tried])
    weights = np.exp(likely - likely.max())
    weights /= weights.sum()
    off = weights @ np.array([way[2] for way in tried])
    var = weights @ np.array([way[3] for way in tried])
    squares = np.minimum(off[whole] ** 2 / var[whole], _WORST)
    widening = max(1.0, float(squares.sum() + _PRIOR * _PRIOR_RUNS) / (len(squares) + _PRIOR_RUNS))
    inverses, pulls = np.array([way[0] for way in tried]), np.array([way[1] for way in tried])
    left_out = finals - scale * off
    return Regression(mean, std, points, shift, scale, weights, inverses, pulls, np.array(_NOISES), widening, left_out)


def _without_each(among: NDArray, noise: NDArray, goal: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Inverse and weights, and how far off each trial is when the others forecast it, with the variance of that."""
    inverse = np.linalg.inv(among + np.diag(noise))
    pull, own = inverse @ goal, np.diag(inverse)
    return inverse, pull, pull / own, 1.0 / own


def _kernel(one: NDArray, other: NDArray) -> NDArray[np.float64]:
    size = one.shape[1]
    dot = one @ other.T
    far = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None] - 2.0 * dot
    return np.exp(-2.0 * np.maximum(far, 0.0) / (size * _LENGTH**2)) + _LINEAR * dot / size
