"""Causal smoothing: a point knows its past and nothing of its future, so that a live run and a stored one look alike.

Comes in: values on the grid of points with a mask. Goes out: their exponential moving average, on the same mask. The
average is weighted exactly (sum of w x over sum of w), so the first points are plain means of what was seen, with no
start-up bias, and a gap in the log simply counts for nothing.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter


def smooth(values: NDArray[np.float64], mask: NDArray[np.bool_], span: float) -> NDArray[np.float64]:
    """Exponential moving average along the last axis with the given span in points; `span <= 1` changes nothing."""
    if not np.isfinite(span) or span < 0:
        raise ValueError(f"span must be a finite number >= 0, got {span}")
    if span <= 1:
        return np.where(mask, values, 0.0)
    decay = 1.0 - 2.0 / (span + 1.0)
    weighted = lfilter([1.0], [1.0, -decay], np.where(mask, values, 0.0), axis=-1)
    weight = lfilter([1.0], [1.0, -decay], mask.astype(np.float64), axis=-1)
    return np.where(mask, weighted / np.where(mask, weight, 1.0), 0.0)
