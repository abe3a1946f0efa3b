"""Weights of the ways to forecast a final metric, and how far off their mixture lies, from held-out runs."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.response.mixture import SHARES, WAYS, Mixture, mixed

_REACH = 2.5  # knots: shares nearby tell of this one too
_RIDGE, _RIDGE_RUNS = 0.05, 0.5  # towards the prior weights, for each run and as so many runs
_ROUNDS = 3  # of reweighting: a run that nobody forecast must not decide
_FAR = 3.0  # median errors
_FEWEST, _HALF, _MOST_PRIOR = 20, 40.0, 0.4  # learned runs, and shares, of the latent ODE's prior
_LATENT_RUNS, _MOST_LATENT = 30.0, 0.6  # held-out runs that the prior is worth; no share above
_SCARCE = 2.0  # runs: with so many, intervals are twice as wide as those runs alone would have them
_CAUTION = 0.5  # of a run further out: held-out forecasts learned from fewer runs, so they are further off as it is


def prior(seen: float) -> NDArray[np.float64]:
    """Weights (ways,) before any run has spoken: the schedule at first, later what it did itself and its company."""
    weights = np.array([1.0 - seen, 1.0 - seen, seen, seen**2, 0.3 * seen, 0.7 * seen, seen])
    return weights / weights.sum()


def fit_mixture(ways: NDArray, variances: NDArray, truth: NDArray) -> Mixture:
    """`ways` (shares, ways, runs), `variances` (shares, runs), `truth` (runs,): finals of held-out runs."""
    weights = np.zeros((len(SHARES), len(WAYS)))
    weights[0, 0] = 1.0  # nothing was seen: the schedule is all there is
    for place in range(1, len(SHARES)):
        weights[place] = _weights(ways, truth, place)
    off = np.empty((len(SHARES), len(truth)))
    for place in range(len(SHARES)):
        centre, deviation = mixed(weights[place], ways[place], variances[place])
        off[place] = np.abs(truth - centre) / deviation
    nearby = [slice(0, 1), *(slice(max(place - 1, 1), place + 2) for place in range(1, len(SHARES)))]
    return Mixture(weights, np.stack([_widths(off[places]) for places in nearby], axis=1))


def latent_shares(centre: NDArray, latent: NDArray, truth: NDArray, learned: int) -> NDArray[np.float64]:
    """How much of a forecast the latent ODE has, at each share seen (shares,).

    `centre`, `latent` (shares, runs): finals of held-out runs by the ways and by the latent ODE; NaN where it had no
    run apart. The error of both together is least, drawn towards what a fit to so many runs deserved elsewhere.
    """
    start = latent_prior(learned)
    fine = np.isfinite(latent).all(axis=0)
    if start == 0.0 or not fine.any():
        return np.full(len(SHARES), start)
    apart, off = latent[:, fine] - centre[:, fine], truth[fine] - centre[:, fine]
    unit = np.mean(apart**2, axis=1) + 1e-18
    # The error (off - w apart)^2 has its least at w = off apart / apart^2; one run that nobody forecast counts less.
    most = _FAR * np.median(np.abs(off), axis=1, keepdims=True) + 1e-12
    pull = np.mean(np.clip(off, -most, most) * apart, axis=1) / unit
    count = int(fine.sum())
    reach = np.exp(-0.5 * ((np.arange(len(SHARES))[:, None] - np.arange(len(SHARES))) / _REACH) ** 2)
    nearby = reach @ pull / reach.sum(axis=1)
    return np.clip((count * nearby + _LATENT_RUNS * start) / (count + _LATENT_RUNS), 0.0, _MOST_LATENT)


def latent_prior(learned: int) -> float:
    """The latent ODE's share before any run has spoken: none where it has learned from few."""
    return _MOST_PRIOR * max(learned - _FEWEST, 0) / (learned + _HALF)


def _weights(ways: NDArray, truth: NDArray, place: int) -> NDArray[np.float64]:
    """Those of one share, from all shares nearby, each in units of the error that the prior weights make there."""
    start, apart = prior(SHARES[place]), np.arange(len(SHARES)) - place
    counts = np.exp(-0.5 * (apart / _REACH) ** 2)
    places = [k for k in range(1, len(SHARES)) if counts[k] > 0.05]
    units = [np.sqrt(np.mean((start @ ways[k] - truth) ** 2)) + 1e-9 for k in places]
    made = np.concatenate([ways[k].T / unit for k, unit in zip(places, units, strict=True)])
    goal = np.concatenate([truth / unit for unit in units])
    return convex(made, goal, np.repeat(counts[places], len(truth)), start, _RIDGE * len(truth) + _RIDGE_RUNS)


def convex(made: NDArray, truth: NDArray, counts: NDArray, start: NDArray, ridge: float) -> NDArray[np.float64]:
    """Weights >= 0 that add up to one, of least error of `made` (examples, ways) @ weights; far-off ones count less.

    They are drawn towards `start` as if by `ridge` examples of the error it makes.
    """
    unit = float(np.sqrt(np.average((made @ start - truth) ** 2, weights=counts))) + 1e-9
    pull, sure = np.sqrt(ridge) * unit, 1e3 * unit * np.sqrt(counts.sum())
    trust, weights = np.ones(len(truth)), start
    for _ in range(_ROUNDS):
        scale = trust * np.sqrt(counts)
        rows = [made * scale[:, None], np.full((1, len(start)), sure), pull * np.eye(len(start))]
        weights, _ = nnls(np.vstack(rows), np.concatenate([truth * scale, [sure], pull * start]))
        off = np.abs(made @ weights - truth)
        trust = np.sqrt(np.minimum(1.0, _FAR * (np.median(off) + 1e-9) / np.maximum(off, 1e-12)))
    return weights / weights.sum()


def _widths(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations (levels,) that hold each level of the runs, wider for the few they are; `off` (shares, runs)."""
    runs = off.shape[1]
    shares = np.minimum(1.0, np.array(LEVELS) * (1.0 + _CAUTION / runs))
    return (1.0 + _SCARCE / runs) * np.quantile(off, shares)
