"""Tokens: how a context, the observed part of a run, is shown to the encoder, and a schedule that is known to its end.

A context is a stretch of points. It is cut into a fixed number of equal bins, and each bin becomes one token: its time
(the mean fraction of the run), the mean of each channel over the points observed, and the share of points observed. A
context with fewer points than bins leaves some bins empty (not valid). Sums come from running totals, so that any
context costs the same; the fit uses the same edges and totals in JAX.

A known schedule is cut into as many bins over the whole run. Its tokens hold the rate and its running sums, before and
after: what training answers to is the learning done, and how much is still to come.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.architecture import SCHEDULE_FEATURES, TOKEN_FEATURES
from lodestar.forecaster.preprocessing.normaliser import Channel

_NONE = 0.01  # of a typical run's sum: none of it has a finite logarithm


def running_totals(values: NDArray, mask: NDArray) -> NDArray[np.float64]:
    """Totals of values and of mask up to each point: (..., points + 1, 6)."""
    both = np.concatenate([np.where(mask, values, 0.0), mask.astype(np.float64)], axis=-1)
    zero = np.zeros((*both.shape[:-2], 1, both.shape[-1]))
    return np.concatenate([zero, np.cumsum(both, axis=-2)], axis=-2)


def context_tokens(
    values: NDArray, mask: NDArray, start: int, points: int, tokens: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Tokens of a context whose first point is point `start` of a run of `points`: ((tokens, 7), valid)."""
    length = len(values)
    totals = running_totals(values, mask)
    edges = np.arange(tokens + 1) * length // tokens
    width = np.diff(edges)
    sums = totals[edges[1:]] - totals[edges[:-1]]
    count = sums[:, 3:]
    out = np.empty((tokens, TOKEN_FEATURES))
    out[:, 0] = (start + 0.5 * (edges[:-1] + edges[1:] + 1)) / points
    out[:, 1:4] = np.where(count > 0, sums[:, :3] / np.maximum(count, 1.0), 0.0)
    out[:, 4:7] = count / np.maximum(width, 1)[:, None]
    return out, width > 0


def schedule_bins(rates: NDArray[np.float64], units: Channel, bins: int) -> NDArray[np.float64]:
    """Schedules (n, cells) in the user's units, over their bins: mean in model units, and sum (n, bins, 2).

    The sum is in units of a whole run at the middle of all rates.
    """
    cells = rates.shape[1]
    edges = np.arange(bins + 1) * cells // bins
    both = np.stack([units.forward(rates), rates / (cells * np.exp(units.mean))], axis=-1)
    totals = np.concatenate([np.zeros((len(rates), 1, 2)), np.cumsum(both, axis=1)], axis=1)
    made = totals[:, edges[1:]] - totals[:, edges[:-1]]
    made[..., 0] /= np.diff(edges)
    return made


def schedule_tokens(bins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tokens of schedules, (n, bins, 2) from `schedule_bins`: time, rate, logarithms of the sums before and after."""
    count = bins.shape[1]
    done = np.cumsum(bins[..., 1], axis=1)
    so_far = done - 0.5 * bins[..., 1]
    out = np.empty((*bins.shape[:2], SCHEDULE_FEATURES))
    out[..., 0] = (np.arange(count) + 0.5) / count
    out[..., 1] = bins[..., 0]
    out[..., 2] = np.log(so_far + _NONE) + 1.0
    out[..., 3] = np.log(done[:, -1:] - so_far + _NONE) + 1.0
    return out
