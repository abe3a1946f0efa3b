"""Weights of the ways to forecast a final metric, and how far off their mixture lies, from held-out runs."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.response.mixture import SHARES, WAYS, Mixture

_RIDGE = 0.05  # towards equal weights, in units of the error that those make
_ROUNDS = 3  # of reweighting: a run that nobody forecast must not decide
_FAR = 3.0  # median errors
_SCARCE = 6.0  # runs: with so many, intervals are twice as wide as those runs alone would have them


def fit_mixture(ways: NDArray, deviations: NDArray, truth: NDArray, spare: NDArray) -> Mixture:
    """`ways` (shares, ways, runs), `deviations` (shares, runs), `truth` (runs,): finals of held-out runs.

    `spare`: the same of a continuation without the run itself, in place of that way's row.
    """
    weights = np.zeros((len(SHARES), len(WAYS)))
    widths = np.zeros((len(LEVELS), len(SHARES)))
    for place in range(len(SHARES)):
        if place == 0:
            weights[0, 0] = 1.0  # nothing was seen: the schedule is all there is
            forecast = ways[0, 0]
        else:
            made = np.stack([ways[place, 0], ways[place, 1], spare[place - 1], ways[place, 3]], axis=1)
            weights[place] = convex(made, truth)
            forecast = made @ weights[place]
        widths[:, place] = _widths(np.abs(truth - forecast) / deviations[place])
    return Mixture(weights, widths)


def convex(made: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights >= 0 that add up to one, of least error of `made` (runs, ways) @ weights; far-off runs count less."""
    runs, ways = made.shape
    even = np.full(ways, 1.0 / ways)
    unit = float(np.sqrt(np.mean((made @ even - truth) ** 2))) + 1e-9
    ridge, sure = np.sqrt(_RIDGE * runs) * unit, 1e3 * unit * np.sqrt(runs)
    trust, weights = np.ones(runs), even
    for _ in range(_ROUNDS):
        rows = [made * trust[:, None], np.full((1, ways), sure), ridge * np.eye(ways)]
        weights, _ = nnls(np.vstack(rows), np.concatenate([truth * trust, [sure], ridge * even]))
        off = np.abs(made @ weights - truth)
        trust = np.sqrt(np.minimum(1.0, _FAR * (np.median(off) + 1e-9) / np.maximum(off, 1e-12)))
    return weights / weights.sum()


def _widths(off: NDArray[np.float64]) -> list[float]:
    """Deviations that hold each level of the runs, wider for the few they are."""
    shares = [min(1.0, level * (1.0 + 1.0 / len(off))) for level in LEVELS]
    return [(1.0 + _SCARCE / len(off)) * float(np.quantile(off, share)) for share in shares]
