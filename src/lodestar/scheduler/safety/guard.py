"""The guard: a cut of the learning rate when the loss spikes. Simple, deterministic, always on record.

Spike: the loss of a point that has just ended jumped above what the planned run had forecast, compared with the same
difference over the window before, by more than `threshold` standard deviations of the training losses and six times the
usual scatter; or it was not finite. Then the rate is multiplied by `cut` for one window, again for another spike, four
times at most. Comes in: the live losses and the planned run. Goes out: a cut. Knows nothing of decisions.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.scheduler.history import History
from lodestar.scheduler.planned_run import PlannedRun

_SCATTER = 6.0
_LEAST_POINTS = 3
_MOST_CUTS = 4
_LOOK_BACK = 8  # points, at least


@dataclasses.dataclass(frozen=True)
class Cut:
    """The rate is multiplied by `factor` until `until` points into the run."""

    factor: float = 1.0
    until: int = 0

    def deeper(self, factor: float, point: int, window: int) -> "Cut":
        """The cut after a spike in a point that ended `point` points into the run."""
        current = self.factor if self.until > point else 1.0
        return Cut(max(current * factor, factor**_MOST_CUTS), point + window)


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


def jumped(history: History, planned: PlannedRun, point: int, look_back: int, threshold: float, scale: Channel) -> bool:
    """Whether the loss of a point was not finite, or spiked above its forecast compared with the points before it."""
    if history.blown[point] > 0:
        return True
    if not history.losses[point]:
        return False
    first = max(planned.start, point - max(look_back, _LOOK_BACK))
    ahead = planned.loss[first + 1 - planned.start : point + 2 - planned.start]
    with np.errstate(all="ignore"):
        seen = slice(first, point + 1)
        live = np.where(history.losses[seen] > 0, scale.forward(history.loss[seen]), np.nan)
        return len(live) == len(ahead) and spiked(live - scale.forward(ahead), threshold)
