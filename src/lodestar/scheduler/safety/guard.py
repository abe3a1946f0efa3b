"""The guard: caps on the learning rate, and a cut when the loss spikes. Simple, deterministic, always on record.

Caps: never above the lower of the user's bound and the highest rate the training runs survived, never below the user's
floor. Spike: the loss of a point that has just ended jumped above what the course had forecast, compared with the same
difference over the window before, by more than `threshold` standard deviations of the training losses and six times the
usual scatter; or it was not finite. Then the rate is multiplied by `cut` for one window, again for another spike, four
times at most. Comes in: the live losses and the course. Knows nothing of decisions.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.scheduler.course import Course
from lodestar.scheduler.history import History

_SCATTER = 6.0
_LEAST_POINTS = 3
_MOST_CUTS = 4
_LOOK_BACK = 8  # points, at least


@dataclasses.dataclass(frozen=True)
class Caps:
    """The learning rate stays within these."""

    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Cut:
    """The rate is multiplied by `factor` until `until` points into the run."""

    factor: float = 1.0
    until: int = 0


def caps_of(forecaster: Forecaster, min_lr: float | None, max_lr: float | None) -> Caps:
    """The user's bounds, and what the training runs survived."""
    survived = float(forecaster.ranges.lr_max)
    for name, value in (("min_lr", min_lr), ("max_lr", max_lr)):
        if value is not None and not (_is_number(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number >= 0, got {value!r}. Fix: leave it out, or state a rate")
    low = 0.0 if min_lr is None else float(min_lr)
    high = survived if max_lr is None else min(float(max_lr), survived)
    if low > high:
        raise ValueError(
            f"min_lr must not be above the cap of {high:.4g} (the lower of max_lr and the highest rate the training "
            f"runs survived, {survived:.4g}), got {low:.4g}. Fix: lower min_lr, or fit on runs with higher rates"
        )
    return Caps(low, high)


def spiked(excess: NDArray[np.float64], threshold: float) -> bool:
    """Whether the last of `excess` (live minus forecast loss, model units, NaN where not observed) jumped."""
    if len(excess) == 0:
        return False
    before, now = excess[:-1], excess[-1]
    before = before[np.isfinite(before)]
    if not math.isfinite(now) or len(before) < _LEAST_POINTS:
        return False
    if not now - before.min() > threshold:  # nor can it be above the median by as much: no need to find that
        return False
    usual = float(np.median(before))
    scatter = 1.4826 * float(np.median(np.abs(before - usual)))
    return bool(now - usual > max(threshold, _SCATTER * scatter))


def jumped(history: History, course: Course, point: int, look_back: int, threshold: float, scale: Channel) -> bool:
    """Whether the loss of a point spiked above the course's forecast, compared with the points before it."""
    first = max(course.start, point - max(look_back, _LOOK_BACK))
    ahead = course.loss[first + 1 - course.start : point + 2 - course.start]
    with np.errstate(all="ignore"):
        seen = slice(first, point + 1)
        live = np.where(history.losses[seen] > 0, scale.forward(history.loss[seen]), np.nan)
        return len(live) == len(ahead) and spiked(live - scale.forward(ahead), threshold)


def deeper(cut: Cut, factor: float, point: int, window: int) -> Cut:
    """The cut after a spike in a point that ended `point` points into the run."""
    current = cut.factor if cut.until > point else 1.0
    return Cut(max(current * factor, factor**_MOST_CUTS), point + window)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
