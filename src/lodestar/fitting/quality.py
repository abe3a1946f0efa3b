"""Figures of merit of forecasts against what really happened. NumPy arrays in, numbers out; knows no files, no runs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr


def relative_mse(forecast: NDArray, truth: NDArray, mask: NDArray) -> NDArray[np.float64]:
    """Squared error over squared truth, along the points axis: (runs, points, 3) to (runs, 3). The paper's table A1.

    In the user's units. NaN where a channel was never observed.
    """
    error = np.sum(np.where(mask, (forecast - truth) ** 2, 0.0), axis=1)
    size = np.sum(np.where(mask, truth**2, 0.0), axis=1)
    return np.where(size > 0, error / np.where(size > 0, size, 1.0), np.nan)


def spearman(one: NDArray, other: NDArray) -> float:
    """Rank correlation, ties averaged; NaN for fewer than three values or where all are equal."""
    fine = np.isfinite(one) & np.isfinite(other)
    if fine.sum() < 3 or np.ptp(one[fine]) == 0 or np.ptp(other[fine]) == 0:
        return float("nan")
    found: Any = spearmanr(one[fine], other[fine])
    return float(found.statistic)
