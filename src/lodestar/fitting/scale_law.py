"""Fits the law over sizes: how the best rate moves with size, batch and length, from the ends of past runs.

Comes in: prepared runs and what each states of its scale. Goes out: a `ScaleLaw`, or None where no run states anything;
and the runs in the units of the reference job. The rate counts as rate x value^exponent in a Gaussian process over what
the schedules have done, the level is free to move with each quantity, and the exponents are those that make the ends of
runs most likely, under a prior. What moves is the *best* rate: runs far below the best of their size tell of it as
little as they are far (they shift with other exponents: low rates with the speed of the beginning).
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from lodestar.fitting.dataset import Prepared, prepare
from lodestar.fitting.response.cells import CellRuns, cell_runs
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC
from lodestar.forecaster.response.gaussian import Kernel
from lodestar.forecaster.response.history import CELLS, Clock
from lodestar.forecaster.scale_law import PRIORS, QUANTITIES, SIZES, Quantity, ScaleLaw
from lodestar.runs.run import Run

LEAST_STATED = 0.5  # of the runs must state a quantity, or it is left out
_LEAST_RUNS = 6  # finished ones, to learn an exponent from
_MOST_RUNS = 200
_FAR = 0.3  # of its distance from the best of its size: the deviation with which a run counts
_MOVED = 0.05  # of the usual way: a run that came less far tells of no level
_LEVEL = 2.0  # deviation of a level's slope, in units of the spread of levels
_NUMBERS = (np.array([np.log(3.0), 0.0, -1.0, np.log(0.02)]), np.array([0.7, 1.0, 1.0, 1.0]))  # kernel's, logarithms
_DRAWN, _ROUNDS = 300, 2
_DISTINCT = 1.01  # values that differ by less are one
_APART = 1.5  # the highest over the lowest value from which on runs tell of a quantity


def one_scale(data: Prepared) -> tuple[Prepared, ScaleLaw | None]:
    """The runs in the units of one reference job, and the law that brings them there.

    A run that does not state a quantity in which the others differ is excluded, with the reason.
    """
    law = fit_scale_law(data)
    left_out = _unstated(data, law)
    stay = np.array([place for place, name in enumerate(data.names) if name not in left_out], dtype=np.int64)
    kept = dataclasses.replace(data.pick(stay), excluded=(*data.excluded, *left_out.items())) if left_out else data
    return in_reference(kept, law), law


def fit_scale_law(data: Prepared) -> ScaleLaw | None:
    """The law of these runs; None where they are of several tasks, or fewer than half state size, batch or length."""
    if len(data.job.get("tasks", ())) > 1:
        return None
    stated = {name: values for name, values in data.scales.items() if np.isfinite(values).mean() >= LEAST_STATED}
    size = next((name for name in SIZES if name in stated), None)
    names = [name for name in QUANTITIES if name in stated and (name not in SIZES or name == size)]
    if not names:
        return None
    runs, place = _finished(data, [stated[name] for name in names])
    logs = {name: np.log(stated[name][np.isfinite(stated[name])]) for name in names}
    several = [name for name in names if np.ptp(logs[name]) >= math.log(_APART)]
    apart = np.array([np.log(stated[name][place]) - _middle(logs[name]) for name in several]).T
    starts = tuple(_start(data, runs, channel) for channel in (LOSS, METRIC))
    learned = _learn(data, runs, apart, starts, [PRIORS[name] for name in several]) if several else None
    quantities = []
    for name in names:
        exponent, deviation, gains = *PRIORS[name], (0.0, 0.0)
        if learned is not None and name in several:
            exponent, deviation, gains = learned[several.index(name)]
        counted = learned is not None and name in several
        quantities.append(_quantity(name, logs[name], exponent, deviation, gains, counted))
    return ScaleLaw(tuple(quantities), (starts[0], starts[1]))


def of_sizes(data: Prepared) -> bool:
    """Whether the runs are of one task in several sizes, and enough of them state theirs for a law."""
    stated = [values[np.isfinite(values)] for name, values in data.scales.items() if name in SIZES]
    enough = [values for values in stated if len(values) >= LEAST_STATED * len(data)]
    several = any(np.ptp(np.log(values)) >= math.log(_APART) for values in enough)
    return len(data.job.get("tasks", ())) <= 1 and several


def _unstated(data: Prepared, law: ScaleLaw | None) -> dict[str, str]:
    """Runs that do not state a quantity in which the others differ, with the reason to leave them out."""
    found = {}
    for quantity in law.quantities if law else ():
        if quantity.learned:
            what = quantity.name.replace("_", " ")
            for run in np.flatnonzero(~np.isfinite(data.scales[quantity.name])):
                found[data.names[run]] = f"does not state its {what}, in which the other runs differ"
    return found


def in_reference(data: Prepared, law: ScaleLaw | None) -> Prepared:
    """The runs in the units of the reference job, so that runs of all sizes are runs of one."""
    if law is None or not law.learned:
        return data
    values, channels = data.values.copy(), data.recipe.normaliser
    for run in range(len(data)):
        job = scale_at(data.scales, run)
        normaliser = law.normaliser(channels, job)
        natural = channels.inverse(data.values[run])
        values[run] = np.where(data.mask[run], normaliser.forward(natural), 0.0)
    return dataclasses.replace(data, values=values)


def prepared_for(forecaster: Forecaster, runs: Iterable[Run]) -> Prepared:
    """Runs as a forecaster takes them: on its grid, in the units of its reference job."""
    return in_reference(prepare(runs, recipe=forecaster.recipe), forecaster.law)


def scale_at(scales: Mapping[str, NDArray[np.float64]], run: int) -> dict[str, float]:
    """What one run states."""
    return {name: float(values[run]) for name, values in scales.items() if math.isfinite(values[run])}


def _finished(data: Prepared, stated: list[NDArray[np.float64]]) -> tuple[CellRuns, NDArray[np.int64]]:
    known = np.flatnonzero(np.all(np.isfinite(stated), axis=0))[:_MOST_RUNS]
    runs = cell_runs(data, known)
    whole = np.flatnonzero(runs.whole)
    return runs.pick(whole), known[whole]


def _middle(logs: NDArray[np.float64]) -> float:
    """Half way between the lowest and the highest, so that many runs of one size do not draw it there."""
    return float((logs.min() + logs.max()) / 2)


def _quantity(
    name: str, logs: NDArray, exponent: float, deviation: float, gains: tuple[float, float], learned: bool
) -> Quantity:
    low, high, middle = float(np.exp(logs.min())), float(np.exp(logs.max())), math.exp(_middle(logs))
    distinct = 1 + int((np.diff(np.sort(logs)) > math.log(_DISTINCT)).sum()) if learned else 1
    return Quantity(name, min(max(middle, low), high), low, high, distinct, exponent, deviation, gains)


def _start(data: Prepared, runs: CellRuns, channel: int) -> float:
    """Where runs begin: the median of their first values, transformed but not standardised."""
    known = runs.known[..., channel]
    some = np.flatnonzero(known.any(axis=1))
    first = runs.stands[some, known[some].argmax(axis=1), channel]
    units = data.recipe.normaliser.channels[channel]
    return float(np.median(first) * units.std + units.mean) if len(some) else units.mean


Learned = list[tuple[float, float, tuple[float, float]]]  # exponent, deviation, gains of each quantity


@threadpool_limits.wrap(limits=1, user_api="blas")
def _learn(
    data: Prepared,
    runs: CellRuns,
    apart: NDArray[np.float64],
    starts: tuple[float, ...],
    priors: list[tuple[float, float]],
) -> Learned | None:
    """Exponents by both channels, each counting half: they are two views of the same runs."""
    ends = [_End.of(data, runs, apart, channel, starts[channel]) for channel in (LOSS, METRIC)]
    if min(len(end.level) for end in ends) < _LEAST_RUNS:
        return None
    mean, spread = (np.array(column) for column in zip(*priors, strict=True))
    numbers = [_most_likely(end, mean, spread) for end in ends]
    centre, width = mean, spread
    for _ in range(_ROUNDS):
        drawn = centre + width * np.random.default_rng(0).standard_normal((_DRAWN, len(mean)))
        likely = np.array([sum(0.5 * end.evidence(n, e) for end, n in zip(ends, numbers, strict=True)) for e in drawn])
        likely -= 0.5 * (((drawn - mean) / spread) ** 2).sum(axis=1)
        likely += 0.5 * (((drawn - centre) / width) ** 2).sum(axis=1)
        weights = np.exp(likely - likely.max())
        centre = weights @ drawn / weights.sum()
        width = np.sqrt(weights @ (drawn - centre) ** 2 / weights.sum()) + 0.02
    gains = [end.gains(n, centre) for end, n in zip(ends, numbers, strict=True)]
    return [
        (float(centre[j]), float(width[j]), (float(gains[LOSS][j]), float(gains[METRIC][j]))) for j in range(len(mean))
    ]


@dataclasses.dataclass(frozen=True)
class _End:
    """One channel's ends: log distance from the start, standardised, and how far each is to be believed."""

    rates: NDArray[np.float64]  # (runs, cells)
    apart: NDArray[np.float64]  # (runs, quantities): log(value / reference)
    level: NDArray[np.float64]  # (runs,)
    unit: float
    noise: NDArray[np.float64]  # (runs,): variance of runs far from the best of their size

    @classmethod
    def of(cls, data: Prepared, runs: CellRuns, apart: NDArray, channel: int, start: float) -> "_End":
        units = data.recipe.normaliser.channels[channel]
        way = runs.stands[:, -1, channel] * units.std + units.mean - start
        way = way * np.sign(np.median(way))
        fine = np.flatnonzero((way > _MOVED * np.median(way)) & runs.known[:, -1, channel])
        level = np.log(way[fine])
        unit = float(level.std()) + 1e-9 if len(fine) else 1.0
        level = (level - level.mean()) / unit if len(fine) else level
        _, alike = np.unique(np.round(apart[fine], 6), axis=0, return_inverse=True)
        best = np.full(len(level), -np.inf)
        np.maximum.at(best, alike.ravel(), level)
        far = best[alike.ravel()] - level
        return cls(runs.rates[fine], apart[fine], level, unit, (_FAR * far) ** 2)

    def evidence(self, numbers: NDArray[np.float64], exponents: NDArray[np.float64]) -> float:
        """How likely the levels are, up to a constant; -1e10 where the numbers break down."""
        try:
            factor = cholesky(self._covariance(numbers, exponents), lower=True)
        except LinAlgError:
            return -1e10
        solved = cho_solve((factor, True), self.level)
        found = -0.5 * float(self.level @ solved) - float(np.log(np.diag(factor)).sum())
        return found if math.isfinite(found) else -1e10

    def gains(self, numbers: NDArray[np.float64], exponents: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected slopes of log distance over each quantity."""
        solved = np.linalg.solve(self._covariance(numbers, exponents), self.level)
        return self.unit * _LEVEL**2 * self.apart.T @ solved

    def _covariance(self, numbers: NDArray[np.float64], exponents: NDArray[np.float64]) -> NDArray[np.float64]:
        rates = self.rates * np.exp(self.apart @ exponents)[:, None]
        raw = np.delete(Clock.of(rates).features(rates, np.array([CELLS - 1]))[:, 0], 1, axis=1)  # time is the same
        points = (raw - raw.mean(axis=0)) / (raw.std(axis=0) + 1e-3)
        length, smooth, linear, noise = np.exp(numbers)
        shared = Kernel(np.full(points.shape[1], length), smooth, linear)(points, points)
        return shared + _LEVEL**2 * self.apart @ self.apart.T + np.diag(noise + self.noise)


def _most_likely(end: _End, mean: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """The kernel's numbers, found together with the exponents."""
    middle = np.concatenate([_NUMBERS[0], mean])
    scale = np.concatenate([_NUMBERS[1], spread])

    def unlikely(values: NDArray[np.float64]) -> float:
        return 0.5 * float((((values - middle) / scale) ** 2).sum()) - end.evidence(values[:4], values[4:])

    bounds = [(m - 4.0 * s, m + 4.0 * s) for m, s in zip(middle, scale, strict=True)]
    found = minimize(unlikely, middle, method="L-BFGS-B", bounds=bounds, options={"maxiter": 25, "eps": 1e-4})
    return np.asarray(found.x)[:4]  # pyright: ignore[reportAttributeAccessIssue]
