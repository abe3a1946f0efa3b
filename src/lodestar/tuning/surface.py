"""How a schedule ends: a surface over schedules, fitted to a few finals in closed form, in milliseconds.

Comes in: the rates of tried schedules on the cells of a run, what their ends were worth, and perhaps the sizes they
were tried at. Goes out: for any schedules, what their ends are expected to be worth, and how much is not known of that.
A Gaussian process over a few logarithms (the mean rate, its peak, how it begins and how it ends), averaged over
lengths, heights, luck and, over sizes, exponents of the best rate by how well each explains the finals: at a size, a
rate counts as rate x size^exponent, and the level is free.

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
_RATES = np.array([1.0, 1.0, 0.0, 0.0, 0.0]) / _REACH  # what a factor to all rates moves
_LENGTHS, _HEIGHTS, _LUCKS = (0.7, 1.2, 2.0, 3.5), (0.1, 1.0, 4.0), (0.02, 0.1, 0.3, 1.0)
_LEVEL = 1.0  # variance of what all finals have in common, in theirs
_SLOPE, _OWN = 4.0, 0.1  # variances of the level's slope over log size, and of what a size has for itself
_LOW = 1.5  # distances from the middle to the best: an end worse than that below the middle is as bad as that
_EXPONENTS = np.linspace(-2.0, 2.0, 9)  # deviations of the prior
_SAME = 1e-9  # apart, two sizes are one
_EACH = 5  # draws of one way
_KEPT = 0.01  # of all weight: a way of less is left out; over exponents, of that of one


@dataclasses.dataclass(frozen=True)
class Way:
    """One guess of length, height, luck and exponent, and what follows of it."""

    length: float
    height: float
    luck: float
    exponent: float
    pull: Array
    inverse: Array


@dataclasses.dataclass(frozen=True)
class Surface:
    """Ready to be asked. `luck` is the deviation of two runs of one schedule."""

    points: Array  # (runs, features), of the rates as they were
    sizes: Array  # (runs,): log size
    mean: float
    scale: float
    weights: Array  # (ways,)
    ways: tuple[Way, ...]
    luck: float

    def __call__(self, rates: Array, size: float = 0.0) -> tuple[Array, Array]:
        """What these schedules (n, cells) are expected to end at, and the deviation of that, luck left out.

        `size` is the logarithm of the size at which they would be tried.
        """
        points, sizes = features(rates), np.full(len(rates), size)
        centres, variances = np.zeros((len(self.ways), len(points))), np.zeros((len(self.ways), len(points)))
        levels = _levels(sizes, self.sizes, self.several)
        own = float(_levels(sizes[:1], sizes[:1], self.several)[0, 0])
        near: dict[float, Array] = {}
        for place, way in enumerate(self.ways):
            if way.exponent not in near:
                here = _moved(points, sizes, way.exponent), _moved(self.points, self.sizes, way.exponent)
                near[way.exponent] = _distances(*here)
            kernel = way.height * np.exp(-near[way.exponent] / way.length**2) + levels
            centres[place] = kernel @ way.pull
            variances[place] = way.height + own - ((kernel @ way.inverse) * kernel).sum(axis=1)
        centre = self.weights @ centres
        variance = self.weights @ (np.maximum(variances, 0.0) + (centres - centre) ** 2)
        return self.mean + self.scale * centre, self.scale * np.sqrt(variance)

    def draws(self, rates: Array, sizes: Array, count: int, rng: np.random.Generator) -> Array:
        """(count, n): what these schedules at their log sizes may be worth, all at once, luck left out."""
        points, several = features(rates), self.several
        levels, own = _levels(sizes, self.sizes, several), _levels(sizes, sizes, several)
        found = []
        for place, many in enumerate(_EACH * rng.multinomial(count // _EACH, self.weights)):
            if many:
                way = self.ways[place]
                here, there = _moved(points, sizes, way.exponent), _moved(self.points, self.sizes, way.exponent)
                kernel = way.height * np.exp(-_distances(here, there) / way.length**2) + levels
                joint = way.height * np.exp(-_distances(here, here) / way.length**2) + own
                spread, turn = np.linalg.eigh(joint - kernel @ way.inverse @ kernel.T)
                root = turn * np.sqrt(np.maximum(spread, 0.0))
                found.append((kernel @ way.pull)[:, None] + root @ rng.standard_normal((len(root), many)))
        return self.mean + self.scale * np.concatenate(found, axis=1).T

    @property
    def several(self) -> bool:
        """Whether runs are of several sizes."""
        return bool(np.ptp(self.sizes))

    @property
    def exponent(self) -> tuple[float, float]:
        """The exponent's mean and deviation."""
        found = np.array([way.exponent for way in self.ways])
        mean = float(self.weights @ found)
        return mean, float(np.sqrt(self.weights @ (found - mean) ** 2))


