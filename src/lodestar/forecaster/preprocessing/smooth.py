"""Causal smoothing: a point knows its past and nothing of its future, so that a live run and a stored one look alike.

Comes in: values on the grid of points with a mask. Goes out: their exponential moving average, on the same mask. The
average is weighted exactly (sum of w x over sum of w), so the first points are plain means of what was seen, with no
start-up bias, and a gap in the log simply counts for nothing.
"""

import numpy as np
from numpy.typing import NDArray


def smooth(values: NDArray[np.float64], mask: NDArray[np.bool_], span: float) -> NDArray[np.float64]:
    """Exponential moving average along the last axis with the given span in points; `span <= 1` changes nothing."""
    if not np.isfinite(span) or span < 0:
        raise ValueError(f"span must be a finite number >= 0, got {span}")
    if span <= 1:
        return np.where(mask, values, 0.0)
    decay = 1.0 - 2.0 / (span + 1.0)
    weighted = _fading_sum(np.where(mask, values, 0.0), decay)
    weight = _fading_sum(mask.astype(np.float64), decay)
    return np.where(mask, weighted / np.where(mask, weight, 1.0), 0.0)


def _fading_sum(x: NDArray[np.float64], decay: float) -> NDArray[np.float64]:
    """y[i] = x[i] + decay * y[i - 1], by doubling: each pass reaches twice as far back.

    scipy.signal.lfilter does the same, and costs a training job a second of import time.
    """
    y = x.copy()
    reach, factor = 1, decay
    while reach < y.shape[-1] and factor > 1e-18:
        y[..., reach:] += factor * y[..., :-reach].copy()
        reach, factor = 2 * reach, factor * factor
    return y
