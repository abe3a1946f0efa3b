"""The recipe: how raw series become points. It is fixed by the training runs and travels with the forecaster.

Comes in: raw series of one run. Goes out: the run on the grid of points, in model units, with a mask. The very same
code serves stored runs and a live job.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.grid import averaged, drawn, latest
from lodestar.forecaster.preprocessing.normaliser import LOSS, LR, METRIC, Normaliser
from lodestar.forecaster.preprocessing.smooth import smooth
from lodestar.runs.run import Direction, Series


@dataclasses.dataclass(frozen=True)
class Points:
    """A run on the grid: `values` (points, 3) in user's units, smoothed; `mask` says what was observed."""

    values: NDArray[np.float64]
    mask: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Grid, smoothing, normaliser. `smoothing` is the span of the causal average as a fraction of the run."""

    points: int
    smoothing: float
    normaliser: Normaliser
    direction: Direction

    def __post_init__(self):
        object.__setattr__(self, "direction", Direction(self.direction))
        if not isinstance(self.points, int) or self.points < 20:
            raise ValueError(f"points must be at least 20 (a 5 % window needs one), got {self.points!r}")
        if not 0 <= self.smoothing < 0.5:
            raise ValueError(f"smoothing must be a fraction of the run in [0, 0.5), got {self.smoothing}")

    def smoothed(self, values: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Binned values (points, 3) with loss and metric smoothed causally; the learning rate is left as it is."""
        out = values.copy()
        for channel in (LOSS, METRIC):
            out[:, channel] = smooth(values[:, channel], mask[:, channel], self.smoothing * self.points)
        return out

    def to_points(self, loss: Series, metric: Series, lr: Series, total_steps: int) -> Points:
        """One run's series on the grid, smoothed, in user's units."""
        last = max((int(s.steps[-1]) for s in (loss, metric, lr) if len(s)), default=0)
        binned = (
            averaged(loss, total_steps, self.points),
            latest(metric, total_steps, self.points),
            drawn(lr, total_steps, self.points, last),
        )
        values = np.stack([b[0] for b in binned], axis=-1)
        mask = np.stack([b[1] for b in binned], axis=-1)
        return Points(self.smoothed(values, mask), mask)

    def normalised(self, points: Points) -> NDArray[np.float64]:
        """Points in model units, zero where nothing was observed."""
        safe = np.where(points.mask, points.values, self.normaliser.inverse(np.zeros(3)))
        return np.where(points.mask, self.normaliser.forward(safe), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file header."""
        return {
            "points": self.points,
            "smoothing": self.smoothing,
            "direction": str(self.direction),
            "normaliser": self.normaliser.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Recipe":
        """Back from `to_dict`."""
        return cls(
            points=data["points"],
            smoothing=float(data["smoothing"]),
            normaliser=Normaliser.from_dict(data["normaliser"]),
            direction=Direction(data["direction"]),
        )


__all__ = ["LOSS", "LR", "METRIC", "Points", "Recipe"]
