"""The live run's observations, binned on the forecaster's grid as they come.

Comes in: (step, loss) and (step, metric), in any order. Goes out: the run on the grid, smoothed by the forecaster's own
recipe. Memory grows with the points, not with the steps. The loss of a point is the mean of its values, the metric the
value of the latest step, as for stored runs. A value that is not finite is counted, not averaged. Knows no decisions.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._plain import numbers, shown, whole
from lodestar.forecaster.preprocessing.grid import last_step_of, point_at
from lodestar.forecaster.preprocessing.recipe import Points, Recipe

HUGE = 1e30  # beyond this a value has blown up: no mean of such values means anything


class History:
    """Observations of one run of `total_steps` on a grid of `points`."""

    def __init__(self, total_steps: int, points: int):
        self.total_steps = total_steps
        self.points = points
        self.loss = np.zeros(points)
        self.losses = np.zeros(points, dtype=np.int64)  # how many finite losses a point has
        self.blown = np.zeros(points, dtype=np.int64)  # how many that were not
        self.metric = np.zeros(points)
        self.metric_step = np.full(points, -1, dtype=np.int64)
        self.lr = np.zeros(points)  # as used, at the last step of each settled point
        self.applied: dict[int, float] = {}  # by point: the rate a job says it used, where that was not the one told

    def add_loss(self, step: int, value: float) -> None:
        """One loss, measured at optimizer step `step`."""
        point = self._point(step)
        if not math.isfinite(value) or abs(value) > HUGE:
            self.blown[point] += 1
            return
        self.losses[point] += 1
        self.loss[point] += (value - self.loss[point]) / self.losses[point]

    def add_metric(self, step: int, value: float) -> None:
        """One metric; of several in a point the latest step wins, of one step the last reported."""
        point = self._point(step)
        if math.isfinite(value) and abs(value) <= HUGE and step >= self.metric_step[point]:
            self.metric[point], self.metric_step[point] = value, step

    def add_applied(self, step: int, lr: float) -> None:
        """The rate in effect at a step, where the job used another than it was told; the last one of a point counts."""
        self.applied[self._point(step)] = lr

    def settle(self, point: int, told: float) -> None:
        """A point is over: its rate is what the job says it used, else what it was told."""
        self.lr[point] = self.applied.get(point, told)

    def on_grid(self, recipe: Recipe, seen: int) -> Points:
        """The first `seen` points, smoothed, in the user's units; later points count as not observed."""
        before = np.arange(self.points) < seen
        mask = np.stack([self.losses > 0, self.metric_step >= 0, np.ones(self.points, dtype=bool)], axis=-1)
        mask &= before[:, None]
        values = np.where(mask, np.stack([self.loss, self.metric, self.lr], axis=-1), 0.0)
        return Points(recipe.smoothed(values, mask), mask)

    def last_metric(self) -> float:
        """The metric of the latest step, NaN if there is none."""
        point = int(np.argmax(self.metric_step))
        return float(self.metric[point]) if self.metric_step[point] >= 0 else math.nan

    def rebinned(self, total_steps: int, used: Callable[[int], float], until: int) -> "History":
        """The same observations on the clock of a run of another length; each old point moves as a whole."""
        new = History(total_steps, self.points)
        ends = last_step_of(np.arange(self.points), self.total_steps, self.points)
        for old in np.flatnonzero((self.losses > 0) | (self.blown > 0) | (self.metric_step >= 0)):
            point = new._point(int(ends[old]))
            count = int(self.losses[old])
            if count:
                new.losses[point] += count
                new.loss[point] += (self.loss[old] - new.loss[point]) * count / new.losses[point]
            new.blown[point] += self.blown[old]
            if self.metric_step[old] >= 0:
                new.add_metric(int(self.metric_step[old]), float(self.metric[old]))
        for old, lr in sorted(self.applied.items()):
            new.add_applied(int(ends[old]), lr)
        for point in range(self.points):
            step = int(last_step_of(point, total_steps, self.points))
            if step <= until:
                new.settle(point, used(max(step, 1)))
        return new

    def to_dict(self) -> dict[str, Any]:
        """Plain data: only points that hold something."""
        kept = np.flatnonzero((self.losses > 0) | (self.blown > 0) | (self.metric_step >= 0) | (self.lr != 0))
        columns = {name: getattr(self, name)[kept].tolist() for name in _COLUMNS}
        applied = {"applied": [[point, lr] for point, lr in sorted(self.applied.items())]} if self.applied else {}
        return {"total_steps": self.total_steps, "points": self.points, "at": kept.tolist(), **columns, **applied}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], points: int) -> "History":
        """Back from `to_dict`, on a grid that must be of `points`."""
        if data["points"] != points:
            raise ValueError(f"it must have a history of {points} points, got {shown(data['points'])}")
        new = cls(whole(data["total_steps"], "total_steps", 1), points)
        at = [whole(point, "at", 0, points - 1) for point in data["at"]]
        for name in _COLUMNS:
            column: NDArray = getattr(new, name)
            values = numbers(data[name], name, -1 if name == "metric_step" else 0 if name not in _VALUES else -math.inf)
            if len(values) != len(at) or (
                name not in _VALUES and name != "lr" and not all(map(float.is_integer, values))
            ):
                raise ValueError(f"its {name} do not fit the {len(at)} points that hold something")
            column[at] = values
        for point, lr in data.get("applied", []):
            new.applied[whole(point, "applied", 0, points - 1)] = numbers([lr], "applied", 0.0)[0]
        return new

    def _point(self, step: int) -> int:
        return point_at(step, self.total_steps, self.points)


_VALUES = ("loss", "metric")
_COLUMNS = ("loss", "losses", "blown", "metric", "metric_step", "lr")
