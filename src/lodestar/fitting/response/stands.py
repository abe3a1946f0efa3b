"""Fits the continuation: at each share seen, a kernel regression of what the metric still changed."""

import itertools

import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.response.cells import CellRuns
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.forecaster.response.channel import raw_inputs
from lodestar.forecaster.response.continuation import KNOTS, Continuation, stand_features, stand_kernel
from lodestar.forecaster.response.history import CELLS, Clock
from lodestar.forecaster.response.law import Law

_CHOICES = tuple(itertools.product((1.5, 3.0, 6.0), (0.01, 0.05, 0.2, 0.8), (0.0, 0.3)))  # length, noise, linear
_MOST_OFF = 3.0  # typical changes: a forecast further off counts as that far


def knot_cells() -> list[int]:
    """The last cell seen at each knot."""
    return [max(round(share * CELLS) - 1, 0) for share in KNOTS]


def fit_continuation(law: Law | None, clock: Clock, runs: CellRuns) -> Continuation:
    """The regressions over finished runs."""
    parts = [_at(law, clock, runs, cell) for cell in knot_cells()]
    return Continuation(*(np.array([part[number] for part in parts]) for number in range(len(parts[0]))))


def _at(law: Law | None, clock: Clock, runs: CellRuns, cell: int) -> tuple[NDArray | float, ...]:
    stands = np.stack([runs.observed(run, cell).stand for run in range(len(runs))])
    inputs = raw_inputs(law, clock, runs.rates, np.array([cell, CELLS - 1]))
    raw = stand_features(clock, runs.rates, stands, cell, inputs[:, 0], inputs[:, 1])
    mean, std = raw.mean(axis=0), raw.std(axis=0) + 1e-2
    points, now = (raw - mean) / std, stands[:, cell, METRIC]
    change = runs.stands[:, -1, METRIC] - now
    scale = float(np.sqrt(np.mean(change**2))) + 1e-9
    tried = [(*_without_each(points, change / scale, choice), choice) for choice in _CHOICES]
    off = [np.mean(np.clip(left_out - change / scale, -_MOST_OFF, _MOST_OFF) ** 2) for _, left_out, _ in tried]
    weights, _, (length, _, linear) = tried[int(np.argmin(off))]
    return mean, std, points, weights, scale, length, linear


def _without_each(points: NDArray, change: NDArray, choice: tuple[float, float, float]) -> tuple[NDArray, NDArray]:
    """Weights of the regression, and each run's change as the others tell it (in closed form)."""
    length, noise, linear = choice
    inverse = np.linalg.inv(stand_kernel(points, points, length, linear) + noise * np.eye(len(points)))
    weights = inverse @ change
    return weights, change - weights / np.diag(inverse)
