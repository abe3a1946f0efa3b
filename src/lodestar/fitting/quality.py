"""Figures of merit of forecasts against what really happened. NumPy arrays in, numbers out; knows no files, no runs."""

from collections.abc import Sequence
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


def spearman_within(one: NDArray, other: NDArray, groups: Sequence[str]) -> tuple[float, int]:
    """Rank correlation within each group, pooled (weighted by runs less one); and how many runs it rests on.

    Ranked across groups, any forecaster looks good that can tell an easy task from a hard one.
    """
    total, weight, runs = 0.0, 0, 0
    for group in dict.fromkeys(groups):
        here = np.array([name == group for name in groups]) & np.isfinite(one) & np.isfinite(other)
        found, count = spearman(one[here], other[here]), int(here.sum())
        if np.isfinite(found):
            total, weight, runs = total + (count - 1) * found, weight + count - 1, runs + count
    return (total / weight if weight else float("nan")), runs


def std_within(values: NDArray, groups: Sequence[str]) -> float:
    """Standard deviation about the mean of each value's group."""
    names = np.array(groups)
    means = {name: values[names == name].mean() for name in dict.fromkeys(groups)}
    return float(np.std(values - np.array([means[name] for name in groups])))
