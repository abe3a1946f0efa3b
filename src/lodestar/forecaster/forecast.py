"""What a forecast is made from, the context, and what it is: the whole run with intervals, in the user's units."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.axes import Curve, PointMask, PointValues, Times


@dataclasses.dataclass(frozen=True)
class Context:
    """The observed part of a run, on the grid: `values` and `mask` (length, 3) in model units, from point `start`."""

    values: PointValues
    mask: PointMask
    start: int

    def __post_init__(self):
        if self.values.ndim != 2 or self.values.shape[1] != 3 or self.values.shape != self.mask.shape:
            raise ValueError(f"a context needs values and mask (length, 3), got {self.values.shape}, {self.mask.shape}")
        if len(self.values) < 1 or self.start < 0:
            raise ValueError(
                f"a context needs at least one point and a start >= 0, got {len(self.values)} at {self.start}"
            )

    @property
    def stop(self) -> int:
        """One past the last point."""
        return self.start + len(self.values)


@dataclasses.dataclass(frozen=True)
class Interval:
    """A forecast quantity and the interval around it."""

    centre: Curve
    lower: Curve
    upper: Curve


@dataclasses.dataclass(frozen=True)
class Forecast:
    """The whole run, from its first to its last point, as the forecaster sees it given a context."""

    times: Times  # fractions of the run
    loss: Interval
    metric: Interval
    lr: Interval
    level: float  # the share of runs the intervals are meant to hold
    seen: tuple[int, int]  # the points of the context

    def steps(self, total_steps: int) -> NDArray[np.int64]:
        """The optimizer steps of the points, for a run of that length."""
        return np.round(self.times * total_steps).astype(np.int64)

    @property
    def final_metric(self) -> tuple[float, float, float]:
        """The metric at the end of the run: forecast, lower, upper."""
        return float(self.metric.centre[-1]), float(self.metric.lower[-1]), float(self.metric.upper[-1])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "times": self.times.tolist(),
            "level": self.level,
            "seen": list(self.seen),
            **{
                name: {part: getattr(getattr(self, name), part).tolist() for part in ("centre", "lower", "upper")}
                for name in ("loss", "metric", "lr")
            },
        }