def fit_surface(
    rates: Array,
    worth: Array,
    doubt: Sequence[float] | Array = (),
    sizes: Sequence[float] | Array = (),
    prior: tuple[float, float] = (0.0, 0.0),
) -> Surface:
    """`rates` (runs, cells), `worth` (runs,) of their ends, more is better; `doubt` a deviation of each end more.

    `sizes` are logarithms of the size at which each was tried, `prior` the mean and the deviation of the exponent.
    """
    at = np.asarray(sizes, float) if len(sizes) else np.zeros(len(worth))
    worth = _clipped(worth, at)
    mean, scale = float(worth.mean()), _spread(worth, at) + 1e-3
    goal = (worth - mean) / scale
    extra = np.diag((np.asarray(doubt) / scale) ** 2) if len(doubt) else np.zeros((len(goal), len(goal)))
    points, ways, evidence = features(rates), [], []
    grid = np.array(np.meshgrid(_LENGTHS, _HEIGHTS, _LUCKS, indexing="ij")).reshape(3, -1).T
    several = bool(np.ptp(at))
    for deviations in _EXPONENTS if several else np.zeros(1):
        exponent = prior[0] + prior[1] * deviations
        moved = _moved(points, at, exponent)
        near, level = _distances(moved, moved), _levels(at, at, several) + extra
        length, height, luck = (part[:, None, None] for part in grid.T)
        kernels = height * np.exp(-near / length**2) + level + luck * np.eye(len(goal))
        inverses = np.linalg.inv(kernels)
        pulls = inverses @ goal
        found = -0.5 * pulls @ goal - 0.5 * np.linalg.slogdet(kernels)[1] - 0.5 * deviations**2
        evidence += found.tolist()
        ways += [
            Way(float(a), float(b), float(c), exponent, pull, inverse)
            for (a, b, c), pull, inverse in zip(grid, pulls, inverses, strict=True)
        ]
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    kept = np.flatnonzero(weights > _KEPT * len(grid) / len(weights))
    luck = scale * float(np.sqrt(weights @ np.array([way.luck for way in ways])))
    share = weights[kept] / weights[kept].sum()
    return Surface(points, at, mean, scale, share, tuple(ways[way] for way in kept), luck)


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


def _clipped(worth: Array, sizes: Array) -> Array:
    """Ends no lower than the lowest that counts at their size."""
    floors = {size: lowest(worth[sizes == size]) for size in np.unique(sizes)}
    return np.maximum(worth, [floors[size] for size in sizes])


def _spread(worth: Array, sizes: Array) -> float:
    """Of the ends around the middle of their size."""
    return float(
        np.sqrt(np.mean([np.mean((worth[sizes == size] - worth[sizes == size].mean()) ** 2) for size in sizes]))
    )


def _moved(points: Array, sizes: Array, exponent: float) -> Array:
    """As the rates count in a job of log size zero."""
    return points + exponent * sizes[:, None] * _RATES


def _levels(one: Array, other: Array, several: bool) -> Array:
    """The covariance of levels: of all, and of several sizes of their slope over log size and of what each has."""
    same = np.abs(one[:, None] - other[None]) < _SAME
    return _LEVEL + several * (_SLOPE * np.outer(one, other) + _OWN * same)


def _distances(one: Array, other: Array) -> Array:
    """Half of the squares."""
    dot = one @ other.T
    return np.maximum(0.5 * (one**2).sum(axis=1)[:, None] + 0.5 * (other**2).sum(axis=1)[None] - dot, 0.0)
