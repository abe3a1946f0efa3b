"""A planned run: the rest of a run as it was forecast when it was chosen: learning rate, loss and metric on the grid.

Plain data in and out. The schedule that a job follows is drawn through its rates (`steps/follow.py`); the guard and
the hysteresis compare the live run with its loss and metric. Node j stands at the fraction (start + j) / points of the
run; node 0 is the present. Knows neither steps nor forecasters.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._plain import whole

_CURVES = ("lr", "loss", "metric")


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """Curves (nodes,) from point `start` to the end, in the user's units."""

    start: int
    lr: NDArray[np.float64]
    loss: NDArray[np.float64]
    metric: NDArray[np.float64]

    def __post_init__(self):
        if not len(self.lr) == len(self.loss) == len(self.metric) >= 1:
            raise ValueError(
                f"a planned run needs lr, loss and metric of one length, got {len(self.lr)}, {len(self.loss)} and "
                f"{len(self.metric)}. Fix: one value for each node"
            )

    @property
    def final_metric(self) -> float:
        """The metric forecast for the end of the run."""
        return float(self.metric[-1])

    @property
    def finite(self) -> bool:
        """Whether every number is one."""
        return all(bool(np.all(np.isfinite(getattr(self, name)))) for name in _CURVES)

    def rescaled(self, factor: float) -> "PlannedRun":
        """The same for a job to which a rate means `factor` times as much: its rates are divided."""
        return self if factor == 1.0 else dataclasses.replace(self, lr=self.lr / factor)

    def stretched(self, start: int, points: int, here: float) -> "PlannedRun":
        """The rest of this run, from its node position `here`, spread over the points from `start` to the end."""
        nodes = max(points - start, 0) + 1
        at = np.linspace(min(max(here, 0.0), len(self.lr) - 1.0), len(self.lr) - 1.0, nodes)
        old = np.arange(len(self.lr))
        return PlannedRun(start, *(np.interp(at, old, getattr(self, name)) for name in _CURVES))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"start": self.start} | {name: getattr(self, name).tolist() for name in _CURVES}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PlannedRun":
        """Back from `to_dict`."""
        curves = {name: np.asarray(data[name], dtype=np.float64) for name in _CURVES}
        if any(curve.ndim != 1 for curve in curves.values()) or not np.all(
            np.isfinite(curves["lr"]) & (curves["lr"] >= 0)
        ):
            raise ValueError("the planned run's curves must be lists of numbers, its rates finite and >= 0")
        return cls(whole(data["start"], "start"), **curves)
