"""How a schedule ends: a surface over schedules, fitted to a few finals in closed form, in milliseconds.

Comes in: the rates of tried schedules on the cells of a run, and what their ends were worth. Goes out: for any
schedules, what their ends are expected to be worth, and how much is not known of that. A Gaussian process over a few
logarithms (the mean rate, its peak, how it begins and how it ends), averaged over lengths, heights and luck by how well
each explains the finals.

The response of `lodestar.fitting` knows whole curves and says more from the same runs; its fit takes seconds, which is
many runs of a small job. Thirty lines of NumPy in place of scikit-learn's regressor: it would be one more dependency of
a sweep, and maximises where few runs ask for an average.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BEGIN, _LATE, _END = (0.0, 0.1), (0.5, 0.8), (0.9, 1.0)  # parts of a run whose mean rates count
_FLOOR = 3e-3  # of the peak: a rate of zero has a finite logarithm
_REACH = np.array([1.0, 1.0, 2.0, 3.0, 4.0])  # over how much of each the surface stays alike, to begin with
_LENGTHS, _HEIGHTS, _LUCKS = (0.7, 1.2, 2.0, 3.5), (0.1, 1.0, 4.0), (0.02, 0.1, 0.3, 1.0)
_LEVEL = 1.0  # variance of what all finals have in common, in theirs
_LOW = 1.5  # distances from the middle to the best: an end worse than that below the middle is as bad as that


@dataclasses.dataclass(frozen=True)
class Surface:
    """Ready to be asked. `luck` is the deviation of two runs of one schedule."""

    points: Array  # (runs, features)
    mean: float
    scale: float
    weights: Array  # (ways,)
    ways: tuple[tuple[float, float, Array, Array], ...]  # length, height, pull, inverse
    luck: float

    def __call__(self, rates: Array) -> tuple[Array, Array]:
        """What these schedules (n, cells) are expected to end at, and the deviation of that, luck left out."""
        points = features(rates)
        near = _distances(points, self.points)
        centres, variances = np.zeros((len(self.ways), len(points))), np.zeros((len(self.ways), len(points)))
        for way, (length, height, pull, inverse) in enumerate(self.ways):
            kernel = height * np.exp(-near / length**2) + _LEVEL
            centres[way] = kernel @ pull
            variances[way] = height + _LEVEL - np.einsum("nk,kl,nl->n", kernel, inverse, kernel, optimize=True)
        centre = self.weights @ centres
        variance = self.weights @ (np.maximum(variances, 0.0) + (centres - centre) ** 2)
        return self.mean + self.scale * centre, self.scale * np.sqrt(variance)


def fit_surface(rates: Array, worth: Array, doubt: Sequence[float] | Array = ()) -> Surface:
    """`rates` (runs, cells), `worth` (runs,) of their ends, more is better; `doubt` a deviation of each end more."""
    worth = np.maximum(worth, lowest(worth))
    points = features(rates)
    mean, scale = float(worth.mean()), float(worth.std()) + 1e-3
    goal, near = (worth - mean) / scale, _distances(points, points)
    extra = (np.asarray(doubt) / scale) ** 2 if len(doubt) else np.zeros(len(goal))
    ways, evidence, lucks = [], [], []
    for length in _LENGTHS:
        alike = np.exp(-near / length**2)
        for height in _HEIGHTS:
            for luck in _LUCKS:
                kernel = height * alike + _LEVEL + np.diag(luck + extra)
                inverse = np.linalg.inv(kernel)
                pull = inverse @ goal
                evidence.append(-0.5 * float(goal @ pull) - 0.5 * float(np.linalg.slogdet(kernel)[1]))
                ways.append((length, height, pull, inverse))
                lucks.append(luck)
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    kept = np.flatnonzero(weights > 0.01)
    luck = scale * float(np.sqrt(weights @ np.array(lucks)))
    share = weights[kept] / weights[kept].sum()
    return Surface(points, mean, scale, share, tuple(ways[way] for way in kept), luck)


def lowest(worth: Array) -> float:
    """Ends below this say no more than that they are bad."""
    middle = float(np.median(worth))
    return middle - _LOW * (float(worth.max()) - middle) - 0.05


def features(rates: Array) -> Array:
    """(n, features) of schedules on cells, in units of how far the surface reaches."""
    peak = rates.max(axis=1)
    cells = rates.shape[1]
    parts = [rates[:, int(a * cells) : int(b * cells)].mean(axis=1) / peak for a, b in (_BEGIN, _LATE, _END)]
    logs = [np.log(peak), np.log(rates.mean(axis=1)), *(np.log(part + _FLOOR) for part in parts)]
    return np.stack(logs, axis=1) / _REACH


def _distances(one: Array, other: Array) -> Array:
    """Half of the squares."""
    dot = one @ other.T
    return np.maximum(0.5 * (one**2).sum(axis=1)[:, None] + 0.5 * (other**2).sum(axis=1)[None] - dot, 0.0)
