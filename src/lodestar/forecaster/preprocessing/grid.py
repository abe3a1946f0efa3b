"""Resampling onto the grid of points.

The whole run, step 1 to `total_steps`, is cut into equal points; point i holds what was logged in the steps
(i, i + 1] x total_steps / points, and stands at the fraction (i + 1) / points of the run. Runs of any length so share
one clock. Comes in: a `Series`. Goes out: values and a mask (True where something finite was logged). Loss is averaged
within a point, the metric's last value is taken, the learning rate is drawn through its logged values.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.runs.run import Series

Sampled = tuple[NDArray[np.float64], NDArray[np.bool_]]  # values and mask, both (points,)


def point_of(step: NDArray[np.int64] | int, total_steps: int, points: int) -> NDArray[np.int64]:
    """The point that holds a step. Whole-number arithmetic: no step lands a point off through rounding."""
    steps = np.asarray(step, dtype=np.int64)
    return np.clip((steps * points + total_steps - 1) // total_steps - 1, 0, points - 1)


def point_at(step: int, total_steps: int, points: int) -> int:
    """The same for a single step, without what an array costs: a live job asks at every update."""
    return min(max((step * points + total_steps - 1) // total_steps - 1, 0), points - 1)


def last_step_of(point: NDArray[np.int64] | int, total_steps: int, points: int) -> NDArray[np.int64]:
    """The last step that belongs to a point."""
    return (np.asarray(point, dtype=np.int64) + 1) * total_steps // points


def averaged(series: Series, total_steps: int, points: int) -> Sampled:
    """The mean of the finite values within each point."""
    fine = np.isfinite(series.values)
    index = point_of(series.steps[fine], total_steps, points)
    count = np.bincount(index, minlength=points)
    total = np.bincount(index, weights=series.values[fine], minlength=points)
    mask = count > 0
    return np.where(mask, total / np.maximum(count, 1), 0.0), mask


def latest(series: Series, total_steps: int, points: int) -> Sampled:
    """The last finite value within each point."""
    fine = np.isfinite(series.values)
    index = point_of(series.steps[fine], total_steps, points)
    values = np.zeros(points)
    mask = np.zeros(points, dtype=bool)
    values[index] = series.values[fine]  # steps increase, so the last of a point is written last
    mask[index] = True
    return values, mask


def drawn(series: Series, total_steps: int, points: int, last_step: int) -> Sampled:
    """Linear between logged values, from the first logged point to that of `last_step`, held a little after the last.

    A learning rate is a line that somebody drew, not a measurement: between two logged values it is known. Where its
    log ends long before the run does, the rest is unknown (`Series.held_until`).
    """
    if len(series) == 0:
        return np.zeros(points), np.zeros(points, dtype=bool)
    at = last_step_of(np.arange(points), total_steps, points)
    values = np.interp(at, series.steps, series.values)
    ends = series.held_until(last_step)
    first, last = point_of(series.steps[0], total_steps, points), point_of(ends, total_steps, points)
    index = np.arange(points)
    mask = (index >= first) & (index <= last)
    return np.where(mask, values, 0.0), mask


def filled(values: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A curve (points,) with its gaps drawn through and its ends held; NaN if nothing was logged at all."""
    fine = np.flatnonzero(mask)
    return np.interp(np.arange(len(values)), fine, values[fine]) if len(fine) else np.full(len(values), np.nan)
