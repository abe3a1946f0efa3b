"""Tokens: how a context, the observed part of a run, is shown to the encoder.

A context is a stretch of points. It is cut into a fixed number of equal bins, and each bin becomes one token: its time
(the mean fraction of the run), the mean of each channel over the points observed, and the share of points observed. A
context with fewer points than bins leaves some bins empty (not valid). Sums come from running totals, so that any
context costs the same; the fit uses the same edges and totals in JAX.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.architecture import TOKEN_FEATURES


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
